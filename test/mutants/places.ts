/**
 * Finds the place of an edit in the source: anywhere below src/, whatever the file, the layout and the names. What must match is the order
 * of keywords, literals, SQL and punctuation; a name may have changed, the same one everywhere in the place. So neither a move, nor a
 * reformatting, nor a renaming touches a mutant.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Edit } from './mutant.ts'
import { tokensOf, tokensOfPiece } from './tokens.ts'
import type { Token, Tokens } from './tokens.ts'

type File = { path: string; text: string } & Tokens

/** A place that fits: `names` are the names of the edit as they are called there, `renamed` is how many of them differ. */
type Place = { file: File; start: number; end: number; names: Map<string, string>; renamed: number }
type Change = { start: number; end: number; text: string }

/** The content of the edited files after the edits, or why an edit has no place or more than one. */
export type Placed = { kind: 'placed'; files: Map<string, string> } | { kind: 'stale'; because: string }

// A mark is above its place, perhaps before the statement that has the place in it.
const maxLinesBelow = 12
// How many names of the next best place must differ: after one renaming, the right place is still the best one.
const clearMargin = 2
const word = /[A-Za-z_$][\w$]*/g

export class Places {
  readonly #files = new Map<string, File>()
  /** By text, where its tokens are. Every name is also under `anyName`. */
  readonly #index = new Map<string, { file: File; at: number }[]>()

  /** Reads src/ below `root`. */
  constructor(root: string) {
    for (const path of globSync('src/**/*.{ts,sql}', { cwd: root }).toSorted()) {
      const text = readFileSync(join(root, path), 'utf8')
      const file = { path, text, ...tokensOf(path, text) }
      this.#files.set(path, file)
      for (const [at, token] of file.tokens.entries()) {
        this.#note(token.text, file, at)
        if (token.isName) this.#note(anyName, file, at)
      }
    }
  }

  /** Each edit is found in the unchanged source. */
  place(edits: Edit[]): Placed {
    const changes = new Map<string, Change[]>()
    for (const edit of edits) {
      const found = this.#find(edit)
      if (typeof found === 'string') return { kind: 'stale', because: `${found}: ${firstLine(edit)}` }
      const { file, start, end, names } = found
      const text = edit.replace.replaceAll(word, (name) => names.get(name) ?? name)
      changes.set(file.path, [...(changes.get(file.path) ?? []), { start, end, text }])
    }
    const files = new Map<string, string>()
    for (const [path, ofFile] of changes) {
      const text = changed(this.#files.get(path)!.text, ofFile)
      if (text === undefined) return { kind: 'stale', because: `two of its edits overlap in ${path}` }
      files.set(path, text)
    }
    return { kind: 'placed', files }
  }

  /** Returns what to do about the edits that one renaming in the source could send to another place. */
  unclear(edits: Edit[]): string[] {
    return edits.flatMap((edit) => {
      const [best, ...others] = this.#candidates(edit)
      // An edit whose names have changed since was clear when it was written.
      if (best === undefined || best.renamed > 0) return []
      const similar = others.filter(({ renamed, start }) => renamed < clearMargin && (edit.at === undefined || start < best.start))
      if (similar.length === 0) return []
      return [
        `${firstLine(edit)}: ${[best, ...similar].slice(0, 3).map(placeName).join(' and ')} resemble each other; mark the right one, or write more of it`,
      ]
    })
  }

  /** The names after `mutant:` in the comments of the source. */
  marks(): string[] {
    return [...this.#files.values()].flatMap(({ marks }) => marks.map(({ name }) => name))
  }

  #find(edit: Edit): Place | string {
    const [best, next] = this.#candidates(edit)
    const where = edit.at === undefined ? '' : ` below "mutant: ${edit.at}"`
    if (best === undefined) return `no such code in src/${where}`
    // Below a mark, the nearest one counts.
    if (edit.at !== undefined || next === undefined || best.renamed < next.renamed) return best
    return `its code is in several places, among them ${placeName(best)} and ${placeName(next)}`
  }

  /** The places that fit, the best first. */
  #candidates({ find, at, within = 'src/' }: Edit): Place[] {
    const pieces = tokensOfPiece(find)
    // A comma at the end may not be in the source.
    const counts = pieces.map((one, index) => (index > 0 && one.text === ',' ? Infinity : this.#count(one)))
    const rarest = counts.indexOf(Math.min(...counts))
    const places = this.#startsOf(pieces[rarest]!).flatMap(({ file, at: index }) => {
      const place = file.path.startsWith(within) ? placeAt(file, index - rarest, pieces) : undefined
      return place && (at === undefined || isBelow(place, at)) ? [place] : []
    })
    return places.toSorted((a, b) => a.renamed - b.renamed || a.start - b.start)
  }

  #count({ text, isName }: Token): number {
    return (this.#index.get(text)?.length ?? 0) + (isName ? (this.#index.get(anyName)?.length ?? 0) : 0)
  }

  /** Words in strings and in SQL fit if they are equal; names always do. */
  #startsOf({ text, isName }: Token): { file: File; at: number }[] {
    const same = this.#index.get(text) ?? []
    if (!isName) return same
    return [...same.filter(({ file, at }) => !file.tokens[at]!.isName), ...(this.#index.get(anyName) ?? [])]
  }

  #note(text: string, file: File, at: number): void {
    const known = this.#index.get(text)
    if (known) known.push({ file, at })
    else this.#index.set(text, [{ file, at }])
  }
}

// A text that no token has.
const anyName = ' '

function placeAt(file: File, from: number, pieces: Token[]): Place | undefined {
  // The comma at the end of an edit is one that the formatter may leave out.
  const isWithoutComma = pieces.at(-1)!.text === ',' && file.tokens[from + pieces.length - 1]?.text !== ','
  const count = pieces.length - (isWithoutComma ? 1 : 0)
  if (from < 0 || count === 0 || from + count > file.tokens.length) return undefined
  const names = new Map<string, string>()
  for (let index = 0; index < count; index += 1) {
    const [token, one] = [file.tokens[from + index]!, pieces[index]!]
    if (!token.isName || !one.isName) {
      if (token.text !== one.text) return undefined
    } else if ((names.get(one.text) ?? token.text) !== token.text) return undefined
    else names.set(one.text, token.text)
  }
  if (new Set(names.values()).size < names.size) return undefined
  const renamed = [...names].filter(([before, now]) => before !== now).length
  const [first, last] = [file.tokens[from]!, file.tokens[from + count - 1]!]
  const end = isWithoutComma ? last.end : last.start + last.text.length
  return { file, start: first.start, end, names, renamed }
}

function isBelow({ file, start }: Place, mark: string): boolean {
  return file.marks.some(
    ({ name, end }) => name === mark && end <= start && file.text.slice(end, start).split('\n').length - 1 <= maxLinesBelow,
  )
}

/** Returns undefined if two changes overlap. */
function changed(text: string, changes: Change[]): string | undefined {
  let [result, at] = ['', 0]
  for (const change of changes.toSorted((a, b) => a.start - b.start)) {
    if (change.start < at) return undefined
    result += text.slice(at, change.start) + change.text
    at = change.end
  }
  return result + text.slice(at)
}

function placeName({ file, start }: Place): string {
  return `${file.path}:${file.text.slice(0, start).split('\n').length}`
}

const firstLine = ({ find }: Edit): string => find.trim().split('\n')[0]!
