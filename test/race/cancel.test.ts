/**
 * A cancel when the process dies, when another process has stored it, and while a tool call with side effects runs: the turn ends once, and
 * no call is abandoned or repeated.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { until } from '../support/until.ts'
import { gate } from '../support/model-server.ts'
import { ProcessRuns } from '../support/process-runs.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Answer, Json, TestClient } from '../support/test-app.ts'
import { call, threeTools } from '../support/tool-process-runs.ts'
import { startToolServer } from '../support/tool-server.ts'

async function onTurn(client: TestClient, requestId: string, what = '', method = 'GET'): Promise<Json> {
  const { agentId, apiKey } = client.caller
  const url = `${client.url}/v1/agents/${agentId}/turns/${requestId}${what}`
  return (await (await fetch(url, { method, headers: { authorization: `Bearer ${apiKey}` } })).json()) as Json
}
const cancel = (client: TestClient, requestId: string): Promise<Json> => onTurn(client, requestId, '/cancel', 'POST')
const accepted = async (client: TestClient, message: string, idempotencyKey: string): Promise<string> => {
  const answer: Answer = await client.chat(message, { idempotencyKey, headers: { prefer: 'respond-async' } })
  assert.equal(answer.status, 202, answer.text)
  return answer.json['request_id']
}

void test('fault.cancel-then-kill turn.cancel: kill -9 after a cancel was stored: recovery ends the turn as cancelled, without a model call', async (t) => {
  const processRuns = await ProcessRuns.begin(t, 'cancel.after-commit=kill')
  const { client, model } = processRuns
  const idempotencyKey = randomUUID()
  const held = gate()
  model.when('hello', [held, 'too late'])
  const requestId = await accepted(client, 'hello', idempotencyKey)
  await held.reached
  await assert.rejects(cancel(client, requestId))
  assert.equal((await processRuns.server!.exited).signal, 'SIGKILL')
  await processRuns.verify()
  await processRuns.start()
  await until('the end of the turn', async () => (await onTurn(client, requestId))['status'] !== 'running')
  const turn = await onTurn(client, requestId)
  assert.deepEqual([turn['status'], turn['error'].code, turn['cancel_requested']], ['cancelled', 'turn_cancelled', true])
  assert.equal((await client.chat('hello', { idempotencyKey })).json['error'].code, 'turn_cancelled')
  assert.equal(model.calls.length, 1)
  assert.deepEqual([await processRuns.charges(), await client.messages(), (await client.owner())['held_usd']], [0, [], '0.00000000'])
  await processRuns.verify()
})

void test('fault.cancel-then-kill turn.cancel: kill -9 before a cancel is stored: the turn is answered as if there had been none', async (t) => {
  const processRuns = await ProcessRuns.begin(t, 'cancel.before-commit=kill')
  const idempotencyKey = randomUUID()
  const held = gate()
  processRuns.model.script([held, 'lost'], 'the reply')
  const requestId = await accepted(processRuns.client, 'hello', idempotencyKey)
  await held.reached
  await assert.rejects(cancel(processRuns.client, requestId))
  await processRuns.server!.exited
  await processRuns.startAndAnswer('hello', 'the reply', idempotencyKey)
  assert.equal((await onTurn(processRuns.client, requestId))['cancel_requested'], false)
})

void test('turn.cancel: a cancel that another process has stored reaches the process that runs the turn, without a message', async () => {
  await using app = await startTestApp()
  const held = gate()
  app.model.when('hello', ['some text', held, ' and more'])
  const requestId = await accepted(app, 'hello', randomUUID())
  await held.reached
  assert.ok(await app.app.store.write.requestCancel({ requestId }))
  const ended = async (): Promise<boolean> => (await onTurn(app, requestId))['status'] !== 'running'
  await until('the end of the turn', ended, 15_000).finally(() => held.open())
  const { status, message } = await onTurn(app, requestId)
  assert.deepEqual([status, message.content, message.incomplete], ['completed', 'some text', true])
  await app.verify()
})

for (const [what, text] of [
  ['without text', ''],
  ['after text', 'Let me book it.'],
] as const)
  void test(`turn.cancel: ${what}, a running tool call with side effects is finished and journaled before the turn ends, and no call starts`, async (t) => {
    const tools = await startToolServer()
    const app = await startTestApp({ env: { TURNKEEP_ALLOW_PRIVATE_HOSTS: tools.address }, agent: { tools: threeTools(tools) } })
    t.after(async () => {
      await app.close()
      await tools.close()
    })
    const held = gate()
    tools.when('/book', held)
    app.model.script([...(text === '' ? [] : [text]), call('book', { day: 'Monday' })], 'never asked')
    const idempotencyKey = randomUUID()
    const requestId = await accepted(app, 'book it', idempotencyKey)
    await tools.waitFor('/book', 1)
    const asked = await cancel(app, requestId)
    assert.deepEqual([asked['status'], asked['cancel_requested']], ['running', true])
    held.open()
    await until('the end of the turn', async () => (await onTurn(app, requestId))['status'] !== 'running')
    const turn = await onTurn(app, requestId)
    if (text === '') assert.deepEqual([turn['status'], turn['message']], ['cancelled', null])
    else assert.deepEqual([turn['status'], turn['message'].content, turn['message'].incomplete], ['completed', text, true])
    const { steps } = await app.made('GET', `/turns/${requestId}`)
    assert.deepEqual(
      (steps as Json[]).map(({ kind }) => kind),
      ['model', 'tool_started', 'tool_finished'],
    )
    assert.deepEqual([tools.calls.length, app.model.calls.length], [1, 1])
    const again = await app.chat('book it', { idempotencyKey })
    assert.equal(again.status, text === '' ? 409 : 200)
    assert.deepEqual([tools.calls.length, (await app.owner())['held_usd']], [1, '0.00000000'])
    await app.verify()
  })
