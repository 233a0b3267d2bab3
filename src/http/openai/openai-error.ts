/**
 * `openai.errors`: writes an error as OpenAI's API does: `{message, type, param, code}`, with its status and the header that its clients obey. Knows which paths
 * belong to that API, so that what is refused before a route also has this form.
 */
import { ApiError, failures } from '../../errors.ts'
import type { FailureCode } from '../../errors.ts'

/** What OpenAI's API has below /v1 and this service does not, so that clients that use it get an error that says so. */
const otherFamilies =
  'assistants|audio|batches|chatkit|completions|containers|conversations|embeddings|engines|evals|files|' +
  'fine_tuning|images|moderations|rerank|realtime|skills|threads|uploads|vector_stores|videos'
// An absolute URL is what a proxy may send.
const origin = '^(?:https?:\\/\\/[^/?#]*)?'
const openAiPath = new RegExp(`${origin}\\/v1\\/(?:chat|models|responses|${otherFamilies})(?:[/?#]|$)`)
const unsupportedPath = new RegExp(
  `${origin}\\/v1\\/(?:(?:${otherFamilies})(?:\\/[^?#]*)?|responses\\/(?:compact|input_tokens)\\/?|chat\\/completions\\/[^?#]+)(?:[?#]|$)`,
)

export const isOpenAiPath = (url: string | undefined): boolean => url !== undefined && openAiPath.test(url)

/**
 * `order.route`: the error for an endpoint of OpenAI's API that does not exist here; undefined for any other URL. Without it, the path of
 * `/v1/responses/compact` would be the ID of a response.
 */
export const unsupportedEndpoint = (url = ''): OpenAiError | undefined =>
  unsupportedPath.test(url)
    ? new OpenAiError('not_found', {
        code: 'unsupported_endpoint',
        message: 'Turnkeep does not support this endpoint of the OpenAI API. It supports Chat Completions, Responses and Models.',
      })
    : undefined

/** An error that only these routes have. `failure`: its code in the log and in the metrics. */
export class OpenAiError extends ApiError {
  readonly shownCode: string

  constructor(failure: FailureCode, { code, message, param }: { code: string; param?: string; message: string }) {
    super(failure, message, { param })
    this.shownCode = code
  }
}

/** What is wrong with a field of the request. */
export const invalidField = (param: string, message: string): OpenAiError =>
  new OpenAiError('validation_error', { code: 'validation_error', param, message })

export const unsupported = (param: string, why: string): OpenAiError =>
  new OpenAiError('validation_error', { code: 'unsupported_parameter', param, message: `Unsupported parameter: ${param}. ${why}` })

/** The status that OpenAI's API has for an invalid request. */
export const openAiStatus = ({ status }: ApiError): number => (status === 422 ? 400 : status)

export type OpenAiErrorObject = { message: string; type: string; param: string | null; code: string }

export function openAiError(error: ApiError): OpenAiErrorObject {
  const code = error instanceof OpenAiError ? error.shownCode : error.code
  return { message: error.message, type: typeOf(error), param: error.param ?? null, code }
}

function typeOf({ status }: ApiError): string {
  if (status === 402) return 'insufficient_quota'
  if (status === 429) return 'rate_limit_error'
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}

const neverRetried = new Set<FailureCode>(['idempotency_conflict', 'turn_cancelled'])
const soonRetried = new Set<FailureCode>(['idempotency_in_progress', 'conversation_busy'])

/** What OpenAI's clients repeat by themselves, of the failures before anything was stored. */
export const isRepeated = (code: FailureCode): boolean => failures[code].status === 409 || failures[code].status >= 500

/** `openai.retry-joins`: a refusal that the client must not repeat by itself, because its retry would get the reply of an earlier equal message. */
export class NotRepeated extends ApiError {}

/** `openai.should-retry`: OpenAI's clients retry every 409 unless this header says otherwise. A stored failure stays the same for 24 hours. */
export function mayRetryHeader(error: ApiError, isStored: boolean): Record<string, string> {
  const { code } = error
  if (isStored || neverRetried.has(code) || error instanceof NotRepeated) return { 'x-should-retry': 'false' }
  return soonRetried.has(code) ? { 'x-should-retry': 'true' } : {}
}

/** For the `catch` of a look-up of a response: 404 as OpenAI's API has it. */
export function notFound(error: unknown): never {
  if (!(error instanceof ApiError) || error.code !== 'not_found') throw error
  throw new OpenAiError('not_found', { code: 'response_not_found', param: 'response_id', message: 'This response does not exist.' })
}
