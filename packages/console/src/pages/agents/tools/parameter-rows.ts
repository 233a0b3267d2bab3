/**
 * The parameters of a tool as rows of a form, and back. Whatever a row does not show stays in the schema: keywords of a parameter, and those
 * of the whole schema. Pure.
 */
export const simpleTypes = ['string', 'number', 'integer', 'boolean'] as const
export type SimpleType = (typeof simpleTypes)[number]
export type RowType = SimpleType | 'enum' | 'array'

export type ParameterRow = {
  /** Identifies the row while its name is edited. */
  key: number
  name: string
  type: RowType
  description: string
  required: boolean
  /** Of an enum. */
  values: string[]
  /** Of an array. */
  itemType: SimpleType
  /** As it was read. */
  original: Schema
}

type Schema = Record<string, unknown>
export type ReadRows = { rows: ParameterRow[] } | { reason: string }

const isObject = (value: unknown): value is Schema => typeof value === 'object' && value !== null && !Array.isArray(value)
const isSimple = (type: unknown): type is SimpleType => simpleTypes.some((one) => one === type)

export const newRow = (key: number): ParameterRow => ({
  key,
  name: '',
  type: 'string',
  description: '',
  required: true,
  values: [],
  itemType: 'string',
  original: {},
})

/** Returns why the form cannot show the schema, in a sentence. */
export function readRows(schema: Schema): ReadRows {
  const { type, properties = {}, required = [] } = schema
  if (type !== 'object') return { reason: 'The form shows schemas of the type object only.' }
  if (!isObject(properties)) return { reason: 'The properties of this schema are not an object.' }
  if (!Array.isArray(required) || !required.every((name) => typeof name === 'string' && Object.hasOwn(properties, name)))
    return { reason: 'This schema requires a parameter that it does not describe.' }
  const rows: ParameterRow[] = []
  for (const [name, original] of Object.entries(properties)) {
    const shape = shapeOf(original)
    if ('problem' in shape) return { reason: `The form cannot show the parameter ${name}: ${shape.problem}.` }
    rows.push({ ...newRow(rows.length), ...shape, name, required: required.includes(name) })
  }
  return { rows }
}

type Shape = Pick<ParameterRow, 'type' | 'description' | 'values' | 'itemType' | 'original'>

function shapeOf(original: unknown): Shape | { problem: string } {
  if (!isObject(original)) return { problem: 'its schema is not an object' }
  const { type, description = '', enum: among, items } = original
  if (typeof description !== 'string') return { problem: 'its description is not a text' }
  const shape: Shape = { type: 'string', description, values: [], itemType: 'string', original }
  if (among !== undefined) {
    if ((type !== undefined && type !== 'string') || !Array.isArray(among) || !among.every((value) => typeof value === 'string'))
      return { problem: 'its enum has values that are not text' }
    return { ...shape, type: 'enum', values: among }
  }
  if (isSimple(type)) return { ...shape, type }
  if (type === 'array') {
    if (!isObject(items) || !isSimple(items['type']) || items['enum'] !== undefined)
      return { problem: 'it is a list of something other than text, numbers, or booleans' }
    return { ...shape, type: 'array', itemType: items['type'] }
  }
  if (type === 'object') return { problem: 'it is an object' }
  return { problem: type === undefined ? 'it has no type' : 'it has several types' }
}

/** The schema with these rows as its parameters. Unchanged rows give the schema that they were read from. */
export function writeRows(schema: Schema, rows: readonly ParameterRow[]): Schema {
  const properties = Object.fromEntries(rows.map((row) => [row.name, writeRow(row)]))
  const wanted = rows.filter((row) => row.required).map(({ name }) => name)
  const before = Array.isArray(schema['required']) ? schema['required'].filter((name) => typeof name === 'string') : []
  // In the order in which they were, so that an unchanged schema stays the same text.
  const required = [...before.filter((name) => wanted.includes(name)), ...wanted.filter((name) => !before.includes(name))]
  return {
    ...schema,
    ...(rows.length > 0 || schema['properties'] !== undefined ? { properties } : {}),
    ...(required.length > 0 || schema['required'] !== undefined ? { required } : {}),
  }
}

function writeRow({ type, description, values, itemType, original }: ParameterRow): Schema {
  const written: Schema = { ...original }
  // An enum needs no type, and gets none if it had none.
  if (type !== 'enum' || written['type'] !== undefined || written['enum'] === undefined) written['type'] = type === 'enum' ? 'string' : type
  if (type === 'enum') written['enum'] = values
  else delete written['enum']
  if (type === 'array') written['items'] = { ...(isObject(written['items']) ? written['items'] : {}), type: itemType }
  else if (original['type'] === 'array') delete written['items']
  if (description !== '' || original['description'] !== undefined) written['description'] = description
  return written
}

/** Keywords of a parameter that the form keeps but does not show. */
export const keptKeywords = ({ original }: ParameterRow): string[] =>
  Object.keys(original).filter((keyword) => !['type', 'description', 'enum', 'items'].includes(keyword))

/** The problems of rows by key. */
export function problemsOfRows(rows: readonly ParameterRow[]): Map<number, { name?: string; values?: string }> {
  const problems = new Map<number, { name?: string; values?: string }>()
  for (const { key, name, type, values } of rows) {
    const isTwice = rows.some((other) => other.key !== key && other.name === name)
    const ofName = name.trim() === '' ? 'Enter a name.' : isTwice ? 'Another parameter has this name.' : undefined
    const ofValues = type === 'enum' && values.length === 0 ? 'Enter at least one value.' : undefined
    if (ofName !== undefined || ofValues !== undefined)
      problems.set(key, { ...(ofName === undefined ? {} : { name: ofName }), ...(ofValues === undefined ? {} : { values: ofValues }) })
  }
  return problems
}
