/**
 * What MCP servers send beside and beyond the protocol, tried on the client: the cases of inputs/10-mcp.jsonl, and variations of every message.
 * Over real HTTP and the real guard, except for schemas and results, which have thousands of variations.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, test } from 'node:test'
import fc from 'fast-check'
import { createArgumentsReader } from '../../src/agent/tools/arguments.ts'
import { pinnedTools, readTools } from '../../src/agent/tools/mcp-definitions.ts'
import { resultOf } from '../../src/agent/tools/mcp-result.ts'
import { usableSchema } from '../../src/agent/tools/mcp-schema.ts'
import { startCaller } from '../support/mcp-caller.ts'
import type { Caller } from '../support/mcp-caller.ts'
import { answer, result, said, startScriptedMcp, tool } from '../support/mcp-scripted-server.ts'
import type { ScriptedMcp, ScriptedTool } from '../support/mcp-scripted-server.ts'

/** How many variations each property generates. */
const variations = { messages: 60, schemas: 1500, results: 1500, nulls: 500 }

const cases: Record<string, any>[] = readFileSync(new URL('inputs/10-mcp.jsonl', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line))
const caseOf = (start: string): Record<string, any> => cases.find((one) => one['case'].startsWith(start))!

let server: ScriptedMcp
let caller: Caller
beforeEach(async () => {
  server = await startScriptedMcp()
  caller = startCaller([server])
})
afterEach(async () => {
  await caller.close()
  await server.close()
})

const lists = (value: unknown): void => server.on('tools/list', (seen, response) => answer(response, 200, result(seen.id, value)))
const returns = (value: unknown): void => server.on('tools/call', (seen, response) => answer(response, 200, result(seen.id, value)))
const names = (tools: { name: string }[]): string[] => tools.map(({ name }) => name)

describe('strict where everybody else is tolerant', () => {
  void test('an embedded text resource reaches the model', async () => {
    returns(caseOf('embedded text resource')['tools/call result'])
    const { text } = await caller.ask(server, 'look')
    assert.match(text, /^successfully downloaded text file\n\[resource repo:\/\/o\/r\/README\.md text\/markdown\]\nTHE BODY$/)
  })

  void test('null of an optional field is absent', async () => {
    lists(caseOf('nulls of optional fields')['tools/list result'])
    const [pinned] = await caller.pin(server)
    const parameters = { type: 'object', properties: { q: { type: 'string' } } }
    assert.deepEqual(pinned, { name: 'get', description: 'get', parameters, sideEffects: true })
    assert.equal((await caller.ask(server, 'get')).text, 'did get')
  })

  void test('tools.arguments: null for an optional argument is left out', () => {
    const { schema, 'arguments of the model': given } = caseOf('null for an optional argument')
    assert.deepEqual(argumentsFor(given, schema), {})
    assert.equal(argumentsFor(given, { ...schema, required: ['q'] }), undefined)
    assert.deepEqual(argumentsFor(given, { type: 'object', properties: { q: { type: ['string', 'null'] } } }), given)
  })

  void test('a name with dots, slashes, blanks, other scripts or many characters is called by its own name', async () => {
    const odd = ['a.b/c', 'get weather', 'ns:tool', 'Wetter-Müller', '天気', 'x'.repeat(128), '=?base64?eA==?=']
    server.offer(odd.map((name) => tool(name)))
    const pinned = await caller.pin(server)
    assert.deepEqual(names(pinned), odd)
    for (const name of odd) assert.equal((await caller.ask(server, name, { pinned })).text, `did ${name}`)
  })

  void test('a page cursor that was sent before, an empty one and one that is null end the list', async () => {
    for (const [last, pages] of [
      ['p1', 2],
      ['', 2],
      [null, 2],
      [{}, 2],
    ] as const) {
      const before = server.callsOf('tools/list').length
      server.on('tools/list', (seen, response) => {
        const isFirst = seen.params.cursor === undefined
        answer(response, 200, result(seen.id, { tools: [tool(isFirst ? 'one' : 'two')], nextCursor: isFirst ? 'p1' : last }))
      })
      assert.deepEqual(names(await caller.pin(server)), ['one', 'two'])
      assert.equal(server.callsOf('tools/list').length - before, pages)
    }
  })
})

describe('one bad neighbour', () => {
  void test('a broken tool that is not allowed does not matter, and one that is allowed disables itself', async () => {
    lists(caseOf('allowed [get]: a broken tool')['tools/list result'])
    assert.deepEqual(names(await caller.pin(server, ['get'])), ['get'])
    // Without a schema, a tool takes any arguments.
    assert.deepEqual(names(await caller.pin(server)), ['get', 'bad'])
    assert.equal((await caller.ask(server, 'bad', { args: { any: 1 } })).text, 'did bad')
    server.off('tools/list')
    server.offer([tool('get'), tool('bad', { inputSchema: false as unknown as object })])
    assert.deepEqual(await caller.pins(server), {
      pinned: await caller.pin(server, ['get']),
      unusable: [{ name: 'bad', reason: 'its schema is not that of an object' }],
    })
  })

  void test('of 141 tools, one is allowed, pinned and called', async () => {
    server.offer([...Array.from({ length: 140 }, (_, n) => tool(`t${n}`)), tool('get')])
    const pinned = await caller.pin(server, ['get'])
    assert.deepEqual(names(pinned), ['get'])
    assert.equal((await caller.ask(server, 'get', { pinned })).text, 'did get')
  })

  void test('an allowed tool on the first of endless pages is pinned and called', async () => {
    server.on('tools/list', (seen, response) => {
      const cursor = seen.params.cursor ?? ''
      answer(response, 200, result(seen.id, { tools: [tool(`get${cursor}`)], nextCursor: `${cursor}x` }))
    })
    const pinned = await caller.pin(server, ['get'])
    assert.equal((await caller.ask(server, 'get', { pinned })).text, 'did get')
  })

  void test('a tool that turned bad after it was pinned is not called, and the others are', async () => {
    server.offer([tool('good'), tool('bad')])
    const pinned = await caller.pin(server)
    for (const change of [{ inputSchema: false }, { inputSchema: { type: 'array' } }, { description: 'x\0' }, { name: null }]) {
      server.offer([tool('good'), { ...tool('bad'), ...change } as unknown as ScriptedTool])
      assert.match((await caller.ask(server, 'bad', { pinned })).text, /has changed since the operator approved it/)
      assert.equal((await caller.ask(server, 'good', { pinned })).text, 'did good')
    }
  })

  const oddities = fc.constantFrom<unknown>(undefined, null, 7, '', 'x', [], {}, true, false, [null], { type: null })
  const oddTool = fc.record(
    {
      name: fc.oneof(fc.constant('odd'), oddities),
      title: oddities,
      description: oddities,
      inputSchema: oddities,
      outputSchema: oddities,
      annotations: fc.oneof(
        oddities,
        fc.record({ readOnlyHint: oddities, title: oddities, destructiveHint: oddities }, { requiredKeys: [] }),
      ),
      icons: oddities,
      execution: oddities,
      _meta: oddities,
      extra: oddities,
    },
    { requiredKeys: [] },
  )
  const oddResult = fc.record({ nextCursor: fc.constantFrom(undefined, null, ''), _meta: oddities, ttlMs: oddities }, { requiredKeys: [] })
  const oddHandshake = fc.record(
    {
      protocolVersion: fc.constantFrom<unknown>('2025-06-18', null, undefined, 7, '1.0', '2031-01-01'),
      capabilities: oddities,
      serverInfo: oddities,
      instructions: oddities,
      _meta: oddities,
    },
    { requiredKeys: [] },
  )
  const oddEnvelope = fc.record({ error: fc.constantFrom(undefined, null), jsonrpc: fc.constantFrom(undefined, '2.0'), extra: oddities })

  void test(`${variations.messages} variations of every message: the good tool is pinned and called, and the odd one works or is named`, async () => {
    await fc.assert(
      fc.asyncProperty(oddTool, oddResult, oddHandshake, oddEnvelope, fc.boolean(), async (odd, more, handshake, envelope, asText) => {
        const own = await startScriptedMcp()
        const asking = startCaller([own])
        const reply = (id: unknown, value: unknown): object => ({ ...result(asText ? String(id) : id, value), ...envelope })
        own.on('initialize', (seen, response) => answer(response, 200, reply(seen.id, handshake), { 'mcp-session-id': 's' }))
        own.on('tools/list', (seen, response) => answer(response, 200, reply(seen.id, { tools: [odd, tool('good')], ...more })))
        own.on('tools/call', (seen, response) => answer(response, 200, reply(seen.id, said(`did ${seen.params.name}`))))
        try {
          const { pinned, unusable } = await asking.pins(own)
          assert.equal(pinned.length + unusable.length, 2)
          for (const { name } of pinned) assert.equal((await asking.ask(own, name, { pinned })).text, `did ${name}`)
          assert.ok(names(pinned).includes('good'))
          for (const { parameters } of pinned) assert.notEqual(argumentsFor({}, parameters), undefined)
        } finally {
          await asking.close()
          await own.close()
        }
      }),
      { numRuns: variations.messages },
    )
  })
})

const keywords = `type properties required items enum const default anyOf oneOf allOf not if then else additionalProperties patternProperties
  prefixItems minimum maximum exclusiveMinimum multipleOf minLength maxItems uniqueItems pattern format description title $defs definitions
  dependencies contains nullable unevaluatedProperties dependentRequired propertyNames $schema x-order examples contentEncoding`
const keyword = fc.constantFrom(...keywords.split(/\s+/))
const { schema: anySchema } = fc.letrec((tie) => ({
  schema: fc.dictionary(keyword, tie('value'), { maxKeys: 5 }),
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom<unknown>(
      null,
      true,
      false,
      0,
      -1,
      1.5,
      'string',
      'object',
      'any',
      'OBJECT',
      'http://json-schema.org/draft-03/schema#',
      '(?=a)',
    ),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('schema'),
    fc.dictionary(fc.constantFrom('q', 'id', 'a/b'), tie('value'), { maxKeys: 2 }),
  ),
}))

describe('schemas', () => {
  void test(`one bad neighbour: ${variations.schemas} schemas: a tool takes arguments or disables itself, and no other`, () => {
    fc.assert(
      fc.property(anySchema, fc.constantFrom<object>({}, { q: 1 }, { q: { id: [null] } }), (inputSchema, args) => {
        const { pinned, unusable } = pinnedTools({ tools: readTools([{ name: 'odd', inputSchema }, tool('good')]) }, null)
        assert.equal(pinned.at(-1)!.name, 'good')
        assert.equal(pinned.length + unusable.length, 2)
        for (const { parameters } of pinned) {
          const read = createArgumentsReader().read(JSON.stringify(args), parameters)
          if (read.kind === 'refused') assert.doesNotMatch(read.text, /not usable/)
        }
      }),
      { numRuns: variations.schemas },
    )
  })

  void test(`the usable form of ${variations.schemas} schemas is that of an object, has no null for a keyword, and stays as it is`, () => {
    fc.assert(
      fc.property(anySchema, (given) => {
        const usable = usableSchema(given)!
        assert.deepEqual(usableSchema(usable), usable)
        assert.equal(typeof usable['properties'], 'object')
        for (const [name, value] of Object.entries(usable)) assert.ok(value !== null || ['const', 'default', 'examples'].includes(name))
      }),
      { numRuns: variations.schemas },
    )
  })

  const valid = { type: 'object', properties: { q: { type: 'string', minLength: 1 }, n: { type: ['integer', 'null'] } }, required: ['q'] }
  for (const [what, schema] of [
    ['as it is', valid],
    ['with nulls', { ...valid, description: null, additionalProperties: null, $defs: null }],
    ...['draft-03', 'draft-04', 'draft-06', 'draft-07'].map(
      (draft) => [draft, { $schema: `http://json-schema.org/${draft}/schema#`, ...valid }] as const,
    ),
    ['2019-09', { $schema: 'https://json-schema.org/draft/2019-09/schema', ...valid }],
    ['of another dialect', { $schema: 'https://example.com/our-own', 'x-order': 1, nullable: true, ...valid }],
  ] as [string, object][])
    void test(`a schema ${what} checks what it says`, () => {
      const usable = usableSchema(schema)!
      assert.deepEqual(argumentsFor({ q: 'x', n: null }, usable), { q: 'x', n: null })
      for (const wrong of [{}, { q: '' }, { q: 1 }, { q: null }, { q: 'x', n: 'y' }]) assert.equal(argumentsFor(wrong, usable), undefined)
    })
})

describe('results', () => {
  const bytes = Buffer.alloc(12_345).toString('base64')
  for (const [what, value, text] of [
    ['an image', { content: [{ type: 'image', mimeType: 'image/png', data: bytes }] }, '[image image/png, 12 KB, not shown]'],
    ['an image without data or type', { content: [{ type: 'image', data: null }] }, '[image of an unknown type, not shown]'],
    ['audio', { content: [{ type: 'audio', mimeType: 'audio/wav', data: 'AAAA' }] }, '[audio audio/wav, 3 bytes, not shown]'],
    [
      'a binary file',
      { content: [{ type: 'resource', resource: { uri: 'a:b', mimeType: 'application/pdf', blob: bytes } }] },
      '[resource a:b application/pdf, 12 KB, not shown]',
    ],
    [
      'a text file as bytes',
      { content: [{ type: 'resource', resource: { uri: 'a:b', mimeType: 'text/csv', blob: 'YSxi' } }] },
      '[resource a:b text/csv]\na,b',
    ],
    [
      'a link',
      { content: [{ type: 'resource_link', name: 'N', uri: 'a:b', description: 'About it', mimeType: null }] },
      '[link to the resource N: a:b]\nAbout it',
    ],
    ['structured content alone', { content: null, structuredContent: { a: [1] } }, '{"a":[1]}'],
    [
      'structured content beside a picture',
      { content: [{ type: 'image', mimeType: 'image/png', data: 'AAAA' }], structuredContent: 5 },
      '[image image/png, 3 bytes, not shown]\n5',
    ],
    ['one part in place of a list', { content: { type: 'text', text: 'hi' } }, 'hi'],
    ['a text in place of a list', { content: 'hi' }, 'hi'],
    ['a text in place of a result', 'hi', 'hi'],
    ['null', null, '[The tool answered without content.]'],
    ['the result of the first version', { toolResult: { a: 1 } }, '{"a":1}'],
    [
      'a part of a new type',
      { content: [{ type: 'hologram' }, { type: 'note', text: 'hi' }, null] },
      '[content of the kind hologram, not shown]\nhi\n[content of an unknown kind, not shown]',
    ],
  ] as [string, unknown, string][])
    void test(`silent loss: ${what} reaches the model or is named`, async () => {
      returns(value)
      assert.equal((await caller.ask(server, 'look')).text, text)
      if (typeof value !== 'object' || value === null) return
      returns({ ...value, isError: true })
      const failed = await caller.ask(server, 'look')
      assert.deepEqual([failed.text, failed.isError, failed.answered], [text, true, true])
    })

  const odd = fc.constantFrom<unknown>(undefined, null, 7, [], {}, true)
  const mark = fc.nat().map((n) => `TEXT${n}.`)
  const texts = mark.chain((text) =>
    fc.record(
      {
        text: fc.constant(text),
        part: fc.oneof(
          fc.record({ type: fc.constantFrom<unknown>('text', undefined, null, 'note'), text: fc.constant(text), annotations: odd }),
          fc.record({
            type: fc.constant('resource'),
            resource: fc.record({ uri: odd, mimeType: odd, text: fc.constant(text), blob: odd }),
          }),
          fc.record({ type: fc.constant('resource_link'), uri: odd, name: odd, description: fc.constant(text) }),
          fc.constant(text),
        ),
      },
      { requiredKeys: ['text', 'part'] },
    ),
  )
  const others = fc.oneof(
    fc.jsonValue(),
    fc.record({ type: fc.constantFrom('image', 'audio', 'resource', 'x'), data: odd, mimeType: odd, resource: odd }),
  )

  void test(`silent loss: ${variations.results} results: every text reaches the model, whatever is beside it`, () => {
    fc.assert(
      fc.property(
        fc.array(texts, { maxLength: 4 }),
        fc.array(others, { maxLength: 4 }),
        odd,
        odd,
        (given, beside, isError, structuredContent) => {
          const content = [...beside.slice(0, 2), ...given.map(({ part }) => part), ...beside.slice(2)]
          const read = resultOf({ content, isError, structuredContent }, {})
          for (const { text } of given) assert.ok(read.text.includes(text), read.text)
          assert.notEqual(read.text, '')
          assert.equal(read.isError, isError === true)
          assert.doesNotMatch(read.text, /\[object Object\]|undefined/)
        },
      ),
      { numRuns: variations.results },
    )
  })
})

void test(`tools.arguments: ${variations.nulls} objects: a null that the schema does not allow is left out, and nothing else`, () => {
  const value = fc.constantFrom<unknown>('x', null)
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom('a', 'b/c', 'd~e', 'f'), value),
      fc.array(fc.record({ 'a/b': value })),
      fc.boolean(),
      (args, list, nullable) => {
        const text = { type: nullable ? ['string', 'null'] : 'string' }
        const properties = { a: text, 'b/c': text, 'd~e': text, f: { enum: nullable ? ['x', null] : ['x'] } }
        const schema = {
          type: 'object',
          properties: { ...properties, list: { type: 'array', items: { type: 'object', properties: { 'a/b': text } } } },
        }
        const kept = (given: object): object => Object.fromEntries(Object.entries(given).filter(([, one]) => nullable || one !== null))
        assert.deepEqual(argumentsFor({ ...args, list }, schema), { ...kept(args), list: list.map(kept) })
      },
    ),
    { numRuns: variations.nulls },
  )
})

/** What a tool with this schema gets, or undefined if the arguments are refused. */
function argumentsFor(args: object, schema: object): object | undefined {
  const read = createArgumentsReader().read(JSON.stringify(args), schema as Record<string, unknown>)
  return read.kind === 'read' ? read.args : undefined
}
