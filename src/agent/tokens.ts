/**
 * Token counts without a tokenizer. Measured, a tokenizer needs 77 MB of tables, and a text of 32,000 equal letters blocks it for 450 ms.
 * See docs/decisions/0007-bounds-without-a-tokenizer.md.
 */

/** Returns the token bound that holds and budgets are computed from: half the UTF-8 bytes, rounded up (`billing.hold`). */
export function tokenBound(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 2)
}

/** Returns the token count to assume for a reply without usage: a quarter of the UTF-8 bytes, rounded up (`billing.usage-missing`). */
export function estimatedTokens(text: string): number {
  return tokensOfBytes(Buffer.byteLength(text))
}

/** Like `estimatedTokens`, for a text of which only the number of UTF-8 bytes is known. */
export const tokensOfBytes = (bytes: number): number => Math.ceil(bytes / 4)
