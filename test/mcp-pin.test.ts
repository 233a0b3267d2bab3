/** Which of an MCP server's tools may be approved, and how they have changed since. Over real HTTP and the real guard. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { differences } from '../src/agent/tools/mcp-definitions.ts'
import { ToolServerError } from '../src/agent/tools/tool-config.ts'
import type { PinnedTool } from '../src/agent/tools/tool-config.ts'
import { startCaller } from './support/mcp-caller.ts'
import type { Caller } from './support/mcp-caller.ts'
import { answer, result, startScriptedMcp, tool } from './support/mcp-scripted-server.ts'
import type { ScriptedMcp, ScriptedTool } from './support/mcp-scripted-server.ts'

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

async function refused(words: RegExp, allowed: string[] | null = null): Promise<void> {
  await assert.rejects(caller.pin(server, allowed), (error) => {
    assert.ok(error instanceof ToolServerError, String(error))
    assert.match(error.message, words)
    assert.ok(error.message.length < 600)
    return true
  })
}

const many = (count: number): ScriptedTool[] => Array.from({ length: count }, (_, n) => tool(`tool-${n}`))
const deep = (levels: number): object => (levels === 0 ? {} : { not: deep(levels - 1) })

describe('pin', () => {
  void test('stores name, description and schema unchanged; only the read-only hint means no side effects; leaves no session behind', async () => {
    const inputSchema = {
      type: 'object',
      required: ['x'],
      properties: { x: { enum: ['b', 'a'] } },
      $schema: 'https://json-schema.org/draft/2020-12/schema',
    }
    server.offer([
      { name: 'a.b/c-d_E', inputSchema },
      tool('reads', { annotations: { readOnlyHint: true, destructiveHint: true } }),
      tool('may-act', { annotations: { readOnlyHint: 'yes', idempotentHint: true, destructiveHint: false } as object }),
    ])
    await refused(/invalid result: tools\[2\]\.annotations\.readOnlyHint: /)
    server.offer([
      { name: 'a.b/c-d_E', inputSchema },
      tool('reads', { annotations: { readOnlyHint: true, destructiveHint: true } }),
      tool('may-act', { annotations: { idempotentHint: true, destructiveHint: false } }),
    ])
    const pinned = await caller.pin(server)
    assert.deepEqual(pinned[0], { name: 'a.b/c-d_E', description: '', parameters: inputSchema, sideEffects: true })
    assert.deepEqual(
      pinned.map(({ sideEffects }) => sideEffects),
      [true, false, true],
    )
    await server.until(() => server.callsOf('DELETE').length === 2)
  })

  void test('reads every page', async () => {
    server.on('tools/list', (seen, response) => {
      const page = Number(seen.params.cursor ?? 0)
      answer(response, 200, result(seen.id, { tools: [tool(`page-${page}`)], ...(page < 3 ? { nextCursor: String(page + 1) } : {}) }))
    })
    assert.deepEqual(
      (await caller.pin(server)).map(({ name }) => name),
      ['page-0', 'page-1', 'page-2', 'page-3'],
    )
  })

  void test('a list whose cursor never ends is an error after 32 pages', async () => {
    server.on('tools/list', (seen, response) => answer(response, 200, result(seen.id, { tools: [], nextCursor: 'again' })))
    await refused(/does not end within 32 pages/)
    assert.equal(server.callsOf('tools/list').length, 32)
  })

  void test('a cursor that is too long to be sent back is an error', async () => {
    server.on('tools/list', (seen, response) => answer(response, 200, result(seen.id, { tools: [], nextCursor: 'x'.repeat(100_000) })))
    await refused(/page cursor that is too long/)
    assert.equal(server.callsOf('tools/list').length, 1)
  })

  void test('128 tools are accepted; 129, and 5,000, are an error', async () => {
    server.offer(many(128))
    assert.equal((await caller.pin(server)).length, 128)
    for (const count of [129, 5000]) {
      server.offer(many(count))
      await refused(/more than 128 tools/)
    }
  })

  void test('a list of 300,000 invalid entries is an error', async () => {
    server.on('tools/list', (seen, response) =>
      answer(response, 200, result(seen.id, { tools: Array.from({ length: 300_000 }, () => ({})) })),
    )
    await refused(/more than 8192 parts/)
  })

  void test('an invalid entry is an error that says where it is and what is wrong', async () => {
    server.offer([tool('good'), { ...tool('bad'), inputSchema: 'text' as unknown as object }])
    await refused(/^the server returned an invalid result: tools\[1\]\.inputSchema: .*object/i)
    server.offer([tool('good'), { ...tool('bad'), name: 7 as unknown as string }])
    await refused(/tools\[1\]\.name: .*string/)
  })

  void test('a schema with a reference that leads back to itself is an error that names the tool', async () => {
    const tree = { type: 'object', properties: { child: { $ref: '#' } } }
    server.offer([tool('tree', { inputSchema: tree }), tool('loop', { inputSchema: { type: 'object', allOf: [{ $ref: '#' }] } })])
    await refused(/the schema of the tool "loop" has a reference that leads back to itself, "#" at "\/allOf\/0"/)
    assert.equal((await caller.pin(server, ['tree'])).length, 1)
  })

  void test('definitions over 256 KiB are an error, also if each is small enough', async () => {
    server.offer(many(40).map((one) => ({ ...one, description: 'x'.repeat(8000) })))
    await refused(/more than 256 KiB/)
    server.offer([tool('look', { inputSchema: { type: 'object', description: 'x'.repeat(300_000) } })])
    await refused(/more than 256 KiB/)
  })

  const wrong: [string, object, RegExp][] = [
    ['a name with a space', { name: 'look here' }, /"look here" has a name/],
    ['a name with a line break', { name: 'look\r\nx-evil: 1' }, /"look x-evil: 1" has a name/],
    ['an empty name', { name: '' }, /"" has a name/],
    ['a name of 129 letters', { name: 'l'.repeat(129) }, /has a name/],
    ['a description over 8 KiB', { description: 'ü'.repeat(4097) }, /description of the tool "look" is longer than 8 KiB/],
    ['a description with U+0000', { description: 'a\0b' }, /description of the tool "look" is not well-formed/],
    ['a schema that is not an object', { inputSchema: { type: 'string' } }, /"look" has a schema that is not of an object/],
    ['a schema without a type', { inputSchema: {} }, /"look" has a schema that is not of an object/],
    [
      'a pattern without an automaton',
      { inputSchema: { type: 'object', properties: { x: { type: 'string', pattern: '^(a+)\\1$' } } } },
      /schema of the tool "look" has a pattern that cannot be used, "\^\(a\+\)\\\\1\$" at "\/properties\/x": it refers back to a group; leave it out with "allowed"/,
    ],
    ['a schema that is 70 deep', { inputSchema: { type: 'object', ...deep(70) } }, /"look" has a schema that is too deep/],
    ['a lone surrogate in a schema', { inputSchema: { type: 'object', title: '\ud800' } }, /"look" has a schema that is too deep or holds/],
    [
      'U+0000 in a key of a schema',
      { inputSchema: { type: 'object', properties: { 'a\0': {} } } },
      /"look" has a schema that is too deep or holds/,
    ],
    ['no schema', { inputSchema: undefined }, /invalid result: tools\[0\]\.inputSchema: /],
  ]
  for (const [what, change, words] of wrong)
    void test(`${what} is an error, unless the tool is not among the allowed`, async () => {
      server.offer([{ ...tool('look'), ...change }, tool('act')])
      await refused(words)
      if (what !== 'no schema') assert.equal((await caller.pin(server, ['act'])).length, 1)
    })

  void test('tools.arguments: a schema with nested URIs costs its size, in a new tool and in a changed one', async () => {
    const nested = (depth: number): object =>
      depth === 0 ? {} : { $id: `http://a.example/${depth}`, properties: { a: nested(depth - 1) } }
    server.offer([tool('look', { inputSchema: { type: 'object', properties: { a: nested(24) } } })])
    const from = process.cpuUsage()
    assert.equal((await caller.pin(server)).length, 1)
    const { user, system } = process.cpuUsage(from)
    assert.ok((user + system) / 1000 < 1000, `${(user + system) / 1000} ms of CPU`)
  })

  void test('an excessively nested schema is an error and nothing worse', async () => {
    const nested = `${'{"not":'.repeat(20_000)}{}${'}'.repeat(20_000)}`
    server.on('tools/list', (seen, response) =>
      answer(
        response,
        200,
        `{"jsonrpc":"2.0","id":${JSON.stringify(seen.id)},"result":{"tools":[{"name":"look","inputSchema":{"type":"object","x":${nested}}}]}}`,
      ),
    )
    await refused(/unexpected response|too deep/)
  })

  void test('a duplicate name is an error, and so is a missing allowed one', async () => {
    server.offer([tool('look'), tool('look')])
    await refused(/two tools called "look"/)
    await refused(/no tool "act"/, ['look', 'act'])
  })

  void test('a server without the tools capability is an error; one with an empty list has none', async () => {
    server.offer([])
    assert.deepEqual(await caller.pin(server), [])
    server.on('initialize', (seen, response) =>
      answer(response, 200, result(seen.id, { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 's', version: '1' } })),
    )
    await refused(/does not support tools/)
  })

  void test('fault.tool-hostile: a server that hangs at any step is abandoned', async () => {
    const hasty = startCaller([server], { totalMs: 300 })
    try {
      for (const rpc of ['tools/list', 'notifications/initialized', 'initialize', 'server/discover']) {
        server.on(rpc, () => undefined)
        await assert.rejects(
          hasty.pin(server),
          (error) => error instanceof ToolServerError && /did not respond within 0.3 seconds/.test(error.message),
        )
      }
    } finally {
      await hasty.close()
    }
  })

  void test('a header that is invalid in HTTP is an error that does not show it', async () => {
    await assert.rejects(caller.pin(server, null, { authorization: 'Bearer tok_0123\nx' }), (error) => {
      assert.ok(error instanceof ToolServerError)
      assert.match(error.message, /^a header of the server is not valid in HTTP$/)
      return error.cause === undefined
    })
    assert.deepEqual(server.seen, [])
  })
})

void test('differences: added, removed, and changed with the old and new definition', () => {
  const one = (name: string, more: Partial<PinnedTool> = {}): PinnedTool => ({
    name,
    description: 'd',
    parameters: { type: 'object', properties: { a: { type: 'string', enum: ['x', 'y'] }, b: {} } },
    sideEffects: true,
    ...more,
  })
  const reordered = { properties: { b: {}, a: { enum: ['x', 'y'], type: 'string' } }, type: 'object' }
  const otherEnum = { type: 'object', properties: { a: { type: 'string', enum: ['y', 'x'] }, b: {} } }
  const before = [one('same'), one('gone'), one('worded'), one('shaped'), one('acting', { sideEffects: false })]
  const now = [
    one('acting'),
    one('shaped', { parameters: otherEnum }),
    one('worded', { description: 'D' }),
    one('same', { parameters: reordered }),
    one('new'),
  ]
  assert.deepEqual(differences(before, now), {
    added: [one('new')],
    removed: [one('gone')],
    changed: [
      { before: one('worded'), now: one('worded', { description: 'D' }) },
      { before: one('shaped'), now: one('shaped', { parameters: otherEnum }) },
      { before: one('acting', { sideEffects: false }), now: one('acting') },
    ],
  })
  assert.deepEqual(differences(before, before), { added: [], removed: [], changed: [] })
})
