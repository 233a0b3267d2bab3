/**
 * The `{name}` in a tool's address and headers. A value in an address stays one component of it: it is percent-encoded, and refused where a
 * server would read something else than a name in it (nothing at all, `.` and `..`). Pure.
 */

/** A value that no component can hold. The message names the placeholder, never the value. */
export class UnfitValue extends Error {}

const placeholder = /\{([a-zA-Z0-9_-]{1,64})\}/g

/** The names, each once. */
export function placeholdersIn(text: string): string[] {
  return [...new Set([...text.matchAll(placeholder)].map(([, name]) => name!))]
}

/** As `placeholdersIn`; the value goes in as it is. */
export function fillText(text: string, valueOf: (name: string) => string): string {
  return text.replaceAll(placeholder, (_, name: string) => valueOf(name))
}

/** An address with its values in it. Throws UnfitValue. */
export function fillAddress(address: string, valueOf: (name: string) => string): string {
  const { origin, path, rest } = partsOf(address)
  const filledPath = path
    .split('/')
    .map((segment) => {
      const filled = fillText(segment, (name) => encodeComponent(valueOf(name)))
      if (filled === segment) return segment
      const [name] = placeholdersIn(segment)
      if (filled === '') throw new UnfitValue(`${name} must not be empty`)
      // Every reader of addresses takes these for a step up or no step at all, however they are encoded.
      if (/^(\.|%2e){1,2}$/i.test(filled)) throw new UnfitValue(`${name} must not be "." or ".."`)
      return filled
    })
    .join('/')
  return origin + filledPath + fillText(rest, (name) => encodeComponent(valueOf(name)))
}

/** The names of the query parameters that stand in an address by themselves. */
export function queryNames(address: string): string[] {
  return [...new URLSearchParams(partsOf(address).rest).keys()]
}

/** Whatever it is, it is one component: nothing but letters, digits and `-_.~` stays as it is. */
export function encodeComponent(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

/** Scheme, host and port; path; and the query with its question mark. */
export function partsOf(address: string): { origin: string; path: string; rest: string } {
  const [origin = ''] = /^[^:]*:\/\/[^/?]*/.exec(address) ?? []
  const tail = address.slice(origin.length)
  const query = tail.indexOf('?')
  return query < 0 ? { origin, path: tail, rest: '' } : { origin, path: tail.slice(0, query), rest: tail.slice(query) }
}
