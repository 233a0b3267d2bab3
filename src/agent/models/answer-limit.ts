/**
 * Limits on the size of an answer, beyond which the model server is assumed to ignore the output token limit. An answer that respects it is
 * never cut: no vocabulary in use has a token of more than 128 bytes.
 */
const maxToken = 128
// For ids, names and JSON around tool calls, which providers do not count as output tokens.
const besideTokens = 64 * 1024

/** 8 MiB: the most memory that an answer can use, however large its output token limit is. */
export const maxAnswer = 8 * 1024 * 1024

/** Returns the limit for text and tool calls, in characters. */
export const answerLimit = (maxOutputTokens: number): number => Math.min(maxAnswer, maxOutputTokens * maxToken + besideTokens)

/**
 * Returns the limit for a whole JSON body, in bytes. It is larger because JSON can need six bytes per character and may contain reasoning.
 */
export const bodyLimit = (maxOutputTokens: number): number => Math.min(maxAnswer, answerLimit(maxOutputTokens) * 6)
