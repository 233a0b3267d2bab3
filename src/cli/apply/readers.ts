/**
 * Reads values out of a YAML file by readers that say what may stand there, with the place of each, so that what is wrong is told where it
 * stands. A reader answers undefined where it has told a problem. Knows no field of Turnkeep's.
 */
import { isAlias, isMap, isScalar, isSeq } from 'yaml'
import type { Document, LineCounter, Node } from 'yaml'
import { causeOf } from '../terminal/command-failed.ts'
import { visible } from '../terminal/table.ts'
import { nearestWord } from './problems.ts'
import type { Place, Problems } from './problems.ts'

/** One file, read. `folder` is what its relative paths are below. */
export type Source = { file: string; folder: string; document: Document.Parsed; lines: LineCounter; problems: Problems }

/** A node where it stands; `name` is how a problem calls it. */
export type Given = { node: Node | null; place: Place; name: string; source: Source; depth: number }
export type Reader<T> = (given: Given) => T | undefined

type Fields = Record<string, { read: Reader<unknown>; required: boolean }>
type Read<F extends Fields> = {
  [Name in keyof F]: F[Name] extends { read: Reader<infer T>; required: infer R } ? (R extends true ? T : T | undefined) : never
}
/** What stands in a map, with where it stands: the map itself, or one of its fields. */
export type Placed<T> = T & { place: Place; placeOf(field: string): Place; source: Source }

// Deeper is no declaration but an alias that holds itself.
const deepest = 40

export const required = <T>(read: Reader<T>) => ({ read, required: true as const })
export const optional = <T>(read: Reader<T>) => ({ read, required: false as const })

/** `of` names it in problems, as "an agent"; `refused`: fields that never stand here, and why. */
export function map<F extends Fields>(of: string, fields: F, refused: Record<string, string> = {}): Reader<Placed<Read<F>>> {
  return (given) => {
    const { node, place, source } = given
    const { problems } = source
    if (!isMap(node)) return wrong(given, `fields, as "${Object.keys(fields).find((name) => name !== 'id')}: …"`)
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
        problems.add(at, `${of} has no field ${visible(name)}: ${hint}`)
      }
    }
    for (const [name, field] of Object.entries(fields)) {
      if (!field.required || Object.hasOwn(places, name)) continue
      whole = false
      problems.add(place, `${of} needs ${name}`)
    }
    if (!whole) return undefined
    // Every field was read by its reader.
    return { ...(values as Read<F>), place, placeOf: (field) => places[field] ?? place, source }
  }
}

export function list<T>(read: Reader<T>, most = 10_000): Reader<T[]> {
  return (given) => {
    const { node, name, source } = given
    if (!isSeq(node)) return wrong(given, 'a list, whose lines begin with "- "')
    if (node.items.length > most) return source.problems.add(given.place, `${name} may have ${most} entries`)
    const items = node.items.map((item) =>
      read(resolve({ ...given, node: asNode(item), place: placeOf(source, item), name: `an entry of ${name}` })),
    )
    return allRead(items)
  }
}

/** By names that are anybody's. */
export function record<T>(read: Reader<T>): Reader<Record<string, T>> {
  return (given) => {
    if (!isMap(given.node)) return wrong(given, 'fields with names of your own')
    const entries = given.node.items.map(({ key, value }): [string, T] | undefined => {
      const name = isScalar(key) ? String(key.value) : '?'
      const one = read(resolve({ ...given, node: asNode(value), place: placeOf(given.source, key), name }))
      return one === undefined ? undefined : [name, one]
    })
    const whole = allRead(entries)
    return whole && Object.fromEntries(whole)
  }
}

/** Anything that JSON can say, and as it says it: `-0` is 0. */
export const anything: Reader<unknown> = ({ node, name, place, source }) => {
  try {
    return JSON.parse(JSON.stringify(node?.toJS(source.document) ?? null, finite))
  } catch (error) {
    const why = error instanceof TypeError ? 'it holds itself' : causeOf(error)
    return source.problems.add(place, `${name} must be JSON: ${why}`)
  }
}

function finite(_: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new RangeError(`${value} is no number of JSON`)
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

/** An amount as the API takes it: quoted or not, as it is written and not as a float would have it. */
export const usd: Reader<string> = (given) => {
  const { node } = given
  const written = isScalar(node) && (typeof node.value === 'number' ? node.source : node.value)
  return typeof written === 'string' && /^\d{1,10}(\.\d{1,8})?$/.test(written) ? written : wrong(given, 'an amount of USD, as 10.50')
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

/** What an alias stands for; a node that is too deep is told and taken for nothing. */
export function resolve(given: Given): Given {
  const { node, source, depth, place } = given
  if (depth > deepest) source.problems.add(place, 'this is nested too deep')
  if (depth > deepest) return { ...given, node: null }
  return { ...given, node: isAlias(node) ? (node.resolve(source.document) ?? null) : node, depth: depth + 1 }
}

/** Tells what must stand there, and what stands there instead. */
export function wrong({ node, name, place, source }: Given, must: string): undefined {
  const value = isScalar(node) ? node.value : undefined
  const written = isScalar(node) && typeof node.source === 'string' ? visible(node.source) : ''
  const is = isMap(node) ? 'has fields' : isSeq(node) ? 'is a list' : written === '' ? 'has no value' : `is ${written}`
  const quote =
    must === 'text' && value !== null && typeof value !== 'object' && written !== '' ? `; in quotes it is one: "${written}"` : ''
  source.problems.add(place, `${name} must be ${must}${must.endsWith('?') ? '' : `, and ${is}`}${quote}`)
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

const asNode = (value: unknown): Node | null => (value as Node | null | undefined) ?? null
