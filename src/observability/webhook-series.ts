/** The metrics of webhooks. Labels contain the IDs of webhooks, and never a URL, which may contain a secret. */
import { Counter, Gauge } from './prom-client.ts'
import type { Registry } from './prom-client.ts'

export type WebhookOutcome = (typeof webhookOutcomes)[number]
/** `delivered`, or why an attempt failed. */
export const webhookOutcomes = [
  'delivered',
  'status',
  'redirect',
  'timeout',
  'refused',
  'connection',
  'gone',
  'secret',
  'event',
  'internal',
] as const

/** Of all processes together, because they share the store. Undefined: it could not be read. */
export type WebhookBacklog = { pending: number; oldestDueMs: number } | undefined

// As many as there can be webhooks at a time.
const maxSeries = 100

export type WebhookAttempts = {
  ended(webhookId: string, outcome: WebhookOutcome): void
  /** The enabled webhooks: each has a series from the start. */
  known(webhookIds: string[]): void
}

export function webhookAttempts(registers: InstanceType<typeof Registry>[]): WebhookAttempts {
  const attempts = new Counter({
    name: 'turnkeep_webhook_attempts_total',
    help: 'Attempts of this process to deliver an event to a webhook, by outcome.',
    labelNames: ['outcome'],
    registers,
  })
  for (const outcome of webhookOutcomes) attempts.labels(outcome).inc(0)
  const failures = new Counter({
    name: 'turnkeep_webhook_failed_attempts_total',
    help: 'Attempts of this process to deliver an event that failed, by webhook.',
    labelNames: ['webhook_id'],
    registers,
  })
  const series = new Set<string>()

  /** The number of series is bounded, however many webhooks are created and deleted while the process runs. */
  function known(webhookIds: string[]): void {
    for (const id of webhookIds)
      if (!series.has(id)) {
        series.add(id)
        failures.labels(id).inc(0)
      }
    for (const id of series) {
      if (series.size <= maxSeries) return
      if (webhookIds.includes(id)) continue
      series.delete(id)
      failures.remove(id)
    }
  }

  return {
    known,
    ended(webhookId, outcome) {
      attempts.labels(outcome).inc()
      if (outcome !== 'delivered' && series.has(webhookId)) failures.labels(webhookId).inc()
    },
  }
}

/** Both are read when /metrics is requested. */
export function watchBacklog(registers: InstanceType<typeof Registry>[], read: () => Promise<WebhookBacklog>): void {
  let reading: Promise<WebhookBacklog> | undefined
  // Both gauges of a page are one query.
  const once = (): Promise<WebhookBacklog> => (reading ??= read().finally(() => (reading = undefined)))
  const gauge = (name: string, help: string, value: (backlog: NonNullable<WebhookBacklog>) => number) =>
    new Gauge({
      name,
      help,
      registers,
      aggregator: 'max',
      async collect() {
        const backlog = await once()
        if (backlog) this.set(value(backlog))
        else this.reset()
      },
    })
  gauge('turnkeep_webhook_backlog', 'Deliveries to enabled webhooks that are pending, of all processes.', ({ pending }) => pending)
  gauge(
    'turnkeep_webhook_oldest_due_seconds',
    'For how long the oldest pending delivery to an enabled webhook has been due.',
    ({ oldestDueMs }) => oldestDueMs / 1000,
  )
}
