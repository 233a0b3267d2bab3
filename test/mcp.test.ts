/** MCP tools against a real server, `@modelcontextprotocol/server-everything`, over real HTTP and the real guard. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { ToolServerError } from '../src/agent/tools/tool-config.ts'
import type { PinnedTool } from '../src/agent/tools/tool-config.ts'
import { fakeTimers } from './support/fake-timers.ts'
import { startCaller } from './support/mcp-caller.ts'
import type { Caller } from './support/mcp-caller.ts'
import { startMcpServer } from './support/mcp-server.ts'
import type { McpServerProcess } from './support/mcp-server.ts'

let server: McpServerProcess
let caller: Caller
let pinned: PinnedTool[]

before(async () => {
  server = await startMcpServer()
  caller = startCaller([server])
  pinned = await caller.pin(server)
})
after(async () => {
  await caller.close()
  await server.stop()
})

const named = (name: string): PinnedTool => pinned.find((tool) => tool.name === name)!

void test('pin: all tools, with their schemas and read-only hints; tools that need unsupported client capabilities are not offered', () => {
  assert.ok(pinned.length >= 10, `${pinned.length} tools`)
  assert.equal(named('echo').description, 'Echoes back the input string')
  assert.equal(named('echo').sideEffects, false)
  assert.deepEqual(named('echo').parameters['required'], ['message'])
  assert.equal(named('gzip-file-as-resource').sideEffects, true)
  assert.ok(!pinned.some(({ name }) => /sampling|elicitation|roots/.test(name)))
})

void test('pin: only the allowed ones, and a missing one is named', async () => {
  const some = await caller.pin(server, ['get-sum', 'echo'])
  assert.deepEqual(some.map(({ name }) => name).toSorted(), ['echo', 'get-sum'])
  await assert.rejects(caller.pin(server, ['echo', 'no-such-tool']), (error) => {
    assert.ok(error instanceof ToolServerError)
    assert.match(error.message, /no-such-tool/)
    return true
  })
})

void test('mcp: a call returns its text', async () => {
  assert.deepEqual(await caller.ask(server, 'echo', { pinned, args: { message: 'Grüße, 退款' } }), {
    text: 'Echo: Grüße, 退款',
    isError: false,
    answered: true,
    passages: [],
  })
  assert.match((await caller.ask(server, 'get-sum', { pinned, args: { a: 2, b: 40 } })).text, /is 42\./)
  assert.match((await caller.ask(server, 'get-structured-content', { pinned, args: { location: 'Chicago' } })).text, /Light rain/)
})

void test('mcp: a picture and links are named, not passed on', async () => {
  const image = await caller.ask(server, 'get-tiny-image', { pinned })
  assert.equal(image.text, "Here's the image you requested:\n[image image/png, 4 KB, not shown]\nThe image above is the MCP logo.")
  const links = await caller.ask(server, 'get-resource-links', { pinned, args: { count: 2 } })
  assert.equal(links.text.match(/\[link to the resource .+: demo:\/\/.+\]/g)?.length, 2)
})

void test('mcp: arguments that the server refuses are an error result with its message', async () => {
  const result = await caller.ask(server, 'get-sum', { pinned, args: { a: 'two', b: 40 } })
  assert.equal(result.isError, true)
  assert.match(result.text, /expected number/)
})

void test('mcp: concurrent calls each get their own result', async () => {
  const sums = await Promise.all(
    Array.from({ length: 8 }, (_, n) => caller.ask(server, 'get-sum', { pinned, args: { a: n, b: 100 }, key: `request:1:${n}` })),
  )
  assert.deepEqual(
    sums.map(({ text }) => Number(/is (\d+)\./.exec(text)?.[1])),
    Array.from({ length: 8 }, (_, n) => 100 + n),
  )
})

void test('fault.tool-hostile: a long operation is awaited, and one that is too long is aborted; the session stays usable', async (t) => {
  const tool = 'trigger-long-running-operation'
  const done = await caller.ask(server, tool, { pinned, args: { duration: 0.3, steps: 3 } })
  assert.match(done.text, /completed/)
  const timers = fakeTimers(t, (ms) => ms === 10_000)
  const long = caller.ask(server, tool, { pinned, args: { duration: 60, steps: 2 } })
  // The operation runs by then. On a busy machine it may not have started, with the same result.
  await pass(500)
  timers.pass(10_000)
  const late = await long
  assert.deepEqual([late.isError, late.text], [true, 'Error: the tool call failed: its server did not respond within 10 seconds.'])
  assert.match((await caller.ask(server, 'echo', { pinned, args: { message: 'after' } })).text, /after/)
})

void test('mcp: a server that was restarted between two calls serves the second in a new session', async () => {
  await caller.ask(server, 'echo', { pinned, args: { message: 'before' } })
  const previous = server.pid
  await server.restart()
  assert.notEqual(server.pid, previous)
  assert.equal((await caller.ask(server, 'echo', { pinned, args: { message: 'after' } })).text, 'Echo: after')
})

void test('mcp: an unreachable server is an error result, and is used again when it is back', async () => {
  await server.halt()
  const gone = await caller.ask(server, 'echo', { pinned, args: { message: 'x' } })
  assert.equal(gone.isError, true)
  assert.match(gone.text, /^Error: the tool call failed: the server refused the connection/)
  assert.ok(!gone.text.includes('127.0.0.1'))
  await server.restart()
  assert.equal((await caller.ask(server, 'echo', { pinned, args: { message: 'back' } })).text, 'Echo: back')
})
