/**
 * The errors of an MCP server as one short line for the operator and the model, without secrets. Text from the server must go through
 * `withoutSecrets` before it becomes part of a message.
 */
import { GuardFailed, GuardRefused } from '../guard/guard.ts'
import { credentialsIn } from './redact.ts'
import { ToolServerError } from './tool-config.ts'

/** The server no longer knows the session, and refused the request without processing it. */
export class SessionForgotten extends ToolServerError {}

/** The request was sent, but no complete answer arrived: the call may have taken effect. */
export class OutcomeUnknown extends ToolServerError {}

/** The server sent something complete that is not an answer to the request. */
export class NoAnswer extends OutcomeUnknown {}

// For the words of a header value: longer than "Bearer", "Basic" or "Digest", and shorter than any real token.
const minWord = 8
// A server's error message usually has one or two sentences.
const maxCharacters = 500

/** Returns what to redact with `withoutSecrets`: the header values, whole, word by word (`Bearer …`), and decoded (`Basic …`). */
export function secretsIn(headers: Record<string, string>): string[] {
  return Object.values(headers).flatMap((value) => [value, ...credentialsIn(value, minWord)])
}

/** Returns the first 500 characters of a text from the server, on one line. */
export function oneLine(text: string): string {
  return text
    .slice(0, maxCharacters)
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .toWellFormed()
}

/** The error of a request that failed. Messages of the guard are safe to show; those of a socket error contain addresses. */
export function unreachable(error: unknown): unknown {
  if (error instanceof ToolServerError) return error
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  if (cause instanceof GuardRefused || cause instanceof GuardFailed)
    return cause.sent ? new OutcomeUnknown(cause.message, { cause }) : new ToolServerError(cause.message, { cause })
  return new OutcomeUnknown('the server cannot be reached, or it closed the connection before its response was complete', { cause: error })
}
