/** POST /mcp with the clients that speak the version 2026-07-28, which has no handshake: the SDK's second version, and that of the AI SDK. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { createMCPClient } from '@ai-sdk/mcp'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'
import { ScriptedTurn, startTestLayer } from '../support/test-http-layer.ts'
import { tool } from './clients.ts'

const call = { message: 'Hi', external_user_id: 'ada', idempotency_key: 'k1' }

/** A client of the newest version, which does not fall back to an older one. */
async function connectNewest(t: TestContext, server: { url: string }, apiKey: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
  const headers = { authorization: `Bearer ${apiKey}` }
  t.after(() => client.close())
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit: { headers } }))
  return client
}

const replyOf = (app: TestApp): Promise<Json> =>
  app.chat('Hi', { user: 'ada', idempotencyKey: 'k1' }).then(({ json }) => {
    const { message, ...rest } = json
    return { content: message.content, ...rest }
  })

void test('mcp.tool: the newest version: the tool, its result and its errors with the client of @modelcontextprotocol/client', async (t) => {
  await using app = await startTestApp()
  const client = await connectNewest(t, app, app.caller.apiKey)
  const { tools } = await client.listTools()
  assert.deepEqual(
    tools.map(({ name }) => name),
    [tool],
  )
  const result = await client.callTool({ name: tool, arguments: call })
  assert.deepEqual(result.structuredContent, await replyOf(app))
  const repeated = await client.callTool({ name: tool, arguments: call })
  assert.deepEqual(repeated.structuredContent, result.structuredContent)
  const conflict = await client.callTool({ name: tool, arguments: { ...call, message: 'Other' } })
  assert.equal(conflict.isError, true)
  await assert.rejects(client.callTool({ name: 'other', arguments: call }), /Unknown tool/)
  await assert.rejects(connectNewest(t, app, 'svc_live_wrong.wrong'), /invalid_api_key|401/)
  assert.equal(app.model.calls.length, 1)
  await app.verify()
})

void test('mcp.progress: the newest version: progress is an event stream, and a call without a token is JSON with the rate limit headers', async (t) => {
  const turns = [new ScriptedTurn(), new ScriptedTurn()]
  let next = 0
  await using layer = await startTestLayer({ begin: () => turns[next++]!.started, times: { progressMs: 5 } })
  const client = await connectNewest(t, layer, 'good')
  const heard = Promise.withResolvers<string | undefined>()
  const reply = client.callTool({ name: tool, arguments: call }, { onprogress: ({ message }) => heard.resolve(message) })
  assert.equal(await heard.promise, 'Waiting for the reply')
  turns[0]!.say('Hello')
  turns[0]!.complete()
  assert.deepEqual((await reply).content, [{ type: 'text', text: 'Hello' }])

  turns[1]!.say('Hello')
  turns[1]!.complete()
  const envelope = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const response = await fetch(`${layer.url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: 'Bearer good',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': tool,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 'x', method: 'tools/call', params: { name: tool, arguments: call, _meta: envelope } }),
  })
  const { id, result } = (await response.json()) as Json
  assert.deepEqual([response.status, id, result.structuredContent.request_id], [200, 'x', turns[1]!.requestId])
  assert.equal(response.headers.get('x-request-id'), turns[1]!.requestId)
  assert.equal(response.headers.get('x-ratelimit-limit'), '120')
})

void test('mcp.tool: the client of the AI SDK lists the tool and calls it', async () => {
  await using app = await startTestApp()
  const headers = { authorization: `Bearer ${app.caller.apiKey}` }
  const client = await createMCPClient({ transport: { type: 'http', url: `${app.url}/mcp`, headers } })
  const tools = await client.tools()
  assert.deepEqual(Object.keys(tools), [tool])
  const options = { toolCallId: 'call-1', messages: [], context: {} }
  const result = await tools[tool]!.execute(call, options as never)
  assert.deepEqual((result as Json)['structuredContent'], await replyOf(app))
  assert.deepEqual((result as Json)['content'], [{ type: 'text', text: 'You said: Hi' }])
  assert.equal(app.model.calls.length, 1)
  await client.close()
  await app.verify()
})
