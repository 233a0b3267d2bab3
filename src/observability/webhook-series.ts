/** The metrics of webhooks. Their labels never name an endpoint; the admin API shows the deliveries of each one. */
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

export function webhookAttempts(registers: InstanceType<typeof Registry>[]) {
  const attempts = new Counter({
    name: 'turnkeep_webhook_attempts_total',
    help: 'Attempts of this process to deliver an event to a webhook, by outcome.',
    labelNames: ['outcome'],
    registers,
  })
  for (const outcome of webhookOutcomes) attempts.labels(outcome).inc(0)
  return attempts
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
