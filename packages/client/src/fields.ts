/**
 * Reads single fields of an unknown value. A field that is missing or has another type ends the whole read, which then returns undefined.
 * Knows no names of the API.
 */
export type Fields = Readonly<Record<string, unknown>>
const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)

/** A field is missing or has another type: the value is not from the service. Caught in this file. */
class Incomplete extends Error {}

/** Returns the result of `read`, or undefined if one of its fields was missing. */
export function attemptRead<Result>(read: () => Result): Result | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof Incomplete) return undefined
    throw error
  }
}

export function fieldsOf(value: unknown): Fields {
  if (!isFields(value)) throw new Incomplete()
  return value
}

export function textOf(from: Fields, name: string): string {
  const value = from[name]
  if (typeof value !== 'string') throw new Incomplete()
  return value
}

export function countOf(from: Fields, name: string): number {
  const value = from[name]
  if (typeof value !== 'number') throw new Incomplete()
  return value
}

export function flagOf(from: Fields, name: string): boolean {
  const value = from[name]
  if (typeof value !== 'boolean') throw new Incomplete()
  return value
}

export function listOf<Item>(from: Fields, name: string, take: (item: unknown) => Item): Item[] {
  const value = from[name]
  if (!Array.isArray(value)) throw new Incomplete()
  return value.map(take)
}

/** One of these texts. */
export function choiceOf<Choice extends string>(from: Fields, name: string, ...choices: Choice[]): Choice {
  const choice = choices.find((known) => known === from[name])
  if (choice === undefined) throw new Incomplete()
  return choice
}

/** Null if the field is null. The field must exist. */
export function nullable<Result>(from: Fields, name: string, take: (from: Fields, name: string) => Result): Result | null {
  return from[name] === null ? null : take(from, name)
}
