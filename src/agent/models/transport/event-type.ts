/** Knows an event by its `type`, at the price of a search for all the events that are another. */
import { isObject } from './fields.ts'

/** A matcher of event data: JSON objects whose `type` is one of `types`. */
export function eventType(...types: string[]): (data: string) => boolean {
  return (data) => types.some((type) => data.includes(`"${type}"`)) && types.some((type) => type === typeOf(data))
}

function typeOf(data: string): unknown {
  try {
    const event: unknown = JSON.parse(data)
    return isObject(event) ? event.type : undefined
  } catch {
    // the package finds it broken too, and says so
    return undefined
  }
}
