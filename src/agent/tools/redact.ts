/**
 * Removes an operator's secrets from texts of a tool's server. Programs encode what they repeat, in ways that cannot be listed: all or some
 * characters percent-encoded, as HTML entities or as escapes of JSON, once or twice. So the text is decoded for the search, and what was
 * found is replaced in the text as it was.
 */
import { isUtf8 } from 'node:buffer'

// A shorter text is likely to occur in ordinary answers, and real tokens and passwords are longer. `checkTools` rejects shorter secrets.
export const minSecret = 4
// The part of a base64 text that does not depend on the bytes beside a shorter secret is too short to be distinguished from other text.
const minInsideBase64 = 8
// A text that was percent-encoded within JSON within HTML, for example.
const maxDecodings = 3

/** A text, and for each of its characters the first and the last position in the original text. `undefined` for the original itself. */
type View = { text: string; from?: Uint32Array; to?: Uint32Array }
type Span = { from: number; to: number }

/**
 * Replaces each secret with "[secret]": as it is, in hex, in base64 (also within a longer base64 text), and each of these with any of its
 * characters percent-encoded, escaped as in JSON, or written as HTML entities. Secrets of fewer than 4 letters stay.
 */
export function withoutSecrets(text: string, secrets: string[]): string {
  const forms = [...new Set(secrets.filter((secret) => secret.length >= minSecret).flatMap(formsOf))]
  if (forms.length === 0) return text
  const spans: Span[] = []
  let view: View | undefined = { text }
  for (let decodings = 0; view && decodings <= maxDecodings; decodings++) {
    for (const form of forms) spans.push(...occurrences(view, form))
    view = decoded(view)
  }
  return replaced(text, spans)
}

/**
 * `tools.private`: returns the parts of a header value that a server may repeat: its words of at least `minWord` characters, such as the token
 * after "Bearer", and what Basic authentication encodes.
 */
export const credentialsIn = (headerValue: string, minWord: number): string[] => [
  ...headerValue.split(/\s+/).filter((word) => word.length >= minWord),
  ...basicSecrets(headerValue),
]

/**
 * Returns what a header value with Basic authentication contains, `user:password` and the password. If the password is too short to be
 * one, the user name is the secret, such as an API key. A server decodes the value before it repeats it. Returns nothing for any other
 * value.
 */
export function basicSecrets(headerValue: string): string[] {
  const [, credentials] = /^\s*basic\s+(\S+)\s*$/i.exec(headerValue) ?? []
  const bytes = Buffer.from(credentials ?? '', 'base64')
  const pair = bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1')
  const colon = pair.indexOf(':')
  if (colon < 0) return []
  const password = pair.slice(colon + 1)
  return [pair, password.length < minSecret ? pair.slice(0, colon) : password]
}

function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const hex = bytes.toString('hex')
  return [secret, secret.replaceAll(' ', '+'), hex, hex.toUpperCase(), ...base64Forms(bytes)]
}

/** In base64, three bytes become four letters, so what a secret looks like within a longer text depends on where it starts in it. */
function base64Forms(bytes: Buffer): string[] {
  const inside = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    // Letters that also depend on the bytes before and after.
    return text.slice(Math.ceil((before * 4) / 3), Math.floor(((before + bytes.length) * 4) / 3))
  })
  const all = [bytes.toString('base64'), ...(bytes.length >= minInsideBase64 ? inside : [])]
  return all.flatMap((text) => [text, text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')])
}

function occurrences({ text, from, to }: View, form: string): Span[] {
  const spans: Span[] = []
  for (let at = text.indexOf(form); at >= 0; at = text.indexOf(form, at + form.length)) {
    const last = at + form.length - 1
    spans.push({ from: from?.[at] ?? at, to: (to?.[last] ?? last) + 1 })
  }
  return spans
}

const encoded =
  /%[c-f][0-9a-f](?:%[89ab][0-9a-f]){1,3}|%(?:[0-7][0-9a-f])|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|\\[^ux\s]|&#x[0-9a-f]{1,8};?|&#\d{1,8};?|&[a-z]{2,8};/gi

/** Decodes each encoded character once. Returns undefined if nothing is encoded. */
function decoded({ text, from, to }: View): View | undefined {
  const pieces: string[] = []
  const starts: number[] = []
  const ends: number[] = []
  const add = (piece: string, first: number, last: number): void => {
    pieces.push(piece)
    for (let unit = 0; unit < piece.length; unit++) {
      const [one, other] = piece.length === last - first + 1 ? [first + unit, first + unit] : [first, last]
      starts.push(from?.[one] ?? one)
      ends.push(to?.[other] ?? other)
    }
  }
  let done = 0
  for (const match of text.matchAll(encoded)) {
    const character = decodedCharacter(match[0])
    if (character === undefined) continue
    add(text.slice(done, match.index), done, match.index - 1)
    done = match.index + match[0].length
    add(character, match.index, done - 1)
  }
  if (done === 0) return undefined
  add(text.slice(done), done, text.length - 1)
  return { text: pieces.join(''), from: Uint32Array.from(starts), to: Uint32Array.from(ends) }
}

/** Returns what an encoded character stands for, or undefined if it stands for nothing. */
function decodedCharacter(code: string): string | undefined {
  if (code.startsWith('%')) return percentDecoded(code)
  if (code.startsWith('&#')) return characterOf(/x/i.test(code) ? Number.parseInt(code.slice(3), 16) : Number.parseInt(code.slice(2), 10))
  if (code.startsWith('&')) return entities.get(code.slice(1, -1).toLowerCase())
  if (code.length > 2) return characterOf(Number.parseInt(code.slice(2), 16))
  return controls.get(code[1]!) ?? code[1]
}

function percentDecoded(code: string): string | undefined {
  try {
    return decodeURIComponent(code)
  } catch {
    // Not UTF-8.
    return undefined
  }
}

const characterOf = (codePoint: number): string | undefined => (codePoint <= 0x10ffff ? String.fromCodePoint(codePoint) : undefined)
const controls = new Map(Object.entries({ b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', 0: '\0' }))
/** HTML's names of the characters of ASCII that are not letters or digits. */
const entities = new Map(
  Object.entries({
    tab: '\t',
    newline: '\n',
    excl: '!',
    quot: '"',
    num: '#',
    dollar: '$',
    percnt: '%',
    amp: '&',
    apos: "'",
    lpar: '(',
    rpar: ')',
    ast: '*',
    midast: '*',
    plus: '+',
    comma: ',',
    period: '.',
    sol: '/',
    colon: ':',
    semi: ';',
    lt: '<',
    equals: '=',
    gt: '>',
    quest: '?',
    commat: '@',
    lsqb: '[',
    lbrack: '[',
    bsol: '\\',
    rsqb: ']',
    rbrack: ']',
    hat: '^',
    lowbar: '_',
    grave: '`',
    lcub: '{',
    lbrace: '{',
    verbar: '|',
    vert: '|',
    rcub: '}',
    rbrace: '}',
  }),
)

function replaced(text: string, spans: Span[]): string {
  const pieces: string[] = []
  let done = 0
  for (const { from, to } of spans.toSorted((one, other) => one.from - other.from || other.to - one.to)) {
    // Within or across the one before it.
    if (from < done) {
      done = Math.max(done, to)
      continue
    }
    pieces.push(text.slice(done, from), '[secret]')
    done = to
  }
  return pieces.join('') + text.slice(done)
}
