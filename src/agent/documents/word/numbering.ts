/**
 * Computes the numbers of lists and headings as Word shows them: "5.", "2.1", "§ 3", "iv)". A file has only the rules, in a list with levels
 * (`abstractNum`) and its uses (`num`), which may restart a level or start it elsewhere.
 */
import { numberText } from './number-text.ts'
import { attribute, contentsOf, integerAttribute, tagOf, tokensOf, unescapeXml, without } from './xml-tokens.ts'
import type { Token } from './xml-tokens.ts'

type Level = { start: number; format: string; text: string; isLegal: boolean; restart: number | undefined; style: string | undefined }
type List = { levels: Map<number, Level>; styleLink: string | undefined; numStyleLink: string | undefined }
type Use = { list: string; starts: Map<number, number>; levels: Map<number, Level> }
export type Numbered = { numId: string | undefined; level: number | undefined }
type Style = Numbered & { basedOn: string | undefined }

/** `level`: from 0. `label`: "5." or "-"; empty for a level that shows none. */
export type ListItem = { level: number; label: string }

// Word has nine levels.
const maxLevel = 8
const bullet = '-'

export class Numbering {
  readonly #lists = new Map<string, List>()
  readonly #uses = new Map<string, Use>()
  readonly #styles = new Map<string, Style>()
  readonly #counts = new Map<string, (number | undefined)[]>()
  readonly #started = new Set<string>()

  constructor(numbering: string, styles: string) {
    this.#readLists(numbering)
    this.#readStyles(styles)
  }

  /** Counts the paragraph with these properties. Undefined if it is in no list. Call in the order of the document. */
  next(styleId: string | undefined, own: Numbered): ListItem | undefined {
    const styled = this.#styleOf(styleId)
    const numId = own.numId ?? styled.numId
    // Number 0 takes a paragraph out of its list.
    const use = numId === undefined || numId === '0' ? undefined : this.#uses.get(numId)
    const listId = use && this.#listOf(use.list)
    const list = listId === undefined ? undefined : this.#lists.get(listId)
    if (!use || !list || listId === undefined) return undefined
    const ofStyle = styleId === undefined ? undefined : [...list.levels].find(([, { style }]) => style === styleId)?.[0]
    const level = Math.max(0, Math.min(maxLevel, own.level ?? ofStyle ?? styled.level ?? 0))
    const levelAt = (at: number): Level => use.levels.get(at) ?? list.levels.get(at) ?? plain
    const counts = this.#counts.get(listId) ?? []
    this.#counts.set(listId, counts)
    const start = use.starts.get(level)
    const isRestart = start !== undefined && !this.#started.has(`${numId} ${level}`)
    this.#started.add(`${numId} ${level}`)
    const before = counts[level]
    counts[level] = isRestart ? start : before === undefined ? (start ?? levelAt(level).start) : before + 1
    for (let above = 0; above < level; above++) counts[above] ??= use.starts.get(above) ?? levelAt(above).start
    for (let below = level + 1; below <= maxLevel; below++) {
      const { restart } = levelAt(below)
      if (restart === undefined || (restart > 0 && level < restart)) counts[below] = undefined
    }
    return { level, label: labelOf(level, levelAt, counts) }
  }

  #styleOf(styleId: string | undefined): Numbered {
    const found: Numbered = { numId: undefined, level: undefined }
    const seen = new Set<string>()
    for (let id = styleId; id !== undefined && !seen.has(id); id = this.#styles.get(id)?.basedOn) {
      seen.add(id)
      const style = this.#styles.get(id)
      found.numId ??= style?.numId
      found.level ??= style?.level
    }
    return found
  }

  /** A list may stand for the one of a style. */
  #listOf(id: string): string | undefined {
    const link = this.#lists.get(id)?.numStyleLink
    if (link === undefined) return id
    return [...this.#lists].find(([, { styleLink }]) => styleLink === link)?.[0] ?? id
  }

  #readLists(xml: string): void {
    const tokens = [...tokensOf(xml)]
    for (const { tag, content } of elements('w:abstractNum', tokens)) {
      const levels = new Map(elements('w:lvl', content).map((level) => [levelNumber(level.tag), readLevel(level.content)]))
      const [styleLink, numStyleLink] = ['w:styleLink', 'w:numStyleLink'].map((name) => attribute(tagOf(name, content), 'w:val'))
      this.#lists.set(attribute(tag, 'w:abstractNumId') ?? '', { levels, styleLink, numStyleLink })
    }
    for (const { tag, content } of elements('w:num', tokens)) {
      const use: Use = { list: attribute(tagOf('w:abstractNumId', content), 'w:val') ?? '', starts: new Map(), levels: new Map() }
      for (const { tag: overridden, content: override } of elements('w:lvlOverride', content)) {
        const start = integerAttribute(tagOf('w:startOverride', override), 'w:val')
        if (start !== undefined) use.starts.set(levelNumber(overridden), start)
        const [level] = contentsOf('w:lvl', override)
        if (level) use.levels.set(levelNumber(overridden), readLevel(level))
      }
      this.#uses.set(attribute(tag, 'w:numId') ?? '', use)
    }
  }

  #readStyles(xml: string): void {
    for (const { tag, content } of elements('w:style', [...tokensOf(xml)])) {
      if (attribute(tag, 'w:type') !== 'paragraph') continue
      const basedOn = attribute(tagOf('w:basedOn', content), 'w:val')
      this.#styles.set(attribute(tag, 'w:styleId') ?? '', { basedOn, ...readNumbered(content) })
    }
  }
}

/** Reads the number properties of a paragraph or a style. */
export function readNumbered(properties: Token[]): Numbered {
  const [own = []] = contentsOf('w:numPr', without('w:pPrChange', properties))
  return { numId: attribute(tagOf('w:numId', own), 'w:val'), level: integerAttribute(tagOf('w:ilvl', own), 'w:val') }
}

const plain: Level = { start: 1, format: 'decimal', text: '', isLegal: false, restart: undefined, style: undefined }

function readLevel(content: Token[]): Level {
  const value = (name: string): string | undefined => attribute(tagOf(name, content), 'w:val')
  const legal = tagOf('w:isLgl', content)
  return {
    start: integerAttribute(tagOf('w:start', content), 'w:val') ?? 0,
    format: value('w:numFmt') ?? 'decimal',
    text: unescapeXml(value('w:lvlText') ?? ''),
    isLegal: legal !== undefined && !/^(?:0|false|off)$/.test(attribute(legal, 'w:val') ?? ''),
    restart: integerAttribute(tagOf('w:lvlRestart', content), 'w:val'),
    style: value('w:pStyle'),
  }
}

function elements(name: string, tokens: Token[]): { tag: Token; content: Token[] }[] {
  const contents = contentsOf(name, tokens)
  let depth = 0
  const tags = tokens.filter((token) => {
    if (token.name !== name || token.kind === 'empty') return false
    depth += token.kind === 'open' ? 1 : -1
    return token.kind === 'open' && depth === 1
  })
  return tags.map((tag, index) => ({ tag, content: contents[index] ?? [] }))
}

const levelNumber = (tag: Token): number => integerAttribute(tag, 'w:ilvl') ?? 0

function labelOf(level: number, levelAt: (level: number) => Level, counts: (number | undefined)[]): string {
  const { format, text, isLegal } = levelAt(level)
  if (format === 'bullet') return bullet
  return text
    .replace(/%([1-9])/g, (_, digit: string) => {
      const at = Number(digit) - 1
      const own = levelAt(at)
      return numberText(counts[at] ?? own.start, isLegal && own.format !== 'none' ? 'decimal' : own.format)
    })
    .trim()
}
