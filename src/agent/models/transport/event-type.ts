/** Recognizes stream events by their `type`. Events of other types only cost a string search, because they are not parsed. */
import { isObject } from './fields.ts'

/** Returns a function that tests whether the data of an event is a JSON object whose `type` is one of `types`. */
export function eventType(...types: string[]): (data: string) => boolean {
  return (data) => types.some((type) => data.includes(`"${type}"`)) && types.some((type) => type === typeOf(data))
}

function typeOf(data: string): unknown {
  try {
    const event: unknown = JSON.parse(data)
    return isObject(event) ? event.type : undefined
  } catch {
    // The provider package that gets the event next reports the invalid JSON.
    return undefined
  }
}
