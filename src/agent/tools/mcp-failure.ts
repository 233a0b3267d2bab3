/**
 * How an MCP server fails, in words for the operator and for the model: one line, short, without a secret. What somebody else wrote
 * stands in them only after `withoutSecrets`. Pure.
 */
import { ToolServerError } from './tool-config.ts'

/** The server no longer knows the session: what was sent in it was refused unread. */
export class SessionForgotten extends ToolServerError {}

/** It was sent, and there was no whole answer: it may have been done. */
export class OutcomeUnknown extends ToolServerError {}

// Of a header of several words: longer than Bearer, Basic or Digest, and shorter than every token in use.
const minWord = 8
// A server's error message is one or two sentences.
const maxCharacters = 500

/** What of the headers must not be said again, whole and word by word (`Bearer …`): for `withoutSecrets`. */
export function secretsIn(headers: Record<string, string>): string[] {
  return Object.values(headers).flatMap((value) => [value, ...value.split(/\s+/).filter((word) => word.length >= minWord)])
}

/** Somebody else's words on one line. */
export function oneLine(text: string): string {
  return text
    .slice(0, maxCharacters)
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .toWellFormed()
}
