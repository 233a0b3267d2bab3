/** POST /mcp with the unmodified client of the official SDK against the real service. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { startTestApp } from '../support/test-app.ts'
import { RawSocket } from '../support/raw-socket.ts'
import { ScriptedTurn, startTestLayer, storedReply } from '../support/test-http-layer.ts'
import { connect, post, tool } from './clients.ts'

const ada = { external_user_id: 'ada' }

void test('mcp.tool: lists one tool, named after the agent, with the schemas of its arguments and its result', async () => {
  await using app = await startTestApp({ agent: { name: 'Café Support (EU)' } })
  await using mcp = await connect(app)
  const { tools } = await mcp.client.listTools()
  assert.equal(tools.length, 1)
  const [{ name, title, description, inputSchema, outputSchema }] = tools as [(typeof tools)[0]]
  assert.deepEqual([name, title], ['cafe-support-eu', 'Café Support (EU)'])
  assert.match(description!, /agent "Café Support \(EU\)".*idempotency_key/)
  assert.deepEqual(Object.keys(inputSchema.properties!), ['message', 'external_user_id', 'idempotency_key'])
  assert.deepEqual(inputSchema.required, ['message', 'external_user_id'])
  assert.deepEqual(outputSchema!.required, ['content', 'request_id', 'conversation_id', 'usage'])
  assert.deepEqual(mcp.client.getServerCapabilities(), { tools: {} })
})

void test('mcp.tool: a call is a turn: its reply, the IDs and the usage of the chat endpoint, stored and charged once', async () => {
  await using app = await startTestApp()
  await using mcp = await connect(app)
  await mcp.client.listTools()
  app.model.script('Hello, Ada.')
  const result = await mcp.call({ message: 'Hi', ...ada, idempotency_key: 'k1' })
  assert.deepEqual(result.content, [{ type: 'text', text: 'Hello, Ada.' }])
  const chat = await app.chat('Hi', { user: 'ada', idempotencyKey: 'k1' })
  assert.equal(chat.status, 200, chat.text)
  const { message, ...rest } = chat.json
  assert.deepEqual(result.structuredContent, { content: message.content, ...rest })
  assert.deepEqual(
    (await app.messages('ada')).map(({ content }) => content),
    ['Hi', 'Hello, Ada.'],
  )
  assert.equal(app.model.calls.length, 1)
  assert.equal((await app.ledger()).filter(({ kind }) => kind === 'charge').length, 1)
  await app.verify()
})

void test('mcp.idempotency-key: a repeated call with the same key returns the first result; without a key it is a new message', async () => {
  await using app = await startTestApp()
  await using mcp = await connect(app)
  const call = { message: 'Hi', ...ada, idempotency_key: 'once' }
  const first = await mcp.call(call)
  await using other = await connect(app)
  assert.deepEqual(await other.call(call), first)
  assert.equal(app.model.calls.length, 1)

  // The SDK numbers its JSON-RPC requests from zero, so the two clients use the same ID.
  const [one, two] = [await mcp.call({ message: 'Again', ...ada }), await other.call({ message: 'Again', ...ada })]
  assert.notEqual(one.structuredContent!['request_id'], two.structuredContent!['request_id'])
  assert.equal(app.model.calls.length, 3)

  // A program may send the key where its model does not see it.
  const withMeta = { meta: { 'turnkeep/idempotency-key': 'in meta' } }
  const third = await mcp.call({ message: 'Third', ...ada }, withMeta)
  assert.deepEqual(await mcp.call({ message: 'Third', ...ada }, withMeta), third)
  assert.equal(app.model.calls.length, 4)

  const conflict = await mcp.call({ ...call, message: 'Other' })
  assert.equal(conflict.isError, true)
  assert.match(conflict.content[0]!.text, /^idempotency_conflict: .*\nTo send a new message, use a new idempotency_key\.$/)
  await app.verify()
})

void test('mcp.progress: with a progress token, a call reports that its turn runs, waiting or generating; without one, it reports nothing', async () => {
  const turns = [new ScriptedTurn(), new ScriptedTurn()]
  let next = 0
  await using layer = await startTestLayer({ begin: () => turns[next++]!.started, times: { progressMs: 5 } })
  // If the test fails, the layer does not wait for them.
  using ending = new DisposableStack()
  ending.defer(() => turns.forEach((turn) => turn.complete()))
  await using mcp = await connect({ url: layer.url })
  const seen: { progress: number; message?: string }[] = []
  const reply = mcp.call({ message: 'weather', ...ada }, { onProgress: (one) => seen.push(one) })
  // Awaited below, unless the test fails before.
  reply.catch(() => undefined)
  /** Fails if nothing of this kind is reported. */
  const until = async (wanted: (message: string | undefined) => boolean): Promise<void> => {
    for (let tries = 0; tries < 500 && !wanted(seen.at(-1)?.message); tries++) await pass(10)
    assert.ok(wanted(seen.at(-1)?.message), JSON.stringify(seen))
  }
  await until((message) => message === 'Waiting for the reply' && seen.length > 2)
  turns[0]!.say('It rains ')
  await until((message) => message === '9 characters of the reply')
  turns[0]!.say('in Oslo.')
  turns[0]!.complete()
  assert.equal((await reply).content[0]!.text, 'It rains in Oslo.')
  assert.ok(
    seen.every(({ progress }, n) => n === 0 || progress >= seen[n - 1]!.progress),
    JSON.stringify(seen),
  )

  const quiet = post(layer, 'good', 'tools/call', { name: tool, arguments: { message: 'weather', ...ada } })
  await turns[1]!.listening
  await pass(30)
  turns[1]!.complete()
  assert.doesNotMatch(await (await quiet).text(), /progress/)
})

void test('mcp.progress: a caller that leaves ends nothing but its own listening', async () => {
  const turn = new ScriptedTurn()
  await using layer = await startTestLayer({ begin: () => turn.started, times: { progressMs: 5 } })
  await using mcp = await connect({ url: layer.url })
  const leaving = new AbortController()
  const reply = mcp.call({ message: 'weather', ...ada }, { signal: leaving.signal, onProgress: () => leaving.abort() })
  await assert.rejects(reply)
  await mcp.client.close()
  assert.ok(await Promise.race([turn.left.then(() => true), pass(15_000, false, { ref: false })]))
  turn.complete()
  assert.deepEqual(layer.logged, [])
})

void test('overload.unread: a result that is not read counts for its key: another one is an error, and the same call gets it later', async () => {
  await using layer = await startTestLayer({ begin: () => ({ kind: 'replay', reply: storedReply('x'.repeat(9 * 1024 * 1024)) }) })
  const params = { name: tool, arguments: { message: 'weather', ...ada } }
  using unread = await RawSocket.open(layer.port)
  unread.socket.pause()
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  const accept = 'Accept: application/json, text/event-stream'
  unread.write(
    `POST /mcp HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\n${accept}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  const refusal = /^event: message\ndata: \{"jsonrpc":"2\.0","id":\d+,"error":\{"code":-32603,"message":"service_unavailable: /
  const ask = async (): Promise<boolean> => !refusal.test(await (await post(layer, 'good', 'tools/call', params)).text())
  let answered = true
  for (let tries = 0; tries < 50 && answered; tries++) {
    await pass(20)
    answered = await ask()
  }
  assert.equal(answered, false)
  unread.socket.destroy()
  for (let tries = 0; tries < 50 && !answered; tries++) {
    await pass(20)
    answered = await ask()
  }
  assert.equal(answered, true)
})
