/** Depth and names of a JSON text, compared with the result of JSON.parse. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { countNames, shapeOf } from '../../src/http/edge/json-shape.ts'

const depthOf = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0

const countValues = (value: unknown): number => {
  if (typeof value !== 'object' || value === null) return 0
  const inner = Object.values(value)
  return Math.max(1, inner.length) + inner.reduce((sum: number, one) => sum + countValues(one), 0)
}

void test('order.validation: depth, names and values are those of the parsed value, with any spacing and escapes', () => {
  const text = fc
    .tuple(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(undefined, 1, '\t'))
    .map(([value, space]) => JSON.stringify(value, null, space))
  fc.assert(
    fc.property(text, (json) => {
      const value: unknown = JSON.parse(json)
      const depth = depthOf(value)
      assert.deepEqual(shapeOf(json), { depth, names: countNames(value, depth), values: countValues(value) })
    }),
  )
})

void test('order.validation: duplicate names are counted in every object, in any spelling', () => {
  for (const [json, names, different] of [
    ['{"a":1,"a":2}', 2, 1],
    ['{"a":{"b":1,"c":[{"d":":"}]},"\\u0061":"\\":\\\\"}', 5, 1],
    ['{"a":[{"b":1,"b":2}]}', 3, 2],
    ['[{"a":{"b":{}}},{"a":{"b":{"__proto__":1,"__proto__":2}}}]', 6, 5],
    ['{"a":{"a":[1,"b:",null]},"b":{}}', 3, 3],
  ] as const) {
    const shape = shapeOf(json)
    assert.deepEqual([shape.names, countNames(JSON.parse(json), shape.depth)], [names, different], json)
  }
})

void test('order.validation: any text can be scanned', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom('"', '\\', '{', '}', '[', ':') })), (text) => void shapeOf(text)),
  )
})
