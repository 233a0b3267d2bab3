/** Reads XML as a sequence of tags and texts, without a tree: a document may have 64 MiB of it. Checks nothing. */

export type Token = { kind: 'open' | 'close' | 'empty' | 'other'; name: string; raw: string }

const piece = /<!--[\s\S]*?-->|<!\[CDATA\[[\s\S]*?\]\]>|<\?[\s\S]*?\?>|<(\/?)([^\s/>!?]+)(?:"[^"]*"|'[^']*'|[^"'>])*>|[^<]+|</g

export function* tokensOf(xml: string): Generator<Token> {
  for (const { 0: raw, 1: slash, 2: name } of xml.matchAll(piece)) {
    if (name === undefined) yield { kind: 'other', name: '', raw }
    else yield { kind: slash === '/' ? 'close' : raw.endsWith('/>') ? 'empty' : 'open', name, raw }
  }
}

/** Returns the tokens up to the end of the element that was opened, without that end. */
export function inner(name: string, tokens: Iterator<Token>): Token[] {
  const found: Token[] = []
  for (let depth = 1, next = tokens.next(); !next.done; next = tokens.next()) {
    const token = next.value
    if (token.name === name) depth += token.kind === 'open' ? 1 : token.kind === 'close' ? -1 : 0
    if (depth === 0) break
    found.push(token)
  }
  return found
}

/** Returns what each of these elements contains, including the nested ones of an outer one. */
export function contentsOf(name: string, tokens: Token[]): Token[][] {
  const found: Token[][] = []
  const left = tokens[Symbol.iterator]()
  for (const token of left) if (token.name === name && token.kind === 'open') found.push(inner(name, left))
  return found
}

/** Returns the tokens without these elements and what they contain. */
export function without(name: string, tokens: Token[]): Token[] {
  const kept: Token[] = []
  const left = tokens[Symbol.iterator]()
  for (const token of left) {
    if (token.name !== name) kept.push(token)
    else if (token.kind === 'open') inner(name, left)
  }
  return kept
}

/** Returns the first tag of an element with this name. */
export const tagOf = (name: string, tokens: Iterable<Token>): Token | undefined => {
  for (const token of tokens) if (token.name === name && token.kind !== 'close') return token
  return undefined
}

/** Returns the attribute of a tag as it is written, with its entities. */
export function attribute(token: Token | undefined, name: string): string | undefined {
  if (!token) return undefined
  const found = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(token.raw)
  return found ? (found[1] ?? found[2]) : undefined
}

export function integerAttribute(token: Token | undefined, name: string): number | undefined {
  const value = attribute(token, name)
  return value !== undefined && /^\s*-?\d{1,9}\s*$/.test(value) ? Number(value) : undefined
}

const entities: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

export const unescapeXml = (text: string): string =>
  text.replace(/&(?:#x([\da-f]{1,6})|#(\d{1,7})|(\w+));/gi, (whole, hex?: string, decimal?: string, named?: string) => {
    const code = hex === undefined ? Number(decimal ?? NaN) : Number.parseInt(hex, 16)
    if (named !== undefined) return entities[named] ?? whole
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })

export const escapeXml = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
