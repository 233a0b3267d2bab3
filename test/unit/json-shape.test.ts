/** Depth and names of a JSON text, compared with the result of JSON.parse. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { JsonShape, countNames, deepest } from '../../src/http/edge/json-shape.ts'

type Shape = Pick<JsonShape, 'depth' | 'names' | 'values'>

/** Of a text that arrives in parts of `size` bytes. */
function shapeOf(text: string, { size = Infinity, maxValues = Infinity } = {}): Shape {
  const shape = new JsonShape(maxValues)
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) shape.add(bytes.subarray(at, at + size))
  const { depth, names, values } = shape
  return { depth, names, values }
}

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
      const expected = { depth, names: countNames(value, depth), values: countValues(value) }
      for (const size of [Infinity, 1, 2, 7, 70]) assert.deepEqual(shapeOf(json, { size }), expected)
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

void test('order.validation: a long text may contain any escapes, and any part of it may arrive alone', () => {
  for (const inner of ['x', '\\\\', '\\"', '\\\\\\"', 'é', '\\u0022', '{,:'])
    for (const length of [1, 63, 64, 65, 200])
      for (const last of ['', '\\\\', '\\"'])
        for (const size of [Infinity, 1, 64, 65]) {
          const json = `{"a":"${inner.repeat(length)}${last}","b":["${inner.repeat(length)}"]}`
          JSON.parse(json)
          assert.deepEqual(shapeOf(json, { size }), { depth: 2, names: 2, values: 3 }, `${size}: ${json}`)
        }
})

void test('overload.bodies: nothing is measured after the first value or level beyond the limit', () => {
  assert.equal(shapeOf(`[${'0,'.repeat(1_000)}0]`, { maxValues: 10 }).values, 11)
  assert.equal(shapeOf('['.repeat(1_000)).depth, deepest + 1)
})

void test('order.validation: any text can be scanned', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom('"', '\\', '{', '}', '[', ':') })), (text) => void shapeOf(text)),
  )
})
