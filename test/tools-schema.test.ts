/**
 * Arguments against schemas of operators and MCP servers: the result is that of other engines, and the number of operations is limited by the
 * size of the arguments, whatever the schema.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Validator } from '@cfworker/json-schema'
import fc from 'fast-check'
import { createGuard } from '../src/agent/guard/guard.ts'
import { createArgumentsReader } from '../src/agent/tools/arguments.ts'
import { compileSchema, Operations } from '../src/agent/tools/schema/compiled-schema.ts'
import { linearPattern } from '../src/agent/tools/schema/linear-pattern.ts'
import { createTools, sealTools } from '../src/agent/tools/tools.ts'
import type { JsonSchema, Toolbox } from '../src/agent/tools/tools.ts'
import { createSealer, generateEncryptionKey } from '../src/config/secrets.ts'
import { createLog } from '../src/observability/log.ts'

const operations = (): Operations => new Operations(1e7)
const matches = (source: string, text: string): boolean => linearPattern(source).test(text, operations())

describe('patterns', () => {
  const characters = fc.constantFrom(
    'a',
    'b',
    '.',
    '[ab]',
    '[^a]',
    '\\w',
    '\\W',
    '\\s',
    '\\d',
    '\\u{1F600}',
    '\\p{L}',
    '\\P{Lu}',
    '[\\s\\S]',
    '\\.',
  )
  const positions = fc.constantFrom('^', '$', '\\b', '\\B')
  const { pattern } = fc.letrec<{ pattern: string; piece: string }>((tie) => ({
    pattern: fc.array(tie('piece'), { maxLength: 4 }).map((pieces) => pieces.join('')),
    piece: fc.oneof(
      { depthSize: 'small', maxDepth: 5 },
      { arbitrary: characters, weight: 6 },
      { arbitrary: positions, weight: 1 },
      { arbitrary: fc.tuple(tie('pattern'), tie('pattern')).map(([one, other]) => `(?:${one}|${other})`), weight: 2 },
      {
        arbitrary: fc
          .tuple(tie('pattern'), fc.constantFrom('*', '+', '?', '*?', '{2}', '{1,}', '{0,3}', '{1,2}?'))
          .map(([one, times]) => `(${one})${times}`),
        weight: 3,
      },
      {
        arbitrary: fc.tuple(fc.constantFrom('?=', '?!', '?<=', '?<!'), tie('pattern')).map(([kind, one]) => `(${kind}${one})`),
        weight: 1,
      },
    ),
  }))
  const text = fc
    .array(fc.constantFrom('a', 'b', ' ', '\n', '.', '0', 'É', '😀', '\u2028', '_'), { maxLength: 8 })
    .map((all) => all.join(''))

  void test('tools.arguments: match the same texts as the engine of Node, with every construct except backreferences', () => {
    fc.assert(
      fc.property(pattern, text, (source, given) => assert.equal(matches(source, given), new RegExp(source, 'u').test(given))),
      { numRuns: 5000 },
    )
  })

  void test('tools.arguments: patterns as they are written for real fields', () => {
    const cases: [source: string, fits: string[], others: string[]][] = [
      ['^[A-Z]{2}\\d{2}(?: ?[A-Z0-9]{4}){2,7} ?[A-Z0-9]{0,3}$', ['DE89 3704 0044 0532 0130 00'], ['DE89', 'de89 3704 0044']],
      ['^(?!.*\\.\\.)[\\w.+-]+@[\\w-]+(?:\\.[\\w-]+)+$', ['a.b@example.com'], ['a..b@example.com', '@example.com']],
      ['^\\d{4}-(?:0[1-9]|1[0-2])-(?:[012]\\d|3[01])$', ['2026-11-24'], ['2026-13-01', '2026-11-240']],
      ['^(?=.*\\d)(?=.*[a-z]).{8,64}$', ['abcdefg1'], ['abcdefgh', 'abc1', `1${'a'.repeat(64)}`]],
      ['\\p{Script=Greek}', ['αβγ'], ['abc']],
      ['(?<=€)\\d+(?!\\d)', ['€12'], ['12 €']],
      ['^(?:){4000000000}$', [''], ['a']],
      ['^[\\s\\S]{0,4000}$', ['x'.repeat(4000), '😀'.repeat(4000)], ['x'.repeat(4001)]],
    ]
    for (const [source, fits, others] of cases) {
      for (const fit of fits) assert.equal(matches(source, fit), true, `${source} ${fit}`)
      for (const other of others) assert.equal(matches(source, other), false, `${source} ${other}`)
    }
  })

  void test('tools.arguments: a pattern that has no automaton, or a large one, is refused with the reason', () => {
    for (const [source, words] of [
      ['(a)\\1', /refers back to a group/],
      ['(?<n>a)\\k<n>', /refers back to a group/],
      ['(?i:a)', /changes flags/],
      ['a{1,100000}', /more than 10000 states/],
      ['((a{99}){99}){99}', /more than 10000 states/],
      ['(?=a{11000})', /more than 10000 states/],
      ['a'.repeat(4097), /longer than 4096 characters/],
    ] as const)
      assert.throws(() => linearPattern(source), { name: 'Error', message: words }, source.slice(0, 40))
    assert.throws(() => linearPattern('('), /Unterminated group/)
  })
})

describe('schemas', () => {
  const names = fc.constantFrom('a', 'b', 'c')
  const { schema } = fc.letrec<{ schema: object | boolean }>((tie) => ({
    schema: fc.oneof(
      { depthSize: 'small', maxDepth: 4 },
      fc.constantFrom(true, false, {}),
      fc.record({ type: fc.constantFrom('string', 'integer', 'number', 'array', 'object', 'null', 'boolean') }),
      fc.constantFrom(
        { enum: [1, 'a', null, [1], { a: 1 }] },
        { const: { a: [1] } },
        { minimum: 1, exclusiveMaximum: 3 },
        { multipleOf: 0.5 },
        { minLength: 1, maxLength: 2 },
        { pattern: '^a|b$' },
        { format: 'date' },
        { uniqueItems: true, minItems: 1 },
        { required: ['a'] },
        { dependentRequired: { a: ['b'] } },
        { $ref: '#/$defs/d' },
      ),
      fc.record({ properties: fc.dictionary(names, tie('schema')), additionalProperties: tie('schema') }, { requiredKeys: [] }),
      fc.record({ patternProperties: fc.dictionary(fc.constantFrom('^a', 'b$'), tie('schema')), maxProperties: fc.nat(3) }),
      fc.record(
        { prefixItems: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }), items: tie('schema') },
        { requiredKeys: ['prefixItems'] },
      ),
      fc.record({ contains: tie('schema'), minContains: fc.integer({ min: 1, max: 2 }) }, { requiredKeys: ['contains'] }),
      fc.record({ allOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
      fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
      fc.record({ oneOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
      fc.record({ not: tie('schema'), propertyNames: tie('schema') }, { requiredKeys: [] }),
      // oxlint-disable-next-line unicorn/no-thenable
      fc.record({ if: tie('schema'), then: tie('schema'), else: tie('schema') }, { requiredKeys: ['if'] }),
      fc.record({ dependentSchemas: fc.dictionary(names, tie('schema')) }),
    ),
  }))
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', maxDepth: 3 },
      fc.constantFrom<unknown>(0, 1, 1.5, 2, 3, 'a', 'ab', 'cab', '2026-02-28', '', null, true),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(names, tie('value')),
    ),
  }))

  void test('tools.arguments: accept the same values as another validator', () => {
    fc.assert(
      fc.property(schema, schema, value, (one, definition, given) => {
        const whole = { allOf: [one], $defs: { d: { type: ['string', 'object'] }, e: definition } }
        const expected = new Validator(structuredClone(whole) as object, '2020-12').validate(given).valid
        assert.equal(compileSchema(whole).check(given, operations()).length === 0, expected)
      }),
      { numRuns: 5000 },
    )
  })

  void test('tools.arguments: the forms of earlier drafts and of 2019-09', () => {
    const valid = (schemaOf: JsonSchema, given: unknown): boolean => compileSchema(schemaOf).check(given, operations()).length === 0
    const draft4 = { $schema: 'http://json-schema.org/draft-04/schema#', minimum: 1, exclusiveMinimum: true }
    assert.deepEqual([valid(draft4, 1), valid(draft4, 2)], [false, true])
    const draft7 = { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'string' }], additionalItems: false }
    assert.deepEqual([valid(draft7, ['a']), valid(draft7, [1]), valid(draft7, ['a', 1])], [true, false, false])
    const alone = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      allOf: [{ $ref: '#/definitions/a', type: 'null' }],
      definitions: { a: {} },
    }
    assert.deepEqual([valid(alone, 1), valid({ ...alone, $schema: 'https://json-schema.org/draft/2020-12/schema' }, 1)], [true, false])
    const closed = {
      allOf: [{ properties: { a: {} } }],
      anyOf: [{ required: ['b'], properties: { b: {} } }, {}],
      unevaluatedProperties: false,
    }
    assert.deepEqual([valid(closed, { a: 1, b: 1 }), valid(closed, { a: 1, c: 1 })], [true, false])
    const branch = { if: { properties: { a: { const: 1 } }, required: ['a'] }, unevaluatedProperties: false }
    assert.deepEqual([valid(branch, { a: 1 }), valid(branch, { a: 2 })], [true, false])
    const list = { prefixItems: [{}], contains: { type: 'string' }, unevaluatedItems: false }
    assert.deepEqual([valid(list, [1, 'a']), valid(list, [1, 'a', 1])], [true, false])
    const tree = { properties: { next: { $ref: '#' }, value: { type: 'integer' } }, required: ['value'] }
    assert.deepEqual([valid(tree, { value: 1, next: { value: 2 } }), valid(tree, { value: 1, next: {} })], [true, false])
  })
})

/** Schemas whose check is long in other validators, with arguments of about 50 KB. */
const long = 50_000
const ofA = (a: unknown): JsonSchema => ({ type: 'object', properties: { a } })
const hostile: Record<string, [schema: JsonSchema, args: unknown, said: RegExp]> = {
  'nested repetition': [ofA({ pattern: '^(a+)+$' }), { a: `${'a'.repeat(long)}!` }, /does not match pattern/],
  'overlapping repetition': [ofA({ pattern: '(x+x+)+y' }), { a: 'x'.repeat(long) }, /does not match pattern/],
  'overlapping alternatives': [ofA({ pattern: '^(a|a|aa)*$' }), { a: `${'a'.repeat(long)}!` }, /does not match pattern/],
  'a repetition at every start': [ofA({ pattern: '\\s+$' }), { a: `${' '.repeat(long)}!` }, /does not match pattern/],
  'a repetition in a lookahead': [ofA({ pattern: '(?=(a+)+b)a' }), { a: 'a'.repeat(long) }, /does not match pattern/],
  'a pattern of names': [{ type: 'object', patternProperties: { '^(a|a)*$': false } }, { [`${'a'.repeat(long)}!`]: 1 }, /^read/],
  'a pattern of required names': [{ type: 'object', propertyNames: { pattern: '^(a+)+$' } }, { [`${'a'.repeat(long)}!`]: 1 }, /pattern/],
  'format url': [ofA({ format: 'url' }), { a: `http://${'a'.repeat(long)}!` }, /^read|does not match format/],
  'format uri-template': [ofA({ format: 'uri-template' }), { a: `{${'a.'.repeat(long / 2)}!` }, /does not match format/],
  'format email': [ofA({ format: 'email' }), { a: `${'a.'.repeat(long / 2)}!` }, /does not match format/],
  'format regex': [ofA({ format: 'regex' }), { a: '(a{1000}'.repeat(long / 8) }, /does not match format/],
  'unique numbers': [ofA({ uniqueItems: true }), { a: Array.from({ length: 9000 }, (_, n) => n) }, /^read/],
  'unique objects': [ofA({ uniqueItems: true }), { a: Array.from({ length: 4500 }, (_, n) => ({ a: n })) }, /^read/],
  'a list of options for every item': [
    ofA({ contains: { enum: Array.from({ length: 5000 }, (_, n) => `option ${n}`) } }),
    { a: Array.from({ length: 12_000 }, () => 1) },
    /items that match its "contains"/,
  ],
  'references that call each other': [
    { type: 'object', anyOf: [{ additionalProperties: { $ref: '#' } }, { additionalProperties: { $ref: '#' } }] },
    JSON.parse(`${'{"a":'.repeat(31)}1${'}'.repeat(31)}`),
    /too many operations/,
  ],
  'many patterns for many names': [
    { type: 'object', patternProperties: Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`a+b+${n}`, {}])) },
    Object.fromEntries(Array.from({ length: 4000 }, (_, n) => [`aaa${n}`, 1])),
    /too many operations/,
  ],
}

describe('hostile schemas', () => {
  const reader = createArgumentsReader()
  for (const [name, [schema, args, said]] of Object.entries(hostile))
    void test(`tools.arguments: ${name}: answered within a number of operations that is linear in the arguments`, () => {
      const text = JSON.stringify(args)
      const outcome = reader.read(text, schema)
      assert.match(outcome.kind === 'read' ? 'read' : outcome.text, said)
      assert.ok(outcome.operations <= 51_000 + 25 * text.length, `${outcome.operations} operations for ${text.length} characters`)
    })

  for (const type of ['http', 'mcp'] as const)
    void test(`tools.arguments: ${type} tools: sixteen calls with a stored backtracking pattern are answered one by one, and the loop goes on`, async () => {
      const { box, tool, close } = openBox(type, hostile['nested repetition']![0])
      const call = () =>
        box.call({
          name: tool,
          arguments: JSON.stringify({ a: `${'a'.repeat(long)}!` }),
          idempotencyKey: 'request:1:1',
          signal: AbortSignal.timeout(60_000),
        })
      let turns = 0
      const timer = setInterval(() => void turns++, 0)
      const results = await Promise.all(Array.from({ length: 16 }, call))
      clearInterval(timer)
      await close()
      for (const { text, isError } of results) assert.ok(isError && text.endsWith('at a: String does not match pattern.'), text)
      assert.ok(turns >= 8, `the event loop had ${turns} turns while sixteen calls were checked`)
    })
})

function openBox(type: 'http' | 'mcp', parameters: JsonSchema): { box: Toolbox; tool: string; close(): Promise<void> } {
  const sealer = createSealer([generateEncryptionKey()])
  const guard = createGuard({ allowPrivateHosts: [] })
  const unused = () => Promise.reject(new Error('not used'))
  const knowledge = { search: unused, index: unused, close: async () => undefined }
  const log = createLog('silent', { destination: { write: () => undefined } })
  const tools = createTools({ guard, sealer, knowledge, log, now: () => new Date(0) })
  const common = { name: 'shop', url: 'https://shop.example.com/api', headers: {} }
  const pinned = [{ name: 'find', description: 'Finds.', parameters, sideEffects: false }]
  const [stored] = sealTools(
    [
      type === 'mcp'
        ? { ...common, type, allowed: null, pinned }
        : { ...common, type, description: 'Finds.', parameters, method: 'GET', secrets: {}, timeoutSeconds: 10, sideEffects: false },
    ],
    'agt_1',
    sealer,
  )
  const limits = { maxTokens: 1500, topK: 6, embeddingModel: null, language: null }
  const box = tools.open({ agentId: 'agt_1', tools: [stored!], knowledge: limits })
  return {
    box,
    tool: type === 'mcp' ? 'shop__find' : 'shop',
    async close() {
      await tools.close()
      await guard.close()
    },
  }
}
