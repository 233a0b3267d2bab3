/** POST /agents/{id}/playground: the real pipeline, streamed and billed, through a built-in key without a secret. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refused, startAdminApp } from '../support/admin-app.ts'
import { adminToken, parseEvents, read } from '../support/test-app.ts'
import type { Answer, Caller, Json, StreamEvent } from '../support/test-app.ts'

const app = await startAdminApp()

async function play(
  body: Json,
  { agentId = app.caller.agentId, headers = {} }: { agentId?: string; headers?: Record<string, string> } = {},
) {
  const answer: Answer = await read(
    await fetch(`${app.adminUrl}/admin/v1/agents/${agentId}/playground`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    }),
  )
  const streamed = answer.headers.get('content-type')?.startsWith('text/event-stream')
  const events: StreamEvent[] = streamed ? parseEvents(answer.text) : []
  return { ...answer, events }
}

void test('playground: streams the four events, stores, bills and continues a conversation', async () => {
  const before = Number((await app.owner()).balance_usd)
  app.model.script(['Good ', 'day.'])
  const { status, events, headers } = await play({ message: 'Hello' })
  assert.equal(status, 200)
  assert.deepEqual(
    events.map(({ event }) => event),
    ['response.created', 'response.output_text.delta', 'response.output_text.delta', 'response.completed'],
  )
  const { data } = events.at(-1)!
  assert.equal(data.message.content, 'Good day.')
  assert.equal(headers.get('x-request-id'), data.request_id)
  assert.equal(Number((await app.owner()).balance_usd).toFixed(8), (before - Number(data.usage.charged_usd)).toFixed(8))
  const turn = await app.made('GET', `/turns/${data.request_id}`)
  assert.deepEqual([turn.state, turn.usage.charged_usd], ['completed', data.usage.charged_usd])

  const call = app.model.nextCall()
  const next = await play({ message: 'And now?' })
  assert.equal(next.events.at(-1)!.data.conversation_id, data.conversation_id)
  assert.ok((await call).messages.some(({ content }) => content === 'Good day.'))
  const other = await play({ message: 'Hi', external_user_id: 'tester-2' })
  assert.notEqual(other.events.at(-1)!.data.conversation_id, data.conversation_id)
  await app.verify()
})

void test('playground: the same Idempotency-Key is answered once, and without one every call is new', async () => {
  const headers = { 'idempotency-key': 'play-once' }
  const first = await play({ message: 'once' }, { headers })
  const calls = app.model.calls.length
  const again = await play({ message: 'once' }, { headers })
  assert.equal(app.model.calls.length, calls)
  assert.deepEqual(again.events.at(-1), first.events.at(-1))
  await refused(play({ message: 'other' }, { headers }), 409, 'idempotency_conflict')
  await play({ message: 'once' })
  assert.equal(app.model.calls.length, calls + 1)
})

void test('playground: its key is not listed, cannot be changed, rotated or revoked, and does not authenticate', async () => {
  const caller = await app.makeCaller()
  const both = await Promise.all([
    play({ message: 'a', external_user_id: 'a' }, caller),
    play({ message: 'b', external_user_id: 'b' }, caller),
  ])
  const turns = await Promise.all(both.map(({ events }) => app.made('GET', `/turns/${events.at(-1)!.data.request_id}`)))
  const keyId: string = turns[0]!.key_id
  assert.equal(turns[1]!.key_id, keyId, 'one key, also of two calls at once')
  const listed: Json[] = (await app.made('GET', `/agents/${caller.agentId}/keys`)).data
  assert.equal(listed.length, 1)
  assert.ok(!listed.some(({ id }) => id === keyId))
  await refused(app.admin('PATCH', `/keys/${keyId}`, { name: 'x' }), 404, 'not_found')
  await refused(app.admin('POST', `/keys/${keyId}/rotate`), 404, 'not_found')
  await refused(app.admin('DELETE', `/keys/${keyId}`), 404, 'not_found')
  assert.equal((await app.made('GET', `/conversations?key_id=${keyId}`)).data.length, 2)
  assert.deepEqual(await app.messages('a', caller), [], 'no other key sees it')
})

void test('playground: refusals are JSON before the stream', async () => {
  const poor: Caller = await app.makeCaller({ balanceUsd: '0.00000001', agent: { max_message_length: 5 } })
  await refused(play({ message: 'hi' }, poor), 402, 'insufficient_balance')
  await refused(play({ message: 'longer' }, poor), 422, 'validation_error', /5 characters/)
  await refused(play({ message: '' }), 422, 'validation_error', /message/)
  await refused(play({ message: 'a\u0000' }), 422, 'validation_error', /message/)
  await refused(play({ message: 'a', stream: true }), 422, 'validation_error', /stream/)
  await refused(play({ message: 'a' }, { agentId: 'agt_x' }), 404, 'not_found')
  await refused(play({ message: 'a' }, { headers: { 'idempotency-key': 'x'.repeat(256) } }), 422, 'validation_error', /Idempotency-Key/)
  await app.made('PATCH', `/agents/${poor.agentId}`, { enabled: false })
  await refused(play({ message: 'a' }, poor), 403, 'agent_disabled')
  await refused(play({ message: 'a' }, { headers: { authorization: `Bearer ${app.caller.apiKey}` } }), 401, 'unauthorized')
})
