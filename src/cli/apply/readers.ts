/**
 * Reads and validates values of a YAML file with composable readers, and reports problems with line and column. A reader returns undefined
 * if it has reported a problem. The fields of a declaration are in shapes.ts.
 */
import { isMap, isScalar, isSeq } from 'yaml'
import type { Document, LineCounter, Node } from 'yaml'
import { causeOf } from '../terminal/command-failed.ts'
import { shortened, escapeForTerminal } from '../terminal/table.ts'
import { nearestWord } from '../../config/nearest-word.ts'
import { Aliases, TooMuch } from './aliases.ts'
import type { Place, Problems } from './problems.ts'

/** One parsed file. Relative paths in it are relative to `folder`. */
export type Source = {
  file: string
  folder: string
  document: Document.Parsed
  lines: LineCounter
  problems: Problems
  aliases: Aliases
}

export const sourceOf = (given: Omit<Source, 'aliases'>): Source => ({ ...given, aliases: new Aliases(given.document) })

/** A node with its position; `name` is used in problems. */
export type Given = { node: Node | null; place: Place; name: string; source: Source; depth: number }
export type Reader<T> = (given: Given) => T | undefined

type Fields = Record<string, { read: Reader<unknown>; required: boolean }>
type Read<F extends Fields> = {
  [Name in keyof F]: F[Name] extends { read: Reader<infer T>; required: infer R } ? (R extends true ? T : T | undefined) : never
}
/** The values of a map, with the positions of the map and of its fields. */
export type Placed<T> = T & { place: Place; placeOf(field: string): Place; source: Source }

// No declaration is nested deeper, except through an alias that refers to itself.
const maxDepth = 40
// A JSON schema may be nested deeper. This many levels fit on the stack.
const maxJsonDepth = 500
const maxAliasesInJson = 100
// Of a value that is shown in a problem.
const maxShown = 80

export const required = <T>(read: Reader<T>) => ({ read, required: true as const })
export const optional = <T>(read: Reader<T>) => ({ read, required: false as const })

/**
 * @param of how problems call the map, such as "an agent"
 * @param refused known fields that are not allowed here, with the reason
 */
export function map<F extends Fields>(of: string, fields: F, refused: Record<string, string> = {}): Reader<Placed<Read<F>>> {
  return (given) => {
    const { node, place, source } = given
    const { problems } = source
    if (!isMap(node)) return wrong(given, `a map, such as "${Object.keys(fields).find((name) => name !== 'id')}: …"`)
    const values: Record<string, unknown> = {}
    const places: Record<string, Place> = {}
    let whole = true
    for (const { key, value } of node.items) {
      const at = placeOf(source, key)
      const name = isScalar(key) ? String(key.value) : '?'
      places[name] = at
      const field = Object.hasOwn(fields, name) ? fields[name] : undefined
      if (field) {
        values[name] = field.read(resolve({ ...given, node: asNode(value), place: at, name }))
        whole &&= values[name] !== undefined
      } else if (Object.hasOwn(refused, name)) {
        whole = false
        problems.add(at, `${name} ${refused[name]}`)
      } else {
        whole = false
        const meant = nearestWord(name, Object.keys(fields))
        const hint = meant === undefined ? `its fields are ${Object.keys(fields).join(', ')}` : `did you mean ${meant}?`
        problems.add(at, `${of} has no field ${shownText(name)}: ${hint}`)
      }
    }
    for (const [name, field] of Object.entries(fields)) {
      if (!field.required || Object.hasOwn(places, name)) continue
      whole = false
      problems.add(place, `${of} requires ${name}`)
    }
    if (!whole) return undefined
    // Every field was validated by its reader.
    return { ...(values as Read<F>), place, placeOf: (field) => places[field] ?? place, source }
  }
}

export function list<T>(read: Reader<T>, max = 10_000): Reader<T[]> {
  return (given) => {
    const { node, name, source } = given
    if (!isSeq(node)) return wrong(given, 'a list, with lines that start with "- "')
    if (node.items.length > max) return source.problems.add(given.place, `${name} can have at most ${max} entries`)
    const items = node.items.map((item) =>
      read(resolve({ ...given, node: asNode(item), place: placeOf(source, item), name: `an item of ${name}` })),
    )
    return allRead(items)
  }
}

/** Reads a map with arbitrary names. */
export function record<T>(read: Reader<T>): Reader<Record<string, T>> {
  return (given) => {
    if (!isMap(given.node)) return wrong(given, 'a map of names and values')
    const entries = given.node.items.map(({ key, value }): [string, T] | undefined => {
      const name = isScalar(key) ? String(key.value) : '?'
      const one = read(resolve({ ...given, node: asNode(value), place: placeOf(given.source, key), name }))
      return one === undefined ? undefined : [name, one]
    })
    const whole = allRead(entries)
    return whole && Object.fromEntries(whole)
  }
}

/** Reads any JSON value, as JSON writes it: `-0` becomes 0. */
export const anything: Reader<unknown> = ({ node, name, place, source }) => {
  const before = source.aliases.uses
  const open = new Set<Node>()
  const read = (given: Node | null): unknown => {
    const found = source.aliases.resolve(given)
    if (source.aliases.uses - before > maxAliasesInJson) throw new RangeError(`Excessive alias count: more than ${maxAliasesInJson}`)
    if (isScalar(found)) return found.value
    if (!isMap(found) && !isSeq(found)) return null
    if (open.has(found)) throw new RangeError('it refers to itself')
    if (open.size > maxJsonDepth) throw new RangeError('it is nested too deeply')
    open.add(found)
    const value = isSeq(found)
      ? found.items.map((item) => read(asNode(item)))
      : Object.fromEntries(found.items.map((pair) => [read(asNode(pair.key)) ?? '', read(asNode(pair.value))]))
    open.delete(found)
    return value
  }
  try {
    return JSON.parse(JSON.stringify(read(node), finite))
  } catch (error) {
    if (error instanceof TooMuch) throw error
    return source.problems.add(place, `${name} must be JSON: ${causeOf(error)}`)
  }
}

function finite(_: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new RangeError(`${value} is not a JSON number`)
  return value
}

export function text({ min = 0, max, pattern, as }: { min?: number; max: number; pattern?: RegExp; as?: string }): Reader<string> {
  return (given) => {
    const { node, name, place, source } = given
    if (!isScalar(node) || typeof node.value !== 'string') return wrong(given, 'text')
    const { value } = node
    const length = [...value].length
    if (length < min || length > max) return source.problems.add(place, `${name} must have ${min} to ${max} characters`)
    // `text.well-formed`
    if (value.includes('\0') || !value.isWellFormed())
      return source.problems.add(place, `${name} must be well-formed text without the character U+0000`)
    return pattern && !pattern.test(value) ? source.problems.add(place, `${name} must be ${as}`) : value
  }
}

export function number({ min, max, whole }: { min: number; max: number; whole: boolean }): Reader<number> {
  return (given) => {
    const value = isScalar(given.node) ? given.node.value : undefined
    const fits = typeof value === 'number' && value >= min && value <= max && (!whole || Number.isInteger(value))
    return fits ? value : wrong(given, `a ${whole ? 'whole ' : ''}number from ${min} to ${max}`)
  }
}

export const boolean: Reader<boolean> = (given) => {
  const value = isScalar(given.node) ? given.node.value : undefined
  return typeof value === 'boolean' ? value : wrong(given, 'true or false')
}

/** Reads an amount as it is written, quoted or not, so that it is never rounded to a float. */
export const usd: Reader<string> = (given) => {
  const { node } = given
  const written = isScalar(node) && (typeof node.value === 'number' ? node.source : node.value)
  return typeof written === 'string' && /^\d{1,10}(\.\d{1,8})?$/.test(written) ? written : wrong(given, 'an amount in USD, such as 10.50')
}

export function oneOf<Word extends string>(words: readonly Word[]): Reader<Word> {
  return (given) => {
    const value = isScalar(given.node) ? given.node.value : undefined
    const found = words.find((word) => word === value)
    if (found !== undefined) return found
    const meant = typeof value === 'string' ? nearestWord(value, [...words]) : undefined
    return wrong(given, meant === undefined ? `one of ${words.join(', ')}` : `one of ${words.join(', ')}: did you mean ${meant}?`)
  }
}

export function orNull<T>(read: Reader<T>): Reader<T | null> {
  return (given) => (isScalar(given.node) && given.node.value === null && given.node.source !== '' ? null : read(given))
}

/** Resolves an alias. A node that is nested too deeply is reported and treated as null. Throws TooMuch. */
export function resolve(given: Given): Given {
  const { node, source, depth, place } = given
  if (depth > maxDepth) source.problems.add(place, 'this is nested too deeply')
  if (depth > maxDepth) return { ...given, node: null }
  return { ...given, node: source.aliases.resolve(node), depth: depth + 1 }
}

/** Reports what a value must be and what it is instead. */
export function wrong({ node, name, place, source }: Given, must: string): undefined {
  const value = isScalar(node) ? node.value : undefined
  const written = isScalar(node) && typeof node.source === 'string' ? shownText(node.source) : ''
  const is = isMap(node) ? 'is a map' : isSeq(node) ? 'is a list' : written === '' ? 'has no value' : `is ${written}`
  const quote = must === 'text' && value !== null && typeof value !== 'object' && written !== '' ? `; put it in quotes: "${written}"` : ''
  source.problems.add(place, `${name} must be ${must}${must.endsWith('?') ? '' : `, but ${is}`}${quote}`)
}

function placeOf({ file, document, lines }: Source, node: unknown): Place {
  const range = (node as Node | null)?.range ?? document.range
  const { line, col } = lines.linePos(range[0])
  return { file, line, column: col }
}

function allRead<T>(items: (T | undefined)[]): T[] | undefined {
  const read = items.filter((item) => item !== undefined)
  return read.length === items.length ? read : undefined
}

const shownText = (written: string): string => escapeForTerminal(shortened(written, maxShown))

const asNode = (value: unknown): Node | null => (value as Node | null | undefined) ?? null
