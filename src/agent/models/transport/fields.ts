/** What every reader of external JSON needs. */
import { parseExact } from '../../exact-json.ts'

/** A JSON object from an external source: the type of each value still has to be checked. */
export type Fields = Record<string, unknown>

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns undefined if the text is not a JSON object. Its numbers keep all digits when it is written again. */
export function parseObject(text: string): Fields | undefined {
  try {
    const value = parseExact(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Whether a provider's token count is valid; if not, usage is estimated (`billing.usage-missing`). */
export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0

/** Returns the value as JSON, or undefined if it is nested too deeply to be written: providers choose the depth of what they send. */
export function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}
