/**
 * The schemas of the wire as TypeBox would write them, typed by TypeBox's own types: plain JSON Schema. TypeBox itself is not loaded. It is 600
 * modules, which took a fifth of a start and 16 MB of the server, and what is used of it are these lines. A test holds them against TypeBox.
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

/** The mark of a property that may be absent: `Object` reads it; neither JSON nor a copy of the schema has it. */
const mayBeAbsent = '~optional'
const Optional = (schema: Schema): Schema => Object.defineProperty({ ...schema }, mayBeAbsent, { value: true })

function object(properties: Properties, options?: Schema): Schema {
  const required = Object.keys(properties).filter((name) => !Object.hasOwn(properties[name]!, mayBeAbsent))
  return { type: 'object', ...(required.length > 0 && { required }), properties, ...options }
}

// Whatever pattern a name has is that of the property's names.
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

/** The types are TypeBox's, which knows from its builders alone what a schema accepts. */
export const Type = builders as unknown as Pick<typeof TypeBox, Names>
