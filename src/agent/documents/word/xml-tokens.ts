/** Reads XML as a sequence of tags and texts, without a tree: a document may have 64 MiB of it. Checks nothing. */

export type Token = { kind: 'open' | 'close' | 'empty' | 'other'; name: string; raw: string }

/** How a comment, a CDATA section and a processing instruction start and end. Tags inside them are text. */
export const quoted: Record<string, string> = { '<!--': '-->', '<![CDATA[': ']]>', '<?': '?>' }
const tagStart = /<(\/?)([^\s/>!?]+)/y
const tagStop = /["'>]/g

/**
 * Reads each character once: where a tag, a comment or a quote never ends, the rest of the text is one token. A regular expression for all of
 * it would read the rest again from every further start.
 */
export function* tokensOf(xml: string): Generator<Token> {
  for (let at = 0; at < xml.length;) {
    const [end, tag] = endOfToken(xml, at)
    const raw = xml.slice(at, end)
    at = end
    if (!tag) yield { kind: 'other', name: '', raw }
    else yield { kind: tag[1] === '/' ? 'close' : raw.endsWith('/>') ? 'empty' : 'open', name: tag[2]!, raw }
  }
}

function endOfToken(xml: string, at: number): [number, RegExpExecArray?] {
  const after = (found: number, length: number): number => (found === -1 ? xml.length : found + length)
  if (xml[at] !== '<') return [after(xml.indexOf('<', at), 0)]
  for (const [start, end] of Object.entries(quoted))
    if (xml.startsWith(start, at)) return [after(xml.indexOf(end, at + start.length), end.length)]
  tagStart.lastIndex = at
  const tag = tagStart.exec(xml)
  if (!tag) return [at + 1]
  const end = endOfTag(xml, tagStart.lastIndex)
  return end === -1 ? [xml.length] : [end, tag]
}

/** Returns -1 if the tag, or a quote in it, never ends. */
function endOfTag(xml: string, from: number): number {
  for (tagStop.lastIndex = from; ;) {
    const stop = tagStop.exec(xml)
    if (stop?.[0] === '>') return tagStop.lastIndex
    const closed = stop ? xml.indexOf(stop[0], tagStop.lastIndex) : -1
    if (closed === -1) return -1
    tagStop.lastIndex = closed + 1
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
