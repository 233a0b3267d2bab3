/** The error that ends a command: a message for the user and the exit code. */

import { StoreUnavailable } from '../../store/store.ts'

/** 1: the answer is no (refused, not found, a check failed). 2: the command could not run (invalid usage, nothing reachable). */
export type FailedCode = 1 | 2

export class CommandFailed extends Error {
  readonly exitCode: FailedCode

  /** @param message printed as it is, without a stack trace */
  constructor(exitCode: FailedCode, message: string) {
    super(message)
    this.exitCode = exitCode
  }
}

// What OpenSSL reports about the first bytes of a plain HTTP response.
const plainHttpCodes = ['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG']

/** Returns the cause of an error in one line. fetch and SQLite put it in `error.cause`. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // The store has already written this message for the operator.
  if (error instanceof StoreUnavailable) return error.message
  if (error.cause !== undefined) return causeOf(error.cause)
  if ('code' in error && plainHttpCodes.includes(String(error.code)))
    return 'this port does not use TLS; use http:// unless a proxy with TLS is in front of the server'
  // A host name can have several addresses. If all of them failed, report the first error.
  if (error instanceof AggregateError && error.errors.length > 0) return causeOf(error.errors[0])
  return error.message
}
