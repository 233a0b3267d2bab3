/** Which of an MCP server's tools may be approved, and how they have changed since. Over real HTTP and the real guard. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { differences } from '../src/agent/tools/mcp-definitions.ts'
import { ToolServerError } from '../src/agent/tools/tool-config.ts'
import type { PinnedTool, UnusableTool } from '../src/agent/tools/tool-config.ts'
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

/** The names of the tools that can be pinned, and those that cannot be used. */
async function named(): Promise<{ pinned: string[]; unusable: UnusableTool[] }> {
  const { pinned, unusable } = await caller.pins(server)
  return { pinned: pinned.map(({ name }) => name), unusable }
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
      tool('may-act', { annotations: { idempotentHint: true, destructiveHint: false } }),
      tool('says-yes', { annotations: { readOnlyHint: 'yes' } as object }),
    ])
    const pinned = await caller.pin(server)
    assert.deepEqual(pinned[0], { name: 'a.b/c-d_E', description: '', parameters: inputSchema, sideEffects: true })
    assert.deepEqual(
      pinned.map(({ sideEffects }) => sideEffects),
      [true, false, true, true],
    )
    await server.until(() => server.callsOf('DELETE').length === 1)
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
    server.on('tools/list', (seen, response) =>
      answer(response, 200, result(seen.id, { tools: [], nextCursor: `${seen.params.cursor ?? ''}x` })),
    )
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
      await refused(/more than 128 tools; choose some of them with "allowed"/)
      assert.equal((await caller.pin(server, ['tool-7'])).length, 1)
    }
  })

  void test('a list of 300,000 invalid entries is an error', async () => {
    server.on('tools/list', (seen, response) =>
      answer(response, 200, result(seen.id, { tools: Array.from({ length: 300_000 }, () => ({})) })),
    )
    await refused(/more than 8192 parts/)
  })

  void test('a schema with a reference that leads back to itself disables its tool', async () => {
    const tree = { type: 'object', properties: { child: { $ref: '#' } } }
    server.offer([tool('tree', { inputSchema: tree }), tool('loop', { inputSchema: { type: 'object', allOf: [{ $ref: '#' }] } })])
    assert.deepEqual(await named(), {
      pinned: ['tree'],
      unusable: [{ name: 'loop', reason: 'its schema has a reference that leads back to itself, "#" at "/allOf/0"' }],
    })
  })

  void test('definitions over 256 KiB are an error, also if each is small enough; a tool that alone is larger is left out', async () => {
    server.offer(many(40).map((one) => ({ ...one, description: 'x'.repeat(8000) })))
    await refused(/more than 256 KiB; choose some of them with "allowed"/)
    assert.equal((await caller.pin(server, ['tool-1', 'tool-2'])).length, 2)
    server.offer([tool('large', { inputSchema: { type: 'object', description: 'x'.repeat(300_000) } }), tool('look')])
    assert.deepEqual(await named(), { pinned: ['look'], unusable: [{ name: 'large', reason: 'its schema is larger than 256 KiB' }] })
  })

  const wrong: [string, object, RegExp][] = [
    ['a name with a line break', { name: 'look\r\nx-evil: 1' }, /^its name is not one line/],
    ['an empty name', { name: '' }, /^has no name/],
    ['a name that is a number', { name: 7 }, /^has no name/],
    ['a name of 129 letters', { name: 'l'.repeat(129) }, /^its name is not/],
    ['a description over 8 KiB', { description: 'ü'.repeat(4097) }, /^its description is longer than 8 KiB/],
    ['a description with U+0000', { description: 'a\0b' }, /^its description is not well-formed/],
    ['a schema that is not an object', { inputSchema: { type: 'string' } }, /^its schema is not that of an object/],
    ['a schema that is a text', { inputSchema: 'text' }, /^its schema is not that of an object/],
    [
      'a pattern without an automaton',
      { inputSchema: { type: 'object', properties: { x: { type: 'string', pattern: '^(a+)\\1$' } } } },
      /^its schema has a pattern that cannot be used, "\^\(a\+\)\\\\1\$" at "\/properties\/x": it refers back to a group/,
    ],
    ['a schema that is 70 deep', { inputSchema: { type: 'object', ...deep(70) } }, /^its schema is too deep/],
    ['a lone surrogate in a schema', { inputSchema: { type: 'object', title: '\ud800' } }, /^its schema is too deep or holds/],
    ['U+0000 in a key of a schema', { inputSchema: { type: 'object', properties: { 'a\0': {} } } }, /^its schema is too deep or holds/],
  ]
  for (const [what, change, words] of wrong)
    void test(`${what} disables the tool, with the reason, and no other`, async () => {
      server.offer([{ ...tool('look'), ...change }, tool('act')])
      const { pinned, unusable } = await named()
      assert.deepEqual([pinned, unusable.length], [['act'], 1])
      assert.match(unusable[0]!.reason, words)
      assert.deepEqual((await caller.pins(server, ['act'])).unusable, [])
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

  void test('an excessively nested schema disables its tool, and nothing worse', async () => {
    const nested = `${'{"not":'.repeat(20_000)}{}${'}'.repeat(20_000)}`
    server.on('tools/list', (seen, response) =>
      answer(
        response,
        200,
        `{"jsonrpc":"2.0","id":${JSON.stringify(seen.id)},"result":{"tools":[{"name":"look","inputSchema":{"type":"object","x":${nested}}}]}}`,
      ),
    )
    const { unusable } = await caller.pins(server)
    assert.match(unusable[0]!.reason, /^its schema is too deep/)
  })

  void test('a tool that is listed twice is one; with two definitions, neither can be used; a missing allowed one is an error', async () => {
    server.offer([tool('look'), tool('look'), tool('act')])
    assert.deepEqual(await named(), { pinned: ['look', 'act'], unusable: [] })
    await refused(/no tool "stop"/, ['look', 'stop'])
    server.offer([tool('look'), tool('look', { description: 'Looks elsewhere.' }), tool('act')])
    assert.deepEqual(await named(), {
      pinned: ['act'],
      unusable: [{ name: 'look', reason: 'is offered twice, with different definitions' }],
    })
  })

  void test('a server that names no capabilities is asked for its tools; one without the method is an error, and an empty list none', async () => {
    server.offer([])
    assert.deepEqual(await caller.pin(server), [])
    server.on('initialize', (seen, response) =>
      answer(response, 200, result(seen.id, { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 's', version: '1' } })),
    )
    server.offer([tool('look')])
    assert.equal((await caller.pin(server)).length, 1)
    server.on('tools/list', (seen, response) =>
      answer(response, 200, { jsonrpc: '2.0', id: seen.id, error: { code: -32_601, message: 'Method not found' } }),
    )
    await refused(/Method not found/)
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
