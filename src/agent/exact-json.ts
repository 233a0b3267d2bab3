/**
 * JSON whose numbers keep all their digits. A 20-digit id that became the nearest double would be the id of another order. `JSON.rawJSON` holds
 * the digits of such a number, and `JSON.stringify` writes them again.
 */

/** Not in TypeScript's library yet. */
type JsonWithRaw = JSON & { rawJSON(text: string): { rawJSON: string }; isRawJSON(value: unknown): value is { rawJSON: string } }
const json = JSON as JsonWithRaw

/** A number of up to 15 digits is the same in a double. */
const longNumber = /\d{16}|\d\.\d{15}|\d{8}\.\d{8}/

/** Like JSON.parse, but numbers that a double would change are raw. */
export function parseExact(text: string): unknown {
  return longNumber.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text)
}

function keepDigits(_key: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source
  if (typeof value !== 'number' || source === undefined || !longNumber.test(source) || String(value) === source) return value
  return Number.isFinite(value) ? json.rawJSON(source) : value
}

/** Returns the digits of a raw number, undefined for any other value. */
export const rawDigits = (value: unknown): string | undefined => (json.isRawJSON(value) ? value.rawJSON : undefined)
