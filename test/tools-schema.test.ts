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
import { compileSchema, Operations, schemaProblem } from '../src/agent/tools/schema/compiled-schema.ts'
import { linearPattern } from '../src/agent/tools/schema/linear-pattern.ts'
import { createTools, sealTools } from '../src/agent/tools/tools.ts'
import type { JsonSchema, Toolbox } from '../src/agent/tools/tools.ts'
import { createSealer, generateEncryptionKey } from '../src/config/secrets.ts'
import { createLog } from '../src/observability/log.ts'

const operations = (): Operations => new Operations(1e7)
const matches = (source: string, text: string): boolean => linearPattern(source).test(text, operations())
/** By code point, as the standard says: Node also finds `\B` inside of a surrogate pair. */
function nodeMatches(source: string, text: string): boolean {
  const pattern = new RegExp(source, 'uy')
  for (let start = 0; start <= text.length; start += text.codePointAt(start)! > 0xffff ? 2 : 1) {
    pattern.lastIndex = start
    if (pattern.test(text)) return true
  }
  return false
}

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
      fc.property(pattern, text, (source, given) => assert.equal(matches(source, given), nodeMatches(source, given))),
      { numRuns: 5000, examples: [['\\B', 'a😀a']] },
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

/** Schemas with references: from where, to what, and the value that the target accepts. Another validator follows them the same way. */
const string = { type: 'string' }
const references: Record<string, JsonSchema> = {
  'the whole schema': { properties: { a: { $ref: '#' } }, additionalProperties: string },
  'a path': { additionalProperties: { $ref: '#/$defs/one' }, $defs: { one: string } },
  'a path with escapes': { additionalProperties: { $ref: '#/$defs/a~1b%25~0c' }, $defs: { 'a/b%~c': string } },
  'a path into a list': { additionalProperties: { $ref: '#/allOf/1' }, allOf: [true, string], type: 'object' },
  'a path to a boolean': { additionalProperties: { $ref: '#/$defs/no' }, $defs: { no: false } },
  'a path through a reference in an unknown keyword': { additionalProperties: { $ref: '#/more/one' }, more: { one: string } },
  'a name': { additionalProperties: { $ref: '#one' }, $defs: { one: { ...string, $anchor: 'one' } } },
  'a name of draft 6': { additionalProperties: { $ref: '#one' }, $defs: { one: { ...string, $id: '#one' } } },
  'the URI of the whole schema': { $id: 'https://a.example/s', additionalProperties: { $ref: 's#/$defs/one' }, $defs: { one: string } },
  'a schema with a URI': { additionalProperties: { $ref: 'one' }, $defs: { x: { ...string, $id: 'one' } } },
  'a schema with an id of draft 4': {
    additionalProperties: { $ref: 'https://a.example/one' },
    $defs: { x: { ...string, id: 'https://a.example/one' } },
  },
  'a schema relative to another': {
    additionalProperties: { $ref: 'https://a.example/f/two' },
    $defs: { x: { $id: 'https://a.example/f/one', $defs: { y: { ...string, $id: 'two' } } } },
  },
  'within a schema with a URI': {
    additionalProperties: { $ref: 'one' },
    $defs: { x: { $id: 'one', $ref: '#/$defs/y', $defs: { y: string } }, y: false },
  },
  'itself, as TypeBox writes it': {
    additionalProperties: { $id: 'T0', anyOf: [string, { type: 'array', items: { $ref: 'T0' } }] },
  },
  'a recursive reference': { properties: { a: { $recursiveRef: '#' } }, additionalProperties: string },
}

describe('references', () => {
  for (const [name, schema] of Object.entries(references))
    void test(`tools.arguments: a reference to ${name} is followed like in another validator`, () => {
      assert.equal(schemaProblem(schema, true), undefined)
      const compiled = compileSchema(schema)
      const validator = new Validator(structuredClone(schema), '2020-12')
      for (const value of [{}, { b: 'x' }, { b: 1 }, { b: ['x', ['x']] }, { b: [1] }, { a: { b: 'x' } }, { a: { b: 1 } }, { a: 'x' }, 'x'])
        assert.equal(compiled.check(value, operations()).length === 0, validator.validate(value).valid, JSON.stringify(value))
    })

  void test('tools.arguments: a reference that leads to nothing, out of the schema or to data is refused, and so is an ambiguous $id', () => {
    const problem = (schema: JsonSchema): string | undefined => schemaProblem({ type: 'object', ...schema }, true)
    for (const $ref of [
      '#/$defs/x',
      '#x',
      'x',
      'https://a.example/x',
      '#/%zz',
      'http://[',
      '#/$defs/one/default',
      '#/$defs/one/default/0',
      5,
      '#/__proto__',
    ])
      assert.match(problem({ properties: { a: { $ref } }, $defs: { one: { default: [{}] } } })!, /leads nowhere, .* at "\/properties\/a"/)
    assert.match(problem({ $defs: { a: { $id: 'x' }, b: { $id: 'x' } } })!, /the \$id "x" is used twice/)
    assert.match(problem({ $defs: { a: { $id: 'http://[' } } })!, /the \$id "http:\/\/\[" is not a URI/)
    assert.equal(
      problem({ properties: { $ref: {}, id: {}, $id: {} }, dependentRequired: { $ref: ['id'] }, default: { $ref: '#/x' } }),
      undefined,
    )
  })
})

function ofProperties(properties: JsonSchema): JsonSchema {
  return { type: 'object', properties }
}
const nestedIds = (depth: number): JsonSchema =>
  depth === 0 ? {} : { $id: `http://a.example/${depth}`, properties: { a: nestedIds(depth - 1) } }
const many = (count: number, one: (n: number) => JsonSchema): JsonSchema =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, one(n)]))
const characters = (from: number, count: number, one = (character: string): string => character): string =>
  Array.from({ length: count }, (_, n) => one(String.fromCharCode(0x4e00 + from + n))).join('')

/** Schemas of less than 100 KB, most of them below 64, that take many times as long as others of their size. */
const expensive: Record<string, JsonSchema> = {
  'nested URIs': ofProperties({ a: nestedIds(20) }),
  'a long name above many schemas': ofProperties({ ['x'.repeat(20_000)]: { properties: many(3000, () => ({})) } }),
  'a long URI above many schemas': { ...ofProperties(many(3000, () => ({}))), $id: `http://a.example/${'x'.repeat(20_000)}` },
  'many references relative to a long URI': {
    ...ofProperties(many(3000, () => ({ $ref: 'a' }))),
    $id: `http://a.example/${'x'.repeat(2000)}`,
  },
  'states in lookarounds': ofProperties(many(1500, (n) => ({ pattern: `(?=(?:a{99}){99})${n}` }))),
  'many patterns with too many states': ofProperties(many(1500, (n) => ({ pattern: `(?:a{99}){999}${n}` }))),
  'many different characters': ofProperties(many(4, (n) => ({ pattern: characters(n * 4090, 4090) }))),
  'many different character classes': ofProperties(many(20, (n) => ({ pattern: characters(n * 400, 400, (c) => `[^\\p{L}${c}]`) }))),
}

describe('expensive schemas', () => {
  for (const [name, schema] of Object.entries(expensive))
    void test(`tools.arguments: ${name}: read or refused in time that is linear in the size of the schema`, (t) => {
      const from = process.cpuUsage()
      schemaProblem(schema, false)
      const { user, system } = process.cpuUsage(from)
      t.diagnostic(`${JSON.stringify(schema).length} characters, ${(user + system) / 1000} ms of CPU`)
      assert.ok((user + system) / 1000 < 150, `${(user + system) / 1000} ms of CPU`)
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
