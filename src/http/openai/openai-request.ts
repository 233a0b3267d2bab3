/**
 * Reads what both requests of OpenAI's API have in common, and starts the turn. The checks and the turn are those of /chat: here is only which
 * field is which, and the Idempotency-Key of a request without one (`openai.same-turn`, `openai.retry-joins`).
 */
import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ApiKey } from '../../access/outcome.ts'
import { isAgentOf } from '../../agent-slug.ts'
import { within } from '../../deadline.ts'
import type { BeginResult, RunningTurn } from '../../turn/outcome.ts'
import { parseJson, receiveBody } from '../edge/request-body.ts'
import type { Turns } from '../public/chat-routes.ts'
import { readIdempotencyKey } from '../public/idempotency-key.ts'
import { readTraceparent } from '../public/request-headers.ts'
import { isRepeated, NotRepeated, OpenAiError } from './openai-error.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by `receiveMessage`: the key that the caller sent, or a digest of the body it sent without one. */
    sent: { idempotencyKey: string } | { bodyDigest: string }
  }
}

/** A `preParsing` hook: the body as JSON, and the Idempotency-Key, in the order of /chat (`order.validation`). */
export async function receiveMessage(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const bytes = await receiveBody(request, reply)
  request.sent =
    request.headers['idempotency-key'] === undefined
      ? { bodyDigest: hash('sha256', bytes, 'base64url') }
      : { idempotencyKey: readIdempotencyKey(request.raw) }
  request.body = parseJson(request.raw, bytes)
}

/** `openai.model-is-the-agent`. Throws OpenAiError 404 `model_not_found`. */
export function refuseOtherModel(apiKey: ApiKey, model: string): void {
  if (isAgentOf(apiKey, model)) return
  throw modelNotFound('model')
}

/** Does not repeat what was asked for. */
export const modelNotFound = (param?: string): OpenAiError =>
  new OpenAiError('not_found', {
    code: 'model_not_found',
    ...(param === undefined ? {} : { param }),
    message: 'This model does not exist, or the API key has no access to it. GET /v1/models lists the model of the key.',
  })

/** `openai.user`: the `external_user_id`, or that of the key. Throws OpenAiError 400 `missing_user`. */
export function userOf({ user, safety_identifier: safetyIdentifier }: Record<string, unknown>, apiKey: ApiKey): string {
  const externalUserId = (user ?? safetyIdentifier ?? apiKey.defaultExternalUserId) as string | null
  if (externalUserId !== null) return externalUserId
  throw new OpenAiError('validation_error', {
    code: 'missing_user',
    param: 'user',
    message: 'Set user to a stable ID of your end user. Each user has a conversation of their own.',
  })
}

// The official clients wait ten minutes for each try, and less than a minute before the next one.
const perRetryMs = 11 * 60_000
const maxRetries = 10
const joinsWithinMs = (retries: number): number => Math.min(retries, maxRetries) * perRetryMs

// As long as a caller waits for a turn of its own process. A connection without any response is closed soon after.
const answerMs = 115_000

/**
 * Starts the turn, or returns what is stored of it. A retry without a key joins the turn of the first try, also while that runs. Throws
 * NotRepeated instead of a refusal after which a retry would join an earlier equal message.
 */
export async function beginTurn(
  request: FastifyRequest,
  { externalUserId, message, stream }: { externalUserId: string; message: string; stream: boolean },
  turns: Turns,
  limits = { answerMs },
): Promise<BeginResult> {
  const { id: apiKeyId, agentId, ownerId: shareOf } = request.caller.apiKey
  const wanted = { apiKeyId, agentId, externalUserId, message, traceparent: readTraceparent(request.raw), shareOf }
  if ('idempotencyKey' in request.sent) return turns.begin({ ...wanted, idempotencyKey: request.sent.idempotencyKey })
  const keyPrefix = ownKeyPrefix(externalUserId, request.sent.bodyDigest)
  const ownKey = `${keyPrefix}${request.id}`
  const findWithin = (withinMs: number) => turns.resource.findNewest({ apiKeyId, keyPrefix, withinMs })
  const retries = retryCount(request.raw)
  const first = retries > 0 ? await findWithin(joinsWithinMs(retries)) : undefined
  const started = await turns.begin({ ...wanted, idempotencyKey: first?.idempotencyKey ?? ownKey })
  if (started.kind !== 'refused') return started
  if (first) {
    if (started.code !== 'idempotency_in_progress') return started
    const { turn } = await turns.resource.open({ requestId: first.requestId, apiKeyId })
    return { kind: 'running', turn: stream ? turn : endingWithin(limits.answerMs, turn) }
  }
  if (!isRepeated(started.code)) return started
  // If the look-up fails too, nothing is known, and the client decides. An admission that failed may be stored nevertheless.
  const newest = await findWithin(joinsWithinMs(maxRetries)).catch(() => undefined)
  if (newest && newest.idempotencyKey !== ownKey) throw new NotRepeated(started.code)
  return started
}

/** `unavailable.unknown`: the turn of another process has no limit here. */
const endingWithin = (limitMs: number, turn: RunningTurn): RunningTurn => ({
  requestId: turn.requestId,
  conversationId: turn.conversationId,
  fence: turn.fence,
  listen: (listener, after) => turn.listen(listener, after),
  end: within(limitMs, turn.end, () => ({ kind: 'failed', code: 'service_unavailable', state: null })),
})

/**
 * A key that is made here starts with a control character, which no key of a caller has (`idempotency.key-text`). It ends with the ID of the
 * first try's request, which is ordered by time, so the last key with a prefix is the newest.
 */
const ownKeyPrefix = (externalUserId: string, bodyDigest: string): string =>
  `\u0001${hash('sha256', JSON.stringify([externalUserId, bodyDigest]), 'base64url')}.`

/** Of OpenAI's clients: how often this request was sent before. */
function retryCount({ headers }: IncomingMessage): number {
  const count = headers['x-stainless-retry-count']
  return typeof count === 'string' && /^[1-9]\d{0,3}$/.test(count) ? Number(count) : 0
}
