/**
 * The keywords of JSON Schema that check a value without looking into another schema. Each one returns the sentence of what is wrong, or
 * undefined. Numbers, texts, arrays and objects ignore the keywords of the other types. The sentences are short, whatever the schema holds.
 */
import { ucs2length } from '@cfworker/json-schema'
import { hasFormat } from './formats.ts'
import type { Operations } from './operations.ts'
import type { Pattern } from './linear-pattern.ts'

export type SchemaObject = Record<string, unknown>
export type CheckContext = {
  operations: Operations
  /** undefined for a text that is not a regular expression; such a pattern checks nothing. */
  patternOf(source: string): Pattern | undefined
  /** The texts of `canonical` for the values of an `enum`. */
  optionsOf(values: unknown[]): Set<string>
}
type Keyword = (value: unknown, argument: unknown, schema: SchemaObject, context: CheckContext) => string | undefined

// Of what a sentence repeats from a schema or a name.
const maxShown = 500
const shown = new WeakMap<object, string>()

/** A short text of a value. That of a list or an object is made once, because a check may fail for each item of an array. */
export function show(value: unknown): string {
  const known = typeof value === 'object' && value !== null ? shown.get(value) : undefined
  if (known !== undefined) return known
  const text = JSON.stringify(typeof value === 'string' ? value.slice(0, maxShown) : value)
  const short = text.length > maxShown ? `${text.slice(0, maxShown)}…` : text
  if (typeof value === 'object' && value !== null) shown.set(value, short)
  return short
}

export function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

export const isObject = (value: unknown): value is SchemaObject => typeOf(value) === 'object'

/** JSON with sorted names, equal for equal values. Throws OperationsSpent. */
export function canonical(value: unknown, operations: Operations): string {
  operations.spend(1)
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, operations)).join(',')}]`
  if (!isObject(value)) {
    const text = JSON.stringify(value)
    operations.spend(text.length)
    return text
  }
  const names = Object.keys(value).toSorted()
  return `{${names.map((name) => `${canonical(name, operations)}:${canonical(value[name], operations)}`).join(',')}}`
}

function hasType(value: unknown, type: unknown): boolean {
  return type === 'integer' ? Number.isInteger(value) : typeOf(value) === type
}

const ofNumbers =
  (check: (value: number, limit: number, schema: SchemaObject) => string | undefined): Keyword =>
  (value, limit, schema) =>
    typeof value === 'number' && typeof limit === 'number' ? check(value, limit, schema) : undefined

const ofLengths =
  (
    lengthOf: (value: unknown, context: CheckContext) => number | undefined,
    isWrong: (length: number, limit: number) => boolean,
    words: string,
  ): Keyword =>
  (value, limit, _schema, context) => {
    const length = lengthOf(value, context)
    return length !== undefined && isWrong(length, Number(limit)) ? words.replace('…', `(${length}, not ${Number(limit)})`) : undefined
  }

const isBelow = (length: number, limit: number): boolean => length < limit
const isAbove = (length: number, limit: number): boolean => length > limit
const items = (value: unknown): number | undefined => (Array.isArray(value) ? value.length : undefined)
const properties = (value: unknown): number | undefined => (isObject(value) ? Object.keys(value).length : undefined)
const characters = (value: unknown, { operations }: CheckContext): number | undefined => {
  if (typeof value !== 'string') return undefined
  operations.spend(value.length)
  return ucs2length(value)
}

export const keywords: Record<string, Keyword> = {
  type: (value, types, _schema, { operations }) => {
    const expected: unknown[] = Array.isArray(types) ? types : [types]
    operations.spend(2 * expected.length)
    return expected.some((type) => hasType(value, type))
      ? undefined
      : `Instance type "${typeOf(value)}" is invalid. Expected "${expected.join('", "')}".`
  },
  const: (value, expected, _schema, { operations, optionsOf }) =>
    optionsOf([expected]).has(canonical(value, operations)) ? undefined : `Instance does not match ${show(expected)}.`,
  enum: (value, options, _schema, { operations, optionsOf }) =>
    optionsOf(options as unknown[]).has(canonical(value, operations)) ? undefined : `Instance does not match any of ${show(options)}.`,

  // In draft 4, `exclusiveMinimum` and `exclusiveMaximum` are booleans that change the other two.
  minimum: ofNumbers((value, limit, { exclusiveMinimum }) =>
    value < limit || (exclusiveMinimum === true && value === limit) ? `${value} is less than ${limit}.` : undefined,
  ),
  maximum: ofNumbers((value, limit, { exclusiveMaximum }) =>
    value > limit || (exclusiveMaximum === true && value === limit) ? `${value} is greater than ${limit}.` : undefined,
  ),
  exclusiveMinimum: ofNumbers((value, limit) => (value <= limit ? `${value} is less than or equal to ${limit}.` : undefined)),
  exclusiveMaximum: ofNumbers((value, limit) => (value >= limit ? `${value} is greater than or equal to ${limit}.` : undefined)),
  multipleOf: ofNumbers((value, divisor) => (isMultiple(value, divisor) ? undefined : `${value} is not a multiple of ${divisor}.`)),

  minLength: ofLengths(characters, isBelow, 'String is too short …'),
  maxLength: ofLengths(characters, isAbove, 'String is too long …'),
  pattern: (value, source, _schema, { operations, patternOf }) =>
    typeof value !== 'string' || (patternOf(source as string)?.test(value, operations) ?? true)
      ? undefined
      : 'String does not match pattern.',
  format: (value, name, _schema, { operations }) =>
    typeof value !== 'string' || hasFormat(String(name), value, operations) ? undefined : `String does not match format ${show(name)}.`,

  minItems: ofLengths(items, isBelow, 'Array has too few items …'),
  maxItems: ofLengths(items, isAbove, 'Array has too many items …'),
  uniqueItems: (value, unique, _schema, { operations }) =>
    Array.isArray(value) && unique === true ? duplicate(value, operations) : undefined,

  minProperties: ofLengths(properties, isBelow, 'Object has too few properties …'),
  maxProperties: ofLengths(properties, isAbove, 'Object has too many properties …'),
  required: (value, names, _schema, { operations }) => (isObject(value) ? missing(value, names as string[], operations) : undefined),
  dependentRequired: (value, required, _schema, { operations }) => {
    if (!isObject(value)) return undefined
    operations.spend(Object.keys(required as object).length)
    const lists = Object.entries(required as Record<string, string[]>).filter(([name]) => Object.hasOwn(value, name))
    return lists.map(([, names]) => missing(value, names, operations)).find((problem) => problem !== undefined)
  },
}

function missing(value: SchemaObject, names: string[], operations: Operations): string | undefined {
  operations.spend(names.length)
  const lost = names.find((name) => !Object.hasOwn(value, name))
  return lost === undefined ? undefined : `Instance does not have required property ${show(lost)}.`
}

function duplicate(values: unknown[], operations: Operations): string | undefined {
  const first = new Map<string, number>()
  for (const [index, value] of values.entries()) {
    const text = canonical(value, operations)
    const known = first.get(text)
    if (known !== undefined) return `Duplicate items at indexes ${known} and ${index}.`
    first.set(text, index)
  }
  return undefined
}

/** Calculates in decimal: 0.3 is a multiple of 0.1, although its binary remainder is not zero. */
function isMultiple(value: number, divisor: number): boolean {
  if (!(divisor > 0) || !Number.isFinite(divisor)) return false
  const [[digits, exponent], [divisorDigits, divisorExponent]] = [decimal(value), decimal(divisor)]
  const shift = exponent - divisorExponent
  return shift >= 0 ? (digits * 10n ** BigInt(shift)) % divisorDigits === 0n : digits % (divisorDigits * 10n ** BigInt(-shift)) === 0n
}

function decimal(value: number): [bigint, number] {
  const [digits = '0', exponent = '0'] = Math.abs(value).toString().split('e')
  const [whole = '0', fraction = ''] = digits.split('.')
  return [BigInt(whole + fraction), Number(exponent) - fraction.length]
}
