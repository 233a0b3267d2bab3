/**
 * One attempt to deliver one body (`webhook.delivered`). Success is a 2xx status in time. Everything else is a failure, redirects too. Returns what to store, in
 * our own words: an answer may quote what an end user wrote.
 */
import { GuardFailed, GuardRefused } from '../agent/guard/guard.ts'
import type { Guard } from '../agent/guard/guard.ts'
import type { Sealer } from '../config/secrets.ts'
import { UnsealError } from '../config/secrets.ts'
import type { StoredWebhook } from '../store/queries/webhooks/webhooks.ts'
import { secretBoundTo, signedHeaders } from './signature.ts'

/** Bounded, because they are labels of a metric. */
export const failureReasons = ['status', 'redirect', 'timeout', 'refused', 'connection', 'gone', 'secret', 'event', 'internal'] as const
export type FailureReason = (typeof failureReasons)[number]

export type Attempt =
  | { kind: 'delivered'; status: number }
  | { kind: 'failed'; reason: FailureReason; status: number | null; error: string }
  /** Cut off by a shutdown. It may have been received. */
  | { kind: 'released' }

export type Sender = { guard: Pick<Guard, 'webFetch'>; sealer: Sealer; timeoutMs: number; stopping: AbortSignal }

/** `now` in epoch milliseconds: by the clock of this machine, which the receiver compares with its own. */
export async function send(
  webhook: StoredWebhook,
  { id, body, now }: { id: string; body: string; now: number },
  { guard, sealer, timeoutMs, stopping }: Sender,
): Promise<Attempt> {
  const timeout = AbortSignal.timeout(timeoutMs)
  try {
    const headers = signedHeaders(secretsOf(webhook, sealer, now), { id, timestamp: Math.floor(now / 1000), body })
    const response = await guard.webFetch(webhook.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
      signal: AbortSignal.any([stopping, timeout]),
    })
    // The status decides. The body is not waited for, so a receiver that sends it slowly does not hold a slot.
    void response.body?.cancel().catch(() => undefined)
    return judge(response.status)
  } catch (error) {
    if (stopping.aborted) return { kind: 'released' }
    if (timeout.aborted) return failed('timeout', `the endpoint did not answer within ${timeoutMs / 1000} s`)
    if (error instanceof UnsealError) return failed('secret', `the signing secret cannot be used: ${error.message}`)
    if (error instanceof GuardRefused) return error.redirect === undefined ? failed('refused', error.forOperator) : judge(error.redirect)
    if (error instanceof GuardFailed) return failed('connection', error.message)
    throw error
  }
}

function judge(status: number): Attempt {
  if (status >= 200 && status < 300) return { kind: 'delivered', status }
  if (status === 410) return failed('gone', 'the endpoint answered 410 Gone, which disables the webhook', status)
  if (status >= 300 && status < 400) return failed('redirect', `the endpoint answered ${status}; redirects are not followed`, status)
  return failed('status', `the endpoint answered ${status}`, status)
}

const failed = (reason: FailureReason, error: string, status: number | null = null): Attempt => ({ kind: 'failed', reason, status, error })

/** Nothing was sent, because there is nothing to send. */
export const eventFailed = (problem: string): Attempt => failed('event', `the event cannot be read: ${problem}`)

/** The current secret, and the old ones whose grace periods have not ended. */
function secretsOf({ id, sealedSecret, oldSecrets }: StoredWebhook, sealer: Sealer, now: number): string[] {
  const sealed = [sealedSecret, ...oldSecrets.filter(({ until }) => until > now).map((old) => old.sealed)]
  return sealed.map((one) => sealer.open(one, secretBoundTo(id)))
}
