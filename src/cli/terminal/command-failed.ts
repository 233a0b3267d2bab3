/** How a command ends without its work done: one line for a person and the exit code. */

import { StoreUnavailable } from '../../store/store.ts'

/** 1: the answer is no (refused, not found, broken) · 2: it could not be done at all (usage, nothing reached). */
export type FailedCode = 1 | 2

export class CommandFailed extends Error {
  readonly exitCode: FailedCode

  /** `message` is shown as it is, without a stack. */
  constructor(exitCode: FailedCode, message: string) {
    super(message)
    this.exitCode = exitCode
  }
}

/** What an error says of its cause, in one line: fetch and SQLite hide it one level down. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // The store has put it into an operator's words already.
  if (error instanceof StoreUnavailable) return error.message
  if (error.cause !== undefined) return causeOf(error.cause)
  // Of several addresses tried for one name, all refused: the first speaks for them.
  if (error instanceof AggregateError && error.errors.length > 0) return causeOf(error.errors[0])
  return error.message
}
