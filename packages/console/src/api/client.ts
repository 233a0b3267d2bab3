/**
 * Calls the admin API. The browser's session cookie identifies the operator. Pages of other origins cannot send the additional header, and
 * the server accepts no cookie without it. No token and no API key is stored here, in storage or in an address.
 */

/** A failed response with the message of the server's error envelope. `status` 0: there was no response. */
export class ApiFailure extends Error {
  readonly status: number
  readonly code: string
  /** The field of the request that the failure is about, by its path in the API, or null. */
  readonly param: string | null
  readonly requestId: string | null
  /** The server's Retry-After in seconds, if it sent one. */
  readonly retryAfterSeconds: number | null
  /** The operator has sent too many requests, and the session is valid (`admin.limits`). */
  readonly isLimited: boolean
  /** The operator lacks a permission. A request about the own account is refused for other reasons, which the message says. */
  readonly needsPermission: boolean

  constructor(failure: {
    status: number
    code: string
    message: string
    param?: string | null
    requestId?: string | null
    retryAfterSeconds?: number | null
    isLimited?: boolean
    needsPermission?: boolean
  }) {
    super(failure.message)
    this.name = 'ApiFailure'
    this.status = failure.status
    this.code = failure.code
    this.param = failure.param ?? null
    this.requestId = failure.requestId ?? null
    this.retryAfterSeconds = failure.retryAfterSeconds ?? null
    this.isLimited = failure.isLimited ?? false
    this.needsPermission = failure.needsPermission ?? false
  }
}

export type Query = Record<string, string | number | undefined | null>

type Sent = {
  method?: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  query?: Query
  /** JSON, unless it is a form with a file. */
  body?: unknown
  headers?: Record<string, string>
  signal?: AbortSignal
}

export const consoleHeader = { 'X-Turnkeep-Console': '1' } as const

/** The JSON of the response, or undefined for 204. Throws ApiFailure. */
export async function call<Answer>(path: string, sent: Sent = {}): Promise<Answer> {
  const response = await send(path, sent)
  return (response.status === 204 ? undefined : await response.json()) as Answer
}

/** The response as it arrives, for streams and files, with a status of success. Throws ApiFailure. */
export async function send(path: string, { method = 'GET', query = {}, body, headers = {}, signal }: Sent = {}): Promise<Response> {
  const isForm = body instanceof FormData
  const response = await fetch(addressOf(path, query), {
    method,
    headers: { ...consoleHeader, ...(body === undefined || isForm ? {} : { 'Content-Type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
    credentials: 'same-origin',
    cache: 'no-store',
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error
    throw new ApiFailure({
      status: 0,
      code: 'no_answer',
      message: 'The server did not respond. Check that it is running and that you are online.',
    })
  })
  if (!response.ok) throw await failureOf(response)
  return response
}

export function addressOf(path: string, query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== '')
  const search = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)])).toString()
  return `/admin/v1${path}${search === '' ? '' : `?${search}`}`
}

/** Encodes one path segment that comes from data. */
export const segment = (text: string): string => encodeURIComponent(text)

/** Returns the failure of a response, even of one that did not come from `send`. */
export async function failureOf(response: Response): Promise<ApiFailure> {
  const wait = Number(response.headers.get('retry-after'))
  const retryAfterSeconds = Number.isFinite(wait) && wait > 0 ? wait : null
  const { status } = response
  const requestId = response.headers.get('x-request-id')
  const isLimited = status === 429 && response.headers.has('x-ratelimit-limit')
  const reported: unknown = await response.json().catch(() => null)
  const error =
    reported && typeof reported === 'object' && 'error' in reported
      ? (reported.error as { code: string; message: string; param?: string })
      : undefined
  // The page of a proxy, or a server that stopped in between.
  if (!error)
    return new ApiFailure({
      status,
      code: 'no_envelope',
      message: `Unexpected response with status ${status}: a proxy may have answered instead of Turnkeep.`,
      requestId,
      retryAfterSeconds,
    })
  const { code, message, param = null } = error
  const needsPermission = code === 'forbidden' && !response.url.includes('/admin/v1/me/')
  return new ApiFailure({ status, code, message, param, requestId, retryAfterSeconds, isLimited, needsPermission })
}
