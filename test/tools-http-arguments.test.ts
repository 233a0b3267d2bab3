/**
 * Arguments as a model wrote them, against schemas as operators and MCP servers write them: checked, with clear errors, and always in
 * limited time.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { createArgumentsReader } from '../src/agent/tools/arguments.ts'
import type { JsonSchema } from '../src/agent/tools/tools.ts'
import { anyText } from './support/any-text.ts'

const reader = createArgumentsReader()
const read = (args: unknown, schema: JsonSchema) => reader.read(typeof args === 'string' ? args : JSON.stringify(args), schema)
const said = (args: unknown, schema: JsonSchema): string => {
  const outcome = read(args, schema)
  return outcome.kind === 'refused' ? outcome.text : `read ${JSON.stringify(outcome.args)}`
}

const order: JsonSchema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object',
  properties: {
    id: { type: 'integer', minimum: 1 },
    kind: { enum: ['new', 'used'] },
    lines: { type: 'array', maxItems: 3, items: { $ref: '#/definitions/line' } },
    day: { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\d$' },
    constructor: { type: 'string' },
  },
  definitions: { line: { type: 'object', properties: { count: { type: 'integer' } }, required: ['count'] } },
  required: ['id'],
  additionalProperties: false,
}

void test('tools: valid arguments are read unchanged; invalid ones are named', () => {
  assert.equal(said({ id: 1, lines: [{ count: 2 }], constructor: 'x' }, order), 'read {"id":1,"lines":[{"count":2}],"constructor":"x"}')
  assert.equal(said(' \n', { type: 'object' }), 'read {}')
  for (const [args, words] of [
    [{}, /required property "id"/],
    [{ id: 0 }, /at id: 0 is less than 1/],
    [{ id: '1' }, /at id: .*Expected "integer"/],
    [{ id: 1, kind: 'old' }, /at kind: .*\["new","used"\]/],
    [{ id: 1, lines: [{ count: 1 }, {}] }, /at lines\/1: .*"count"/],
    [{ id: 1, day: 'today' }, /at day: .*pattern/],
    [{ id: 1, more: 1 }, /"more"/],
  ] as const) {
    assert.match(said(args, order), words)
    assert.ok(said(args, order).length <= 1100)
  }
})

void test('tools: any text is parsed as arguments or gives an error sentence, never a throw', () => {
  const texts = fc.oneof(
    anyText(),
    fc.json(),
    fc.json().map((json) => json.slice(0, -1)),
    fc.constantFrom('{"__proto__":{"id":1}}', '{"id":1e999}', '{"id":1,"id":"x"}'),
  )
  fc.assert(
    fc.property(texts, (text) => {
      const outcome = reader.read(text, order)
      if (outcome.kind === 'refused') assert.match(outcome.text, /^The arguments /)
      else assert.ok(Number.isInteger(outcome.args['id']) && Object.getPrototypeOf(outcome.args) === Object.prototype)
    }),
    { numRuns: 500 },
  )
  assert.equal(Object.hasOwn(Object.prototype, 'id'), false)
})

void test('tools.arguments: a number keeps its digits, and one that is infinite is refused', () => {
  const any = { type: 'object' }
  for (const number of ['12345678901234567890', '-9007199254740993', '0.12345678901234567890'])
    assert.equal(said(`{"a":[${number}]}`, any), `read {"a":[${number}]}`)
  for (const number of ['1e999', '-1e999']) assert.match(said(`{"a":[${number}]}`, any), /too large\. Write it as a string/)
  assert.equal(said('{"a":[9007199254740991,1e300,0.1,-0]}', any), 'read {"a":[9007199254740991,1e+300,0.1,0]}')
})

void test('tools: 64 KiB and 32 levels are accepted and no more, and brackets within strings are not levels', () => {
  const deep = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
  assert.match(said(deep(32), { type: 'object' }), /^read/)
  assert.match(said(deep(33), { type: 'object' }), /nested more than 32 deep/)
  assert.match(said({ a: '[{"'.repeat(100) }, { type: 'object' }), /^read/)
  const long = (bytes: number): string => JSON.stringify({ a: 'x'.repeat(bytes - 8) })
  assert.match(said(long(65_536), { type: 'object' }), /^read/)
  assert.match(said(long(65_537), { type: 'object' }), /longer than 65536 bytes/)
})

void test('tools: a string that never ends is scanned once, whatever it contains', async () => {
  // a hundred of them: scanned again from each quotation mark they would take minutes
  const code = `import(${JSON.stringify(new URL('../src/agent/tools/arguments.ts', import.meta.url).href)}).then(({ createArgumentsReader }) => {
    const text = '"' + '\\\\"'.repeat(32_700)
    for (let n = 0; n < 100; n++) createArgumentsReader().read(text, { type: 'object' })
  })`
  const worker = new Worker(code, { eval: true })
  const [ended] = await once(worker, 'exit', { signal: AbortSignal.timeout(60_000) }).finally(() => worker.terminate())
  assert.equal(ended, 0)
  assert.match(said(`"${'\\"'.repeat(32_700)}`, { type: 'object' }), /not valid JSON/)
})

void test('tools: errors about arguments are well-formed text', () => {
  for (const name of ['\0', '\ud800', `${'😀'.repeat(600)}`, `x${'😀'.repeat(600)}`]) {
    const text = said(JSON.stringify({ id: 1, [name]: 1 }), order)
    assert.equal(text, text.replaceAll('\0', '').toWellFormed())
  }
})

void test('tools.arguments: a check whose alternatives multiply is ended after a number of operations, and the next one is made as usual', () => {
  assert.match(said({ a: { a: { a: {} } } }, exponential()), /could not be checked: the schema of the tool needs too many operations/)
  assert.match(said({ id: 1 }, order), /^read/)
})

/** 4^40 ways to fail. */
function exponential(): JsonSchema {
  const $defs: JsonSchema = {}
  for (let level = 0; level < 40; level++) {
    const next = { $ref: `#/$defs/l${level + 1}` }
    $defs[`l${level}`] = { anyOf: [next, next, next, next] }
  }
  return { type: 'object', allOf: [{ $ref: '#/$defs/l0' }], $defs: { ...$defs, l40: { type: 'string' } } }
}

void test('tools: a schema that refers to itself or to nothing, or has invalid patterns, fails no process', () => {
  assert.match(said({}, { type: 'object', $ref: '#' }), /could not be checked: the schema of the tool is not usable/)
  assert.match(said({}, { type: 'object', allOf: [{ $ref: '#/nowhere' }] }), /the schema of the tool is not usable/)
  assert.match(said({}, { type: 'object', allOf: [{ $ref: 'https://127.0.0.1/schema' }] }), /the schema of the tool is not usable/)
  const patterns: JsonSchema = {
    type: 'object',
    properties: { a: { type: 'string', pattern: '(' } },
    patternProperties: { '[': { type: 'string' } },
  }
  assert.match(said({ a: 'x' }, patterns), /^read/)
  assert.match(said({ a: 1 }, patterns), /at a: /)
  assert.deepEqual(patterns['properties'], { a: { type: 'string', pattern: '(' } }, 'the schema itself stays as it is')
})

void test('tools: frozen and shared schemas are checked like others, and nothing is written into them', () => {
  const shared: JsonSchema = Object.freeze({ type: 'object', properties: Object.freeze({ a: Object.freeze({ type: 'string' }) }) })
  assert.match(said({ a: 'x' }, shared), /^read/)
  assert.match(said({ a: 1 }, shared), /at a: /)
})
