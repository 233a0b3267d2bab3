/** `turnkeep mcp` as a desktop assistant starts it, with the unmodified stdio transport of the official SDK. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport as NewestTransport } from '@modelcontextprotocol/client/stdio'
import { freePort } from '../support/guarded-process.ts'
import { gate, startModelServer } from '../support/model-server.ts'
import { runCommand, runProcess } from '../support/run-command.ts'
import { startServer } from '../support/server-process.ts'
import { TestClient, adminToken, startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'
import { connectOver, tool } from './clients.ts'
import type { McpClient } from './clients.ts'

const program = fileURLToPath(new URL('../../bin/turnkeep.js', import.meta.url))

const environment = (url: string): Record<string, string> => ({ TURNKEEP_PUBLIC_URL: url, TURNKEEP_ADMIN_TOKEN: adminToken })
const parameters = (url: string, args: string[]) => ({
  command: process.execPath,
  args: [program, 'mcp', ...args],
  env: { PATH: process.env['PATH'] ?? '', ...environment(url) },
  stderr: 'pipe' as const,
})

type StdioClient = McpClient & { readonly stderr: string }

async function connect(url: string, ...args: string[]): Promise<StdioClient> {
  const transport = new StdioClientTransport(parameters(url, args))
  let stderr = ''
  transport.stderr!.on('data', (bytes: Buffer) => (stderr += bytes.toString()))
  const connected = await connectOver(transport)
  return Object.defineProperty(connected as StdioClient, 'stderr', { get: () => stderr })
}

const userOf = async (app: TestApp, result: Json): Promise<string> =>
  (await app.made('GET', `/conversations/${result['conversation_id']}`)).external_user_id

void test('mcp.tool: turnkeep mcp serves an agent of the running service on stdin and stdout, for the user of this machine', async () => {
  await using app = await startTestApp()
  await using mcp = await connect(app.url, '--agent', 'Test agent')
  const { tools } = await mcp.client.listTools()
  assert.deepEqual(
    tools.map(({ name, inputSchema }) => [name, inputSchema.required]),
    [[tool, ['message']]],
  )
  const seen: (string | undefined)[] = []
  const result = await mcp.call({ message: 'Hi' }, { onProgress: ({ message }) => seen.push(message) })
  assert.deepEqual(result.content, [{ type: 'text', text: 'You said: Hi' }])
  assert.equal(seen[0], 'Waiting for the reply')
  const turn = await app.made('GET', `/turns/${result.structuredContent!['request_id']}`)
  assert.equal(await userOf(app, result.structuredContent!), userInfo().username)
  assert.equal(turn.usage.charged_usd, result.structuredContent!['usage'].charged_usd)
  assert.match(mcp.stderr, /^Serving the agent Test agent of http:\/\/127\.0\.0\.1:\d+ as an MCP server on stdin and stdout/)

  const call = { message: 'Again', external_user_id: 'ada', idempotency_key: '三 1' }
  assert.deepEqual(await mcp.call(call), await mcp.call(call))
  assert.equal(app.model.calls.length, 2)
  assert.match((await mcp.call({ ...call, message: 'Other' })).content[0]!.text, /^idempotency_conflict: /)
  // A header cannot carry it. Over HTTP it is refused as well.
  const refused = await mcp.call({ ...call, idempotency_key: '三 1 ' })
  assert.equal(
    refused.content[0]!.text,
    'validation_error: idempotency_key must not begin or end with a blank or contain control characters.',
  )
  await app.verify()
})

void test('mcp.tool: turnkeep mcp shows no control characters of the name of an agent', async () => {
  await using app = await startTestApp({ agent: { name: 'Desk\u001b]0;owned\u0007' } })
  await using mcp = await connect(app.url)
  await mcp.client.listTools()
  assert.match(mcp.stderr, /^Serving the agent Desk/)
  assert.doesNotMatch(mcp.stderr, /[\u0007\u001b]/)
})

void test('mcp.tool: turnkeep mcp with the newest version of the protocol, for the user of --user', async (t) => {
  await using app = await startTestApp()
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
  await client.connect(new NewestTransport(parameters(app.url, ['--user', 'desk'])))
  t.after(() => client.close())
  const { structuredContent } = await client.callTool({ name: tool, arguments: { message: 'Hi' } })
  assert.equal(await userOf(app, structuredContent as Json), 'desk')
})

void test('mcp.tool: turnkeep mcp takes null in place of an optional field as absent, in every message', async (t) => {
  await using app = await startTestApp()
  const { command, args, env } = parameters(app.url, ['--user', 'desk'])
  const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'ignore'] })
  t.after(() => child.kill())
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  async function ask(id: number, method: string, params: unknown): Promise<Json> {
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    const answer = JSON.parse((await answers.next()).value!) as Json
    assert.deepEqual([answer['id'], answer['error']], [id, undefined], method)
    return answer['result']
  }
  await ask(1, 'initialize', {
    protocolVersion: '2025-06-18',
    capabilities: { roots: null },
    clientInfo: { name: 'c', version: '1', title: null },
  })
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized', params: null })}\n`)
  assert.equal((await ask(2, 'tools/list', null))['tools'].length, 1)
  await ask(3, 'ping', null)
  const result = await ask(4, 'tools/call', { name: tool, arguments: { message: 'Grüße 日本' }, _meta: null, task: null })
  assert.equal(result['content'][0].text, 'You said: Grüße 日本')
  child.stdin.end()
  assert.deepEqual(await once(child, 'exit'), [0, null])
})

void test('mcp.tool: turnkeep mcp ends with a clear error if the server does not run or the agent does not exist', async () => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const unreachable = await runProcess(['mcp'], environment(url))
  assert.deepEqual([unreachable.code, unreachable.stdout], [2, ''])
  assert.match(unreachable.stderr, new RegExp(`^turnkeep: cannot reach ${url}: .*Check that the server is running`))

  await using app = await startTestApp()
  const unknown = await runProcess(['mcp', '--agent', 'Sales'], environment(app.url))
  assert.deepEqual([unknown.code, unknown.stdout], [1, ''])
  assert.match(unknown.stderr, /^turnkeep: no agent is named Sales\. Specify the ID of one of:\n/)
})

void test('mcp.idempotency-key: a server that is killed in the middle of a call over stdio and starts again answers it, and charges it once', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-mcp-'))
  const model = await startModelServer()
  const port = await freePort()
  const start = () => startServer({ TURNKEEP_DATA_DIR: folder, PORT: String(port), TURNKEEP_ADMIN_TOKEN: adminToken, TURNKEEP_DEMO: 'off' })
  let server = await start()
  t.after(async () => {
    await server.kill()
    await model.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const operator = new TestClient(server.url)
  await operator.makeProvider(model)
  operator.caller = await operator.makeCaller()
  await using mcp = await connect(server.url, '--user', 'desk')
  const held = gate()
  model.script(['One ', 'two ', held], 'One two three.')
  const reply = mcp.call({ message: 'count' }, { onProgress: () => undefined, timeout: 120_000 })
  await held.reached
  await server.kill()
  server = await start()
  const result = await reply
  assert.equal(result.content[0]!.text, 'One two three.')
  assert.match(mcp.stderr, /: retrying in 0\.5 s/)
  assert.equal((await operator.made('GET', '/turns')).data.length, 1)
  assert.equal((await operator.ledger()).filter((entry: Json) => entry['kind'] === 'charge').length, 1)
  await server.stop()
  const verified = await runCommand(['verify'], { TURNKEEP_DATA_DIR: folder })
  assert.equal(verified.code, 0, verified.stdout + verified.stderr)
})
