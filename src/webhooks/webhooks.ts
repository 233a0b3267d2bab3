/**
 * Sends the events of the outbox to the operator's endpoints, at least once each (`webhook.delivered`). Takes due deliveries with a lease and
 * a fence, so any number of processes send side by side. Each endpoint has its own slots: one that hangs delays no other. Does not record
 * events; the store does, in the transactions that they report.
 */
import type { Logger } from 'pino'
import type { Guard } from '../agent/guard/guard.ts'
import type { Sealer } from '../config/secrets.ts'
import { within } from '../deadline.ts'
import type { Failpoints } from '../failpoints.ts'
import { createThrottle } from '../observability/throttle.ts'
import type { AttemptResult, ClaimedDelivery, DueWebhooks, EndedAttempt } from '../store/queries/webhooks/deliveries.ts'
import type { EventRecord, UnreadableEvent } from '../store/queries/webhooks/event-data.ts'
import type { StoredWebhook } from '../store/queries/webhooks/webhooks.ts'
import { StoreUnavailable } from '../store/store.ts'
import type { Store } from '../store/store.ts'
import { bodyOf } from './body.ts'
import { delayAfter } from './schedule.ts'
import { eventFailed, send } from './send.ts'
import type { Attempt, FailureReason } from './send.ts'

export { bodyOf } from './body.ts'
export { newSecret, secretBoundTo } from './signature.ts'
export type { FailureReason }

export type WebhooksOptions = {
  store: Pick<Store, 'read' | 'write' | 'writeAs' | 'onChange'>
  guard: Pick<Guard, 'webFetch'>
  sealer: Sealer
  failpoints: Failpoints
  log: Pick<Logger, 'info' | 'warn' | 'error'>
  metrics: { webhookAttempted(webhookId: string, outcome: 'delivered' | FailureReason): void; webhooksKnown(webhookIds: string[]): void }
  newId(prefix: 'aud' | 'evt'): string
  /** Different times, for tests. */
  settings?: Partial<WebhookSettings>
}

export type WebhookSettings = {
  timeoutMs: number
  /** Longer than the timeout, so that a lease does not end while its delivery is sent. */
  leaseMs: number
  pollMs: number
  random(): number
}

export type WebhookTest =
  | { ok: true; status: number; latencyMs: number }
  | { ok: false; status: number | null; latencyMs: number; error: string }

export interface Webhooks {
  start(): void
  /** An event may have been recorded: look for deliveries soon. Costs nothing if there is no webhook. */
  wake(): void
  /** Sends one event that is stored nowhere. A failure is a result, not an error. */
  test(webhook: StoredWebhook): Promise<WebhookTest>
  /** Lets running attempts finish for a short time and releases the others, which another process or the next start repeats. */
  stop(): Promise<void>
}

const defaults: WebhookSettings = {
  timeoutMs: 20_000,
  leaseMs: 30_000,
  // Retries, and events that other processes have recorded.
  pollMs: 1_000,
  random: Math.random,
}

// `webhook.slots`: a fast endpoint gets hundreds of deliveries a second with as many connections, and a slow one occupies no more.
// mutant: webhook.slots
const slotsPerWebhook = 16
// Without webhooks there is nothing to poll for. A change arrives as a message, except behind a connection pooler.
const idlePollMs = 10_000
// Turns end in batches; one claim for all of them.
const gatherMs = 10
const stopMs = 3_000

export function createWebhooks(options: WebhooksOptions): Webhooks {
  const { store, guard, sealer, failpoints, log, metrics, newId } = options
  const settings = { ...defaults, ...options.settings }
  const stopping = new AbortController()
  const sender = { guard, sealer, timeoutMs: settings.timeoutMs, stopping: stopping.signal }
  /** The attempts that run here, until their results are stored. */
  const running = new Set<Promise<void>>()
  /** How many of them still wait for their endpoint, by webhook. */
  const sending = new Map<string, number>()
  const mayWarn = createThrottle(() => performance.now())
  let ended: EndedAttempt[] = []
  let storing: Promise<void> | undefined
  let hasWebhooks = true
  const draining = new AbortController()
  let woken = false
  let endRest = (): void => undefined
  let loop: Promise<void> = Promise.resolve()

  store.onChange(() => {
    hasWebhooks = true
    wake()
  })

  function wake(): void {
    if (!hasWebhooks) return
    woken = true
    endRest()
  }

  const free = (webhookId: string): number => slotsPerWebhook - (sending.get(webhookId) ?? 0)

  async function run(): Promise<void> {
    while (!draining.signal.aborted) {
      woken = false
      const pauseMs = await round().catch(reported)
      if (draining.signal.aborted) return
      if (!woken) await rest(pauseMs)
      else await rest(gatherMs, false)
    }
  }

  /** Starts what is due, and returns how long to wait for more, in milliseconds. */
  async function round(): Promise<number> {
    const due = await store.read.listDueWebhooks()
    hasWebhooks = due.webhooks.length > 0
    metrics.webhooksKnown(due.webhooks.map(({ id }) => id))
    if (!hasWebhooks) return idlePollMs
    const wanted = wantedOf(due)
    if (wanted.length > 0 && !draining.signal.aborted) {
      const claimed = await store.write.claimDeliveries({ wanted, leaseMs: settings.leaseMs })
      if (claimed.length > 0) await launch(claimed)
    }
    const waits = due.webhooks.filter(({ id, nextAt }) => nextAt !== null && nextAt > due.now && free(id) > 0)
    return Math.max(gatherMs, Math.min(settings.pollMs, ...waits.map(({ nextAt }) => nextAt! - due.now)))
  }

  const wantedOf = ({ now, webhooks }: DueWebhooks): { webhookId: string; limit: number }[] =>
    webhooks
      .filter(({ nextAt }) => nextAt !== null && nextAt <= now)
      .map(({ id }) => ({ webhookId: id, limit: free(id) }))
      .filter(({ limit }) => limit > 0)

  async function launch(claimed: ClaimedDelivery[]): Promise<void> {
    const { events, unreadable } = await store.read.readEvents([...new Set(claimed.map(({ eventId }) => eventId))])
    const byId = new Map<string, EventRecord | UnreadableEvent>([...events, ...unreadable].map((event) => [event.id, event]))
    for (const delivery of claimed) {
      const event = byId.get(delivery.eventId)
      // Deleted by age since it was claimed.
      if (!event) continue
      const attempt = attemptOne(delivery, event).finally(() => running.delete(attempt))
      running.add(attempt)
    }
  }

  /** Whatever fails here fails this delivery only, and is stored as its result. */
  async function attemptOne(delivery: ClaimedDelivery, event: EventRecord | UnreadableEvent): Promise<void> {
    const { eventId, webhookId, webhook, fence } = delivery
    const slots = (change: number): unknown => sending.set(webhookId, (sending.get(webhookId) ?? 0) + change)
    // mutant: delivered-before-the-answer
    slots(1)
    const attempt = await sendEvent(webhook, event).catch((error: unknown): Attempt => {
      log.error({ err: error, webhook_id: webhookId, event_id: eventId }, 'webhook delivery failed: internal error')
      return { kind: 'failed', reason: 'internal', status: null, error: 'internal error: the log of the server has its cause' }
    })
    // The next delivery does not wait for the transaction that stores this result.
    slots(-1)
    wake()
    if (attempt.kind !== 'released') metrics.webhookAttempted(webhookId, attempt.kind === 'delivered' ? 'delivered' : attempt.reason)
    if (attempt.kind === 'failed') await reportFailure(delivery, attempt).catch(reported)
    ended.push({ eventId, webhookId, fence, ...resultOf(attempt, delivery.attempt) })
    await storeResults()
    // A retry may be due before the next round.
    if (attempt.kind === 'failed') wake()
  }

  async function sendEvent(webhook: StoredWebhook, event: EventRecord | UnreadableEvent): Promise<Attempt> {
    if ('problem' in event) return eventFailed(event.problem)
    await failpoints.reach('webhook.before-send', event.type)
    const body = bodyOf(event, webhook.includeMessages)
    const attempt = await send(webhook, { id: event.id, body, now: Date.now() }, sender)
    await failpoints.reach('webhook.after-send', event.type)
    return attempt
  }

  function resultOf(attempt: Attempt, count: number): { result: AttemptResult; status: number | null; error: string | null } {
    switch (attempt.kind) {
      case 'delivered':
        return { result: attempt, status: attempt.status, error: null }
      case 'released':
        return { result: attempt, status: null, error: null }
      case 'failed': {
        const inMs = attempt.reason === 'gone' ? undefined : delayAfter(count, settings.random())
        const { status, error } = attempt
        return { result: inMs === undefined ? { kind: 'failed' } : { kind: 'again', inMs }, status, error }
      }
    }
  }

  async function reportFailure({ webhookId, attempt }: ClaimedDelivery, { reason, error }: Attempt & { kind: 'failed' }): Promise<void> {
    const ids = { webhook_id: webhookId, reason, attempt }
    if (reason !== 'gone') return mayWarn() ? log.warn({ ...ids, cause: error }, 'webhook delivery failed') : undefined
    const disabled = await store.writeAs({ who: 'server', requestId: null, entryIds: [newId('aud')] }).disableWebhook(webhookId, error)
    if (disabled) log.warn({ ...ids, cause: error }, 'webhook disabled')
  }

  /** Resolves when the results so far are stored, in one transaction at a time. */
  function storeResults(): Promise<void> {
    storing ??= storeAll()
    return storing
  }

  async function storeAll(): Promise<void> {
    // Those that end in the same tick share the first transaction.
    await Promise.resolve()
    while (ended.length > 0) {
      const batch = ended
      ended = []
      // If the store is unavailable, the leases end and the deliveries are sent again under the same IDs.
      await store.write.endAttempts(batch).catch(reported)
    }
    storing = undefined
  }

  function reported(error: unknown): number {
    // The store logs its own outages.
    if (!(error instanceof StoreUnavailable)) log.error({ err: error }, 'webhook sender failed: internal error')
    return settings.pollMs
  }

  function rest(ms: number, mayWake = true): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      timer.unref()
      endRest = () => {
        if (!mayWake && !draining.signal.aborted) return
        clearTimeout(timer)
        resolve()
      }
    })
  }

  return {
    start() {
      loop = run()
    },
    wake,

    async test(webhook) {
      const startedAt = performance.now()
      const id = newId('evt')
      const body = JSON.stringify({ type: 'webhook.test', timestamp: new Date().toISOString(), data: { webhook_id: webhook.id } })
      const attempt = await send(webhook, { id, body, now: Date.now() }, sender)
      const latencyMs = performance.now() - startedAt
      if (attempt.kind === 'delivered') return { ok: true, status: attempt.status, latencyMs }
      if (attempt.kind === 'released') return { ok: false, status: null, latencyMs, error: 'the service is shutting down' }
      return { ok: false, status: attempt.status, latencyMs, error: attempt.error }
    },

    async stop() {
      draining.abort()
      endRest()
      await loop
      const all = (): Promise<unknown> => Promise.all(running)
      await within<unknown>(stopMs, all(), () => undefined)
      stopping.abort(new Error('the service is shutting down'))
      await all()
    },
  }
}
