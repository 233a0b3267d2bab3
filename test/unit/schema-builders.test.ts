/** The wire schemas are byte for byte what TypeBox would have written: src/http/edge/schema.ts replaces it at run time. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type as TypeBox } from 'typebox'
import { Type } from '../../src/http/edge/schema.ts'

/** The same schemas by either builder; `Type` has TypeBox's own types. */
const written = (Builder: typeof Type): Record<string, object> => {
  const fields = {
    id: Builder.String({ minLength: 1, description: 'x' }),
    note: Builder.Optional(Builder.String()),
    count: Builder.Optional(Builder.Integer({ minimum: 0 })),
    $odd: Builder.Null(),
  }
  const some = Builder.Object(fields, { additionalProperties: false, description: 'x' })
  return {
    Array: Builder.Array(some, { maxItems: 3 }),
    Boolean: Builder.Boolean({ default: false }),
    Enum: Builder.Enum(['a', 'b'], { description: 'x' }),
    Integer: Builder.Integer(),
    Literal: Builder.Object({ text: Builder.Literal('a'), number: Builder.Literal(1), flag: Builder.Literal(true, { description: 'x' }) }),
    Null: Builder.Null({ description: 'x' }),
    Number: Builder.Number({ maximum: 2 }),
    Object: some,
    'Object without one that is required': Builder.Object({ note: fields.note }),
    'Object without properties': Builder.Object({}),
    'Object of spread fields': Builder.Object({ ...fields, more: Builder.String() }),
    // A copy has lost the mark.
    'Object with a spread schema': Builder.Object({ note: { ...fields.note, title: 'x' } }),
    Optional: Builder.Optional(Builder.Union([Builder.String(), Builder.Null()])),
    Partial: Builder.Partial(Builder.Object(fields)),
    'properties of a Partial': Builder.Object({ ...Builder.Partial(Builder.Object(fields)).properties, sure: Builder.String() }),
    Record: Builder.Record(Builder.String(), Builder.Unknown(), { description: 'x' }),
    'Record of a pattern': Builder.Record(Builder.String({ pattern: '^[a-z]+$' }), Builder.String(), { maxProperties: 2 }),
    String: Builder.String({ format: 'uuid', title: 'x' }),
    Union: Builder.Union([some, Builder.Null()], { discriminator: { propertyName: 'type' } }),
    Unknown: Builder.Unknown({ description: 'x' }),
    Unsafe: Builder.Unsafe({ $ref: 'Some#' }),
    'Unsafe of a spread schema': Builder.Unsafe({ ...Builder.String(), description: 'x' }),
  }
}

void test('schema builders: each writes what TypeBox writes', () => {
  const [ours, theirs] = [written(Type), written(TypeBox)]
  for (const [name, schema] of Object.entries(theirs)) assert.equal(JSON.stringify(ours[name]), JSON.stringify(schema), name)
  for (const name of Object.keys(Type)) assert.ok(name in theirs, `${name} is compared`)
})

void test('schema builders: a schema that was made optional is unchanged where it is required', () => {
  const shared = Type.String()
  assert.deepEqual(Type.Object({ a: Type.Optional(shared), b: shared }).required, ['b'])
})
