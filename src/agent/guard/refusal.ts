/**
 * The two errors with which a guarded request ends. Their messages are for the operator and the model, and never contain a resolved
 * address.
 */
import { errors } from './undici.ts'

/** The address, scheme or redirect is not allowed; nothing was sent there. */
export class GuardRefused extends Error {
  /** Whether an earlier request may have been sent: the one whose answer was the redirect. */
  sent = false
  /** The status of the redirect that is not followed. Undefined if the request itself was refused. */
  redirect: number | undefined
  /** The `host:port` that the operator could allow; undefined if that would not help. */
  readonly allow: string | undefined

  constructor(message: string, allow?: string) {
    super(message)
    this.allow = allow
  }

  /**
   * The message with advice for the operator; a model cannot change settings. For a redirect there is no advice, because a public server
   * must not lead to a private address in any case.
   */
  get forOperator(): string {
    return this.allow === undefined || this.sent
      ? this.message
      : `${this.message}; to allow it, add ${this.allow} to TURNKEEP_ALLOW_PRIVATE_HOSTS`
  }
}

/** The request was allowed but failed: no connection, no complete answer in time, or an answer that is not HTTP. */
export class GuardFailed extends Error {
  /** Whether the request may have been sent. */
  sent = false
}

const byCode: Record<string, string> = {
  ECONNREFUSED: 'the server refused the connection',
  ECONNRESET: 'the server closed the connection before sending a complete response',
  EPIPE: 'the server closed the connection before sending a complete response',
  UND_ERR_SOCKET: 'the server closed the connection before sending a complete response',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the response body does not match its Content-Length',
  UND_ERR_HEADERS_OVERFLOW: 'the response headers are too large',
  EHOSTUNREACH: 'the server cannot be reached',
  ENETUNREACH: 'the server cannot be reached',
  ETIMEDOUT: 'the server cannot be reached',
  ENOTFOUND: 'the host name does not exist',
  ENODATA: 'the host name does not exist',
}
const byPrefix: [RegExp, string][] = [
  [/^HPE_/, 'the response is incomplete or not valid HTTP'],
  [/^(Z_|ERR__ERROR_|ERR_BROTLI|ERR_PADDING|ERR_ALLOC)/, 'the response body cannot be decoded'],
  [/CERT|^UNABLE_TO_|^ERR_TLS_|^ERR_SSL_|^EPROTO$/, 'the TLS connection could not be established'],
]

/** Describes an error by its code only, because the messages of sockets and DNS contain addresses. */
export function failure(error: unknown): GuardRefused | GuardFailed {
  if (error instanceof GuardRefused || error instanceof GuardFailed) return error
  const code = codeOf(error)
  const words = byCode[code] ?? byPrefix.find(([pattern]) => pattern.test(code))?.[1] ?? 'the request failed'
  return new GuardFailed(code === '' ? words : `${words} (${code})`)
}

/** Like `failure`, for DNS errors: they share codes with connection errors, but mean the name server. */
export function lookupFailure(error: unknown): GuardRefused | GuardFailed {
  const code = codeOf(error)
  return code === 'ENOTFOUND' || code === 'ENODATA' || code === ''
    ? failure(error)
    : new GuardFailed(`the host name could not be resolved (${code})`)
}

function codeOf(error: unknown): string {
  // The HTTP client does not copy the parser's error code in every case.
  if (error instanceof errors.HTTPParserError) return error.code ?? 'HPE_INVALID'
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return typeof code === 'string' && /^[A-Z0-9_]{1,60}$/.test(code) ? code : ''
}
