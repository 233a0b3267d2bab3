/**
 * `knowledge.bounded`: checks how deeply HTML and XML are nested before anything builds a tree of them, because the work of a tree grows with its depth for each
 * of its elements. One pass over the tags, without a tree. HTML also gets the end tags that it may omit, as in a browser: the parser does not
 * add all of them, and a list without end tags would become as deep as it is long.
 */
import { Parser, Tokenizer } from 'htmlparser2'
import type { TokenizerCallbacks } from 'htmlparser2'
import { DocumentRefused } from './limits.ts'
import { quoted, tokensOf } from './word/xml-tokens.ts'

// Browsers nest no deeper either: from this depth on, they put elements beside each other.
export const maxDepth = 512
// How far up an open element is looked for. No page has this many unclosed elements in one item or cell.
const maxSteps = 64

const items = ['li', 'dd', 'dt']
const cells = ['td', 'th', 'caption']
const parts = ['thead', 'tbody', 'tfoot']
// The elements that an item cannot end, apart from `p`, `div` and elements within a line.
const containers =
  'article aside blockquote body button center details dl fieldset figure footer form header html main menu nav object ol pre section select table template tr ul'
const outside = [...containers.split(' '), ...cells, ...parts]
const rowEnds = ['table', 'template', 'html', 'body']

/** For each start tag: the open elements that it ends, and the elements that stop the search for one. */
const endings = new Map<string, { ends: Set<string>; stops: Set<string> }>([
  ['li', ending(['li'], [...outside, 'dd', 'dt'])],
  ...['dd', 'dt'].map((name) => [name, ending(['dd', 'dt'], [...outside, 'li'])] as const),
  ...['td', 'th'].map((name) => [name, ending(['td', 'th'], [...rowEnds, 'tr', ...parts])] as const),
  ['tr', ending(['tr'], [...rowEnds, ...parts])],
  ['thead', ending(parts, rowEnds)],
  ['tbody', ending(parts, rowEnds)],
  ['tfoot', ending(parts, rowEnds)],
  ['p', ending(['p'], [...outside, ...items, 'div', 'address', 'summary', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6'])],
  ['option', ending(['option'], ['select', 'datalist', 'optgroup'])],
  ['optgroup', ending(['optgroup'], ['select'])],
])

function ending(ends: string[], stops: string[]): { ends: Set<string>; stops: Set<string> } {
  return { ends: new Set(ends), stops: new Set(stops) }
}

const empty = new Set(
  'area base basefont br col command embed frame hr img input isindex keygen link meta param source track wbr'.split(' '),
)

/** Returns the page with its omitted end tags. Throws DocumentRefused if elements are nested too deeply. */
export function boundedHtml(html: string): string {
  const whole = withEndTags(html)
  let depth = 0
  const parser = new Parser(
    {
      onopentagname: () => {
        if (++depth > maxDepth) throw tooDeep()
      },
      onclosetag: () => void depth--,
    },
    { decodeEntities: false },
  )
  parser.end(whole)
  return whole
}

/** Throws DocumentRefused if elements are nested too deeply, or if a tag never ends, so that no one can say what is in it. */
export function refuseDeepXml(xml: string): void {
  let depth = 0
  for (const { kind, raw } of tokensOf(xml)) {
    if (kind === 'other' && isEndless(raw)) throw new DocumentRefused('This DOCX file is damaged: a tag of its XML never ends.')
    if (kind === 'close') depth--
    else if (kind === 'open' && ++depth > maxDepth) throw tooDeep()
  }
}

const isEndless = (raw: string): boolean =>
  /^<[^!?]/.test(raw) || Object.entries(quoted).some(([start, end]) => raw.startsWith(start) && !raw.endsWith(end))

const tooDeep = (): DocumentRefused =>
  new DocumentRefused(
    `This document is nested too deeply: more than ${maxDepth} elements are inside each other. Save it again with a program that writes simpler files, or send its text.`,
  )

class TooManyOpen extends Error {}

function withEndTags(html: string): string {
  const open: string[] = []
  const pieces: string[] = []
  let copied = 0
  let drawings = 0

  function endUpTo(at: number): void {
    for (const name of open.splice(at)) if (isDrawing(name)) drawings--
  }

  function onOpen(start: number, name: string): void {
    const rule = drawings === 0 ? endings.get(name) : undefined
    const top = rule ? open.length - 1 : -1
    for (let at = top; at >= 0 && at > top - maxSteps; at--) {
      const found = open[at]!
      if (rule!.ends.has(found)) {
        // The tag starts with the `<` before its name.
        pieces.push(html.slice(copied, start - 1), `</${found}>`)
        copied = start - 1
        endUpTo(at)
        break
      }
      if (rule!.stops.has(found)) break
    }
    if (empty.has(name)) return
    // What remains is as it was, and is refused if it is too deep.
    if (open.length === maxDepth) throw new TooManyOpen()
    open.push(name)
    if (isDrawing(name)) drawings++
  }

  const ignored = (): void => undefined
  const callbacks: TokenizerCallbacks = {
    onopentagname: (start, end) => onOpen(start, html.slice(start, end).toLowerCase()),
    onclosetag(start, end) {
      const at = open.lastIndexOf(html.slice(start, end).toLowerCase())
      if (at !== -1) endUpTo(at)
    },
    // Elsewhere the slash means nothing.
    onselfclosingtag: () => (drawings > 0 ? endUpTo(open.length - 1) : undefined),
    onopentagend: ignored,
    onattribname: ignored,
    onattribdata: ignored,
    onattribentity: ignored,
    onattribend: ignored,
    ontext: ignored,
    ontextentity: ignored,
    oncomment: ignored,
    oncdata: ignored,
    ondeclaration: ignored,
    onprocessinginstruction: ignored,
    onend: ignored,
  }
  const tokenizer = new Tokenizer({ decodeEntities: false }, callbacks)
  try {
    tokenizer.write(html)
    tokenizer.end()
  } catch (error) {
    if (!(error instanceof TooManyOpen)) throw error
  }
  return [...pieces, html.slice(copied)].join('')
}

const isDrawing = (name: string): boolean => name === 'svg' || name === 'math'
