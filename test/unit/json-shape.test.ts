/** Depth and names of a JSON text, compared with the result of JSON.parse. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { shapeOf } from '../../src/http/edge/json-shape.ts'

const depthOf = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0

void test('order.validation: depth and names are those of the parsed value, with any spacing and escapes', () => {
  const text = fc
    .tuple(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(undefined, 1, '\t'))
    .map(([value, space]) => JSON.stringify(value, null, space))
  fc.assert(
    fc.property(text, (json) => {
      const value: unknown = JSON.parse(json)
      const names = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value).length : 0
      assert.deepEqual(shapeOf(json), { depth: depthOf(value), names })
    }),
  )
})

void test('order.validation: duplicate names are counted, in any spelling', () => {
  assert.equal(shapeOf('{"a":1,"a":2}').names, 2)
  assert.equal(shapeOf('{"a":{"b":1,"c":[{"d":":"}]},"\\u0061":"\\":\\\\"}').names, 2)
})

void test('order.validation: any text can be scanned', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom('"', '\\', '{', '}', '[', ':') })), (text) => void shapeOf(text)),
  )
})
