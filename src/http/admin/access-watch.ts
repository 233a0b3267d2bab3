/**
 * Ends responses whose caller has lost its access meanwhile (`operator.ends-streams`): its session or token was revoked or has expired, or its
 * operator may do less. While any response of this process is open, one read every half second asks the store about all of their sessions and
 * tokens, and the answers are judged like those at the start of a request. What another process changes is therefore noticed as well.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AdminCalls } from '../../admin/admin.ts'
import { within } from '../../deadline.ts'
import { ApiError } from '../../errors.ts'
import type { Principal } from '../../operators/principal.ts'
import { callerGone } from '../edge/caller-gone.ts'
import { note } from '../edge/access-log.ts'
import type { Credential } from './auth.ts'
import { checkNeeds } from './permissions.ts'
import type { RouteNeeds } from './permissions.ts'

export type AccessWatch = {
  /** Watches the response until it is closed. Returns what is aborted when the access ends; its reason is an ApiError. */
  add(opened: Opened): AbortSignal
  /** Asks the store without waiting for the next half second: this process has changed what someone may do. */
  checkNow(): void
}

type Opened = { request: FastifyRequest; reply: FastifyReply; credential: Credential; principal: Principal; route: RouteNeeds }
type Open = Opened & {
  ending: AbortController
  /** When the store has last confirmed the access. */
  confirmedAt: number
}

export type AccessWatchTimes = {
  intervalMs: number
  /** A response ends if the store has not confirmed the access of its caller for this long. */
  maxUnknownMs: number
}

// Ten seconds are longer than a failover of PostgreSQL usually takes, and no one reads on for longer after a revocation.
const usual: AccessWatchTimes = { intervalMs: 500, maxUnknownMs: 10_000 }

type Known = Pick<AdminCalls, 'findPrincipalsOfSessions' | 'findPrincipalsOfTokens'>

export function createAccessWatch(known: Known, monotonicMs: () => number, times: AccessWatchTimes = usual): AccessWatch {
  const open = new Set<Open>()
  let timer: NodeJS.Timeout | undefined
  let isAsking = false
  let isAskedAgain = false

  async function ask(): Promise<void> {
    const asked = [...open]
    const startedAt = monotonicMs()
    const textsOf = (kind: Credential['kind']): string[] => [
      ...new Set(asked.flatMap(({ credential }) => (credential.kind === kind ? [credential.text] : []))),
    ]
    const found = await within(
      times.maxUnknownMs,
      Promise.all([known.findPrincipalsOfSessions(textsOf('session')), known.findPrincipalsOfTokens(textsOf('token'))]),
    )
    const [sessions, tokens] = found
    for (const one of asked) {
      const { kind, text } = one.credential
      const refusal = refusalOf(one, kind === 'session' ? sessions.get(text) : tokens.get(text)?.principal)
      if (refusal) end(one, refusal)
      else one.confirmedAt = startedAt
    }
  }

  function check(): void {
    if (isAsking) return void (isAskedAgain = true)
    isAsking = true
    isAskedAgain = false
    ask()
      // What is unknown for too long ends at a later tick.
      .catch(() => undefined)
      .finally(() => {
        isAsking = false
        if (isAskedAgain && open.size > 0) check()
      })
  }

  function tick(): void {
    const now = monotonicMs()
    for (const one of open)
      if (now - one.confirmedAt > times.maxUnknownMs) end(one, new ApiError('service_unavailable', unconfirmed, { retryAfterSeconds: 2 }))
    if (open.size === 0) {
      clearInterval(timer)
      timer = undefined
    } else if (!isAsking) check()
  }

  function end(one: Open, refusal: ApiError): void {
    if (!open.delete(one)) return
    const { request, reply, ending } = one
    note(request.raw, { code: refusal.code })
    ending.abort(refusal)
    if (!reply.raw.headersSent && isHarmless(one) && !reply.sent) return void reply.send(refusal)
    // By then an event stream has written its last event. Any other body is cut, so that it cannot be mistaken for a complete one.
    setImmediate(() => {
      if (reply.raw.headersSent && !reply.raw.writableEnded) reply.raw.destroy()
    })
  }

  return {
    add(opened) {
      const one: Open = { ...opened, ending: new AbortController(), confirmedAt: monotonicMs() }
      open.add(one)
      opened.reply.raw.once('close', () => open.delete(one))
      timer ??= setInterval(tick, times.intervalMs).unref()
      return one.ending.signal
    },
    checkNow() {
      if (open.size > 0) check()
    },
  }
}

const lost = 'Your session or token has ended, or may do less now. Sign in again, or use another token.'
const unconfirmed = 'Your access could not be confirmed, because the database does not answer. Try again later.'

/** Whether the principal of now may still receive what this one opened. */
function refusalOf({ principal, route }: Opened, now: Principal | undefined): ApiError | undefined {
  if (!now || now.scope?.ownerId !== principal.scope?.ownerId || now.scope?.agentId !== principal.scope?.agentId)
    return new ApiError('unauthorized', lost)
  try {
    // mutant: operator.ends-streams
    checkNeeds(now, route)
    return undefined
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
}

/**
 * Whether nothing is stored by a request that gets an error instead of its response: it is read-only, its body has not arrived, or its work is
 * only for its caller. A write that is being made gets the response that says what became of it.
 */
const isHarmless = ({ request }: Opened): boolean =>
  request.method === 'GET' || request.method === 'HEAD' || !request.raw.complete || request.isForCallerOnly

/** For work that only its caller wants: aborted when it has left, or may no longer receive the result. */
export function leftBy(request: FastifyRequest, reply: FastifyReply): AbortSignal {
  request.isForCallerOnly = true
  const gone = callerGone(reply)
  return request.access ? AbortSignal.any([gone, request.access]) : gone
}
