/**
 * Builds JSON Schema with the types of TypeBox but without loading TypeBox, whose 600 modules took a fifth of the startup time and 16 MB of
 * memory. These builders cover what the service uses. A test compares their output with TypeBox.
 */
import type { Type as TypeBox } from 'typebox'

type Schema = { [keyword: string]: unknown }
type Properties = Record<string, Schema>
type Names =
  | 'Array'
  | 'Boolean'
  | 'Enum'
  | 'Integer'
  | 'Literal'
  | 'Null'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'Partial'
  | 'Record'
  | 'String'
  | 'Union'
  | 'Unknown'
  | 'Unsafe'

/** Marks an optional property for `Object`. The mark is not enumerable, so it appears neither in JSON nor in a copy of the schema. */
const mayBeAbsent = '~optional'
const Optional = (schema: Schema): Schema => Object.defineProperty({ ...schema }, mayBeAbsent, { value: true })

function object(properties: Properties, options?: Schema): Schema {
  const required = Object.keys(properties).filter((name) => !Object.hasOwn(properties[name]!, mayBeAbsent))
  return { type: 'object', ...(required.length > 0 && { required }), properties, ...options }
}

// The pattern for property names if the key schema has none.
const anyName = '^.*$'

const builders = {
  Array: (items: Schema, options?: Schema) => ({ type: 'array', items, ...options }),
  Boolean: (options?: Schema) => ({ type: 'boolean', ...options }),
  Enum: (values: unknown[], options?: Schema) => ({ enum: values, ...options }),
  Integer: (options?: Schema) => ({ type: 'integer', ...options }),
  Literal: (value: unknown, options?: Schema) => ({ type: typeof value, const: value, ...options }),
  Null: (options?: Schema) => ({ type: 'null', ...options }),
  Number: (options?: Schema) => ({ type: 'number', ...options }),
  Object: object,
  Optional,
  Partial: ({ properties }: { properties: Properties }) =>
    object(Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, Optional(schema)]))),
  Record: (name: { pattern?: string }, value: Schema, options?: Schema) => ({
    type: 'object',
    patternProperties: { [name.pattern ?? anyName]: value },
    ...options,
  }),
  String: (options?: Schema) => ({ type: 'string', ...options }),
  Union: (anyOf: Schema[], options?: Schema) => ({ anyOf, ...options }),
  Unknown: (options?: Schema) => ({ ...options }),
  Unsafe: (schema: Schema) => ({ ...schema }),
} satisfies Record<Names, unknown>

/** Typed as TypeBox, so that `Static` derives the TypeScript type of a schema. */
export const Type = builders as unknown as Pick<typeof TypeBox, Names>
