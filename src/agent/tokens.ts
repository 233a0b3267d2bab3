/** Token counts made without a tokenizer (77 MB of tables, and 32,000 equal letters block it for 450 ms, measured). Pure. */

/** `billing.hold`: the bound that holds and budgets are made of: half the UTF-8 bytes, up. */
export function tokenBound(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 2)
}

/** `billing.usage-missing`: the count of a text where a complete reply came without usage: a quarter of the UTF-8 bytes, up. */
export function estimatedTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4)
}
