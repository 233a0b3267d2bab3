/** The fields of a JSON object that somebody else wrote: known to be an object, each value still unknown. */
export type Fields = Record<string, unknown>

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
