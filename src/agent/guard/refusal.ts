/** The two ways in which a guarded request ends without an answer, in words for the operator and the model: they never name a resolved address. */
import { errors } from './undici.ts'

/** The address, scheme or redirect is not allowed; nothing was sent there. */
export class GuardRefused extends Error {
  /** Whether a request may have left before: the one that was answered with the redirect. */
  sent = false
  /** The `host:port` whose allowing would help; undefined where none would. */
  readonly allow: string | undefined

  constructor(message: string, allow?: string) {
    super(message)
    this.allow = allow
  }

  /** For the operator alone, since a model has no settings. Of a redirect nothing helps: a public server may not lead there even then. */
  get forOperator(): string {
    return this.allow === undefined || this.sent
      ? this.message
      : `${this.message}; to allow it, add ${this.allow} to TURNKEEP_ALLOW_PRIVATE_HOSTS`
  }
}

/** It was allowed and failed: no connection, no whole answer in time, no HTTP. */
export class GuardFailed extends Error {
  /** Whether the request may have left. */
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

/** What failed, told by its code alone: messages of sockets and look-ups name addresses. */
export function failure(error: unknown): GuardRefused | GuardFailed {
  if (error instanceof GuardRefused || error instanceof GuardFailed) return error
  const code = codeOf(error)
  const words = byCode[code] ?? byPrefix.find(([pattern]) => pattern.test(code))?.[1] ?? 'the request failed'
  return new GuardFailed(code === '' ? words : `${words} (${code})`)
}

/** As `failure`, of a look-up: its codes are those of connections too, and mean the name server there. */
export function lookupFailure(error: unknown): GuardRefused | GuardFailed {
  const code = codeOf(error)
  return code === 'ENOTFOUND' || code === 'ENODATA' || code === ''
    ? failure(error)
    : new GuardFailed(`the host name could not be resolved (${code})`)
}

function codeOf(error: unknown): string {
  // the parser's own code is left away by the client
  if (error instanceof errors.HTTPParserError) return error.code ?? 'HPE_INVALID'
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return typeof code === 'string' && /^[A-Z0-9_]{1,60}$/.test(code) ? code : ''
}
