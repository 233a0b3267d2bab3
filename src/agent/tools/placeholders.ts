/**
 * Fills the `{name}` placeholders in a tool's address and headers. A value in an address stays within its own component: it is
 * percent-encoded, and rejected if a server could read it as something other than a name (an empty segment, `.` or `..`).
 */

/** Thrown for a value that cannot be an address component. The message contains the name of the placeholder, never the value. */
export class UnfitValue extends Error {}

const placeholder = /\{([a-zA-Z0-9_-]{1,64})\}/g

/** Returns the names of the placeholders, each once. */
export function placeholdersIn(text: string): string[] {
  return [...new Set([...text.matchAll(placeholder)].map(([, name]) => name!))]
}

/** Replaces each placeholder with its value, without encoding it. */
export function fillText(text: string, valueOf: (name: string) => string): string {
  return text.replaceAll(placeholder, (_, name: string) => valueOf(name))
}

/** Fills the placeholders in an address, percent-encoded. Throws UnfitValue. */
export function fillAddress(address: string, valueOf: (name: string) => string): string {
  const { origin, path, rest } = partsOf(address)
  const filledPath = path
    .split('/')
    .map((segment) => {
      const filled = fillText(segment, (name) => encodeComponent(valueOf(name)))
      if (filled === segment) return segment
      const [name] = placeholdersIn(segment)
      if (filled === '') throw new UnfitValue(`${name} must not be empty`)
      // URL parsers treat these as the current or the parent directory, percent-encoded or not.
      if (/^(\.|%2e){1,2}$/i.test(filled)) throw new UnfitValue(`${name} must not be "." or ".."`)
      return filled
    })
    .join('/')
  return origin + filledPath + fillText(rest, (name) => encodeComponent(valueOf(name)))
}

/** Returns the names of the query parameters that the address itself contains. */
export function queryNames(address: string): string[] {
  return [...new URLSearchParams(partsOf(address).rest).keys()]
}

/** Encodes a text as one component of an address: only letters, digits and `-_.~` stay unencoded. */
export function encodeComponent(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

/** Splits an address into scheme with host and port, path, and query including its question mark. */
export function partsOf(address: string): { origin: string; path: string; rest: string } {
  const [origin = ''] = /^[^:]*:\/\/[^/?]*/.exec(address) ?? []
  const tail = address.slice(origin.length)
  const query = tail.indexOf('?')
  return query < 0 ? { origin, path: tail, rest: '' } : { origin, path: tail.slice(0, query), rest: tail.slice(query) }
}
