/**
 * Fills the `{name}` placeholders in a tool's address and headers. A value in an address stays within its own component: it is
 * percent-encoded, and rejected if a server could read it as something other than a name (an empty segment, or one with `.` or `..`).
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
      // mutant: tools.arguments-3
      const filled = fillText(segment, (name) => encodeComponent(valueOf(name)))
      if (filled === segment) return segment
      const [name] = placeholdersIn(segment)
      if (filled === '') throw new UnfitValue(`${name} must not be empty`)
      if (hasDotSegment(fillText(segment, valueOf))) throw new UnfitValue(`${name} must not be "." or "..", or contain them beside a slash`)
      return filled
    })
    .join('/')
  return origin + filledPath + fillText(rest, (name) => encodeComponent(valueOf(name)))
}

// Proxies and servers behind each other decode an address more than once.
const maxDecodings = 5

/**
 * Whether a server could read the text as a path with `.` or `..` in it: URL parsers, proxies and servers treat these as the current or the
 * parent directory, some of them with backslashes, percent-encoded once or more, or followed by spaces or a path parameter.
 */
function hasDotSegment(text: string): boolean {
  let decoded = text
  for (let round = 0; round <= maxDecodings; round++) {
    if (decoded.split(/[/\\]/).some((segment) => /^\.{1,2}[\s\0]*([;?#]|$)/.test(segment))) return true
    const next = percentDecoded(decoded)
    if (next === decoded) return false
    decoded = next
  }
  // Encoded more often than any honest value.
  return true
}

/** Byte by byte, with the overlong forms of UTF-8 that old servers accept. Only ASCII matters here. */
function percentDecoded(text: string): string {
  return text
    .replaceAll(/%c0%(ae|af)/gi, (_, byte: string) => (byte.toLowerCase() === 'ae' ? '.' : '/'))
    .replaceAll(/%c1%9c/gi, '\\')
    .replaceAll(/%(?:u00)?([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
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
