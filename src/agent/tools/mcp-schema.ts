/**
 * Makes the schema of an MCP tool usable for the check of arguments and for every model provider: drops what is not JSON Schema, such as a
 * keyword with null or with a value of the wrong type. The rest is unchanged. The same schema always becomes the same, and one that is
 * returned from here does not change again.
 */
import { isObject } from '../models/transport/fields.ts'
import type { Fields } from '../models/transport/fields.ts'
import type { JsonSchema } from './tool-config.ts'

type Reader = (value: unknown, depth: number) => unknown

// The schema may be nested this deeply; below that, it is left as it is, and refused as too deep.
const deepest = 64

const isText = (value: unknown): boolean => typeof value === 'string'
const isNumber = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(value)
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0
const isBoolean = (value: unknown): boolean => typeof value === 'boolean'

/** Keeps the value if it fits. A reader returns undefined for a keyword that is dropped. */
const only =
  (fits: (value: unknown) => boolean): Reader =>
  (value) =>
    fits(value) ? value : undefined

const schema: Reader = (value, depth) => (isBoolean(value) ? value : isObject(value) ? cleaned(value, depth + 1) : undefined)
/** A place where a schema has to be: what is not one allows everything. */
const schemaOrAny: Reader = (value, depth) => schema(value, depth) ?? {}
const schemas: Reader = (value, depth) =>
  Array.isArray(value) && value.length > 0 ? value.map((one) => schemaOrAny(one, depth + 1)) : undefined
const schemasByName: Reader = (value, depth) => (isObject(value) ? mapped(value, (one) => schemaOrAny(one, depth + 1)) : undefined)
const texts: Reader = (value) => (Array.isArray(value) ? value.filter((one) => isText(one)) : undefined)

const typeNames: unknown[] = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']
const types: Reader = (value) => {
  if (!Array.isArray(value)) return typeNames.includes(value) ? value : undefined
  // A type that JSON Schema does not have could be any.
  return value.length > 0 && value.every((one) => typeNames.includes(one)) ? value : undefined
}

const readers: Record<string, Reader> = {
  type: types,
  // Draft 3 has a boolean here.
  required: texts,
  enum: only((value) => Array.isArray(value) && value.length > 0),
  properties: schemasByName,
  patternProperties: schemasByName,
  $defs: schemasByName,
  definitions: schemasByName,
  dependentSchemas: schemasByName,
  dependentRequired: (value) => (isObject(value) ? mapped(value, (one) => texts(one, 0)) : undefined),
  dependencies: (value, depth) =>
    isObject(value) ? mapped(value, (one) => (Array.isArray(one) ? texts(one, 0) : schemaOrAny(one, depth + 1))) : undefined,
  items: (value, depth) => (Array.isArray(value) ? value.map((one) => schemaOrAny(one, depth + 1)) : schema(value, depth)),
  ...eachOf(['prefixItems', 'allOf', 'anyOf', 'oneOf'], schemas),
  ...eachOf(['not', 'if', 'then', 'else', 'contains', 'propertyNames', 'contentSchema'], schema),
  ...eachOf(['additionalProperties', 'additionalItems', 'unevaluatedProperties', 'unevaluatedItems'], schema),
  ...eachOf(['minimum', 'maximum'], only(isNumber)),
  // A boolean in draft 4.
  ...eachOf(
    ['exclusiveMinimum', 'exclusiveMaximum'],
    only((value) => isNumber(value) || isBoolean(value)),
  ),
  multipleOf: only((value) => isNumber(value) && Number(value) > 0),
  ...eachOf(
    ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties', 'minContains', 'maxContains'],
    only(isCount),
  ),
  uniqueItems: only(isBoolean),
  ...eachOf(
    ['pattern', 'format', 'title', 'description', '$ref', '$recursiveRef', '$anchor', '$id', 'id', '$schema', '$comment'],
    only(isText),
  ),
}
/** Keywords in which null is a value. */
const values = new Set(['const', 'default', 'example', 'examples'])

/**
 * Returns the schema, of type `object` and with `properties`, as providers require it. A tool without a schema, or with one that allows
 * everything, takes any arguments. Undefined for anything else that is not an object.
 */
export function usableSchema(given: unknown): JsonSchema | undefined {
  if (given === undefined || given === null || given === true) return { type: 'object', properties: {} }
  if (!isObject(given)) return undefined
  const read = cleaned(given, 0)
  const { type = 'object', properties = {} } = read
  return { ...read, type: Array.isArray(type) && type.includes('object') ? 'object' : type, properties }
}

function cleaned(given: Fields, depth: number): Fields {
  if (depth > deepest) return given
  const entries = Object.entries(given).flatMap(([name, value]) => {
    const read = Object.hasOwn(readers, name) ? readers[name]!(value, depth) : value
    return read === undefined || (read === null && !values.has(name)) ? [] : [[name, read] as const]
  })
  return Object.fromEntries(entries)
}

function mapped(object: Fields, read: (value: unknown) => unknown): Fields {
  return Object.fromEntries(
    Object.entries(object)
      .map(([name, value]) => [name, read(value)])
      .filter(([, value]) => value !== undefined),
  )
}

function eachOf(names: string[], reader: Reader): Record<string, Reader> {
  return Object.fromEntries(names.map((name) => [name, reader]))
}
