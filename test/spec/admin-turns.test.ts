/** Admin API: the operator cancels and follows turns of any key, and reads and changes the feedback on them. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { allPages, refused, startAdminApp } from '../support/admin-app.ts'
import { gate } from '../support/model-server.ts'
import { adminToken, parseEvents, read, splitEvents, startTestApp } from '../support/test-app.ts'
import type { Answer, Caller, Json, StreamEvent, TestApp } from '../support/test-app.ts'

const app = await startAdminApp()

/** The only running turn. */
async function runningTurn(of: TestApp = app): Promise<Json> {
  const { data } = await of.made('GET', '/turns?status=running')
  assert.equal(data.length, 1)
  return data[0]
}

async function follow(requestId: string, { query = '', headers = {} }: { query?: string; headers?: Record<string, string> } = {}) {
  const url = `${app.adminUrl}/admin/v1/turns/${requestId}/stream${query}`
  return read(await fetch(url, { headers: { authorization: `Bearer ${adminToken}`, ...headers } }))
}

async function giveFeedback(requestId: string, feedback: Json, caller: Caller = app.caller): Promise<Answer> {
  const answer = await app.chatRequest(feedback, { caller, path: `turns/${requestId}/feedback` })
  assert.equal(answer.status, 200)
  return read(answer)
}

const textOf = (events: StreamEvent[]): string => events.map(({ data }) => data['delta'] ?? '').join('')
const idsOf = (text: string): string[] => [...text.matchAll(/^id: (.*)$/gm)].map(([, id]) => id!)

void test('turn.cancel: the operator cancels a turn without text: it ends cancelled, uncharged and audited once, and is no error', async () => {
  await using own = await startTestApp()
  const held = gate()
  own.model.script([held, 'too late'])
  const asked = own.chat('hi')
  await held.reached
  const { request_id: id, state, cancel_requested_at: before } = await runningTurn(own)
  assert.deepEqual([state, before], ['running', null])
  const cancelled = await own.admin('POST', `/turns/${id}/cancel`)
  assert.equal(cancelled.status, 200, cancelled.text)
  assert.deepEqual([cancelled.json.request_id, cancelled.json.state, cancelled.json.incomplete], [id, 'cancelled', false])
  assert.equal(cancelled.json.failure.code, 'turn_cancelled')
  assert.ok(Date.parse(cancelled.json.cancel_requested_at) <= Date.parse(cancelled.json.ended_at))
  const { status, json } = await asked
  assert.deepEqual([status, json.error.code, json.error.request_id], [409, 'turn_cancelled', id])
  held.open()

  assert.deepEqual((await own.made('POST', `/turns/${id}/cancel`, {})).ended_at, cancelled.json.ended_at, 'it has no effect any more')
  assert.deepEqual(await own.made('GET', `/turns/${id}`), cancelled.json)
  assert.deepEqual(
    (await allPages(own, '/turns?status=cancelled', 1)).map((turn) => turn.request_id),
    [id],
  )
  const audited = (await own.made('GET', '/audit')).data.filter(({ noun }: Json) => noun === 'turn')
  assert.deepEqual(
    audited.map((line: Json) => [line.who, line.verb, line.subject_id, line.request_id]),
    [['admin_token', 'cancel', id, cancelled.headers.get('x-request-id')]],
  )
  const { totals } = await own.made('GET', '/usage')
  assert.deepEqual([totals.turns, totals.completed, totals.cancelled, totals.errors, totals.errors_by_cause], [1, 0, 1, 0, {}])
  const { counted } = await own.made('GET', '/status')
  assert.deepEqual([counted.cancelled, counted.errors], [1, 0])
  assert.equal((await own.owner()).balance_usd, '10.00000000')
  await own.verify()
})

void test('turn.cancel: after text, the text so far is the reply of a completed turn, charged and marked incomplete', async () => {
  await using own = await startTestApp()
  const held = gate()
  own.model.script(['The first half', held, ' and the rest'])
  const asked = own.chat('hi')
  await held.reached
  const { request_id: id } = await runningTurn(own)
  const cancelled = await own.made('POST', `/turns/${id}/cancel`)
  assert.deepEqual([cancelled.state, cancelled.incomplete, cancelled.failure], ['completed', true, null])
  const { status, json } = await asked
  assert.deepEqual([status, json.message.content, json.message.incomplete], [200, 'The first half', true])
  held.open()
  const [reply, message] = (await own.made('GET', `/conversations/${json.conversation_id}/messages`)).data
  assert.deepEqual([reply.content, reply.turn.incomplete, message.turn.incomplete], ['The first half', true, true])
  const [charge] = await own.ledger()
  assert.equal(charge!.amount_usd, `-${cancelled.usage.charged_usd}`)
  const { totals } = await own.made('GET', '/usage')
  assert.deepEqual([totals.turns, totals.completed, totals.cancelled], [1, 1, 0])
  await own.verify()
})

void test('turn.cancel: an unknown turn is 404, a body with fields is refused, and the admin token is required', async () => {
  await refused(app.admin('POST', `/turns/${randomUUID()}/cancel`), 404, 'not_found')
  const { json } = await app.chat('hi', { user: 'ended' })
  const turn = await app.made('GET', `/turns/${json.request_id}`)
  assert.deepEqual(await app.made('POST', `/turns/${json.request_id}/cancel`), turn, 'an ended turn stays as it is')
  await refused(app.admin('POST', `/turns/${json.request_id}/cancel`, { reason: 'x' }), 422, 'validation_error')
  const strange = await fetch(`${app.adminUrl}/admin/v1/turns/${json.request_id}/cancel`, { method: 'POST' })
  assert.equal(strange.status, 401)
})

void test('stream.resume: the operator follows a running turn of any key, and continues after an event by header or query', async () => {
  const caller = await app.makeCaller()
  const [first, second] = [gate(), gate()]
  app.model.script(['One ', first, 'two ', second, 'three'])
  const asked = app.chat('count', { caller, user: 'followed' })
  await first.reached
  const { request_id: id } = await runningTurn()
  const following = follow(id)
  first.open()
  await second.reached
  second.open()
  const whole = await following
  const { json } = await asked
  const events = parseEvents(whole.text)
  assert.deepEqual([events[0]!.event, events.at(-1)!.event, textOf(events)], ['response.created', 'response.completed', 'One two three'])
  assert.equal(events.at(-1)!.data['message'].id, json.message.id)

  const ids = idsOf(whole.text)
  for (const request of [{ headers: { 'last-event-id': ids[1]! } }, { query: `?after=${ids[1]}` }]) {
    const rest = splitEvents((await follow(id, request)).text)
    assert.equal(textOf(events.slice(0, 2)) + textOf(rest), 'One two three')
    assert.equal(rest.at(-1)!.event, 'response.completed')
  }
  assert.equal((await follow(id, { query: `?after=${ids.at(-1)}` })).status, 204)
  const invalid = await follow(id, { query: '?after=x' })
  assert.deepEqual([invalid.status, invalid.json.error.code], [422, 'validation_error'])
  assert.equal((await follow(randomUUID())).status, 404)
})

void test('feedback: a turn shows it, and the list filters by agent, rating and tag, the newest changes first', async () => {
  const caller = await app.makeCaller()
  const { json: one } = await app.chat('1', { caller, user: 'a' })
  const { json: two } = await app.chat('2', { caller, user: 'b' })
  const { json: other } = await app.chat('3', { user: 'c' })
  assert.equal((await app.made('GET', `/turns/${one.request_id}`)).feedback, null)
  await giveFeedback(one.request_id, { rating: 'up', tags: ['fast'] }, caller)
  await app.moveClock(1)
  await giveFeedback(two.request_id, { rating: 'down', comment: 'Wrong "price".', tags: ['wrong', 'a b"c'] }, caller)
  await app.moveClock(1)
  await giveFeedback(other.request_id, { rating: 'down', tags: ['wrong'] })

  const listed = await app.made('GET', `/feedback?agent_id=${caller.agentId}&rating=down`)
  const [key] = (await app.made('GET', `/agents/${caller.agentId}/keys`)).data
  const [given] = listed.data
  assert.deepEqual(given, {
    request_id: two.request_id,
    agent_id: caller.agentId,
    conversation_id: two.conversation_id,
    external_user_id: 'b',
    key_id: key.id,
    status: 'completed',
    state: 'completed',
    message: '2',
    reply: two.message.content,
    rating: 'down',
    comment: 'Wrong "price".',
    tags: ['wrong', 'a b"c'],
    created_at: given.created_at,
    updated_at: given.created_at,
  })
  const turn = await app.made('GET', `/turns/${two.request_id}`)
  const { rating, comment, tags, created_at, updated_at } = given
  assert.deepEqual(turn.feedback, { rating, comment, tags, created_at, updated_at })
  const messages = (await app.made('GET', `/conversations/${two.conversation_id}/messages`)).data
  assert.deepEqual(
    messages.map((message: Json) => message.turn.rating),
    ['down', 'down'],
  )

  const ids = async (query: string) => (await allPages(app, `/feedback?${query}`, 1)).map(({ request_id: id }) => id)
  assert.deepEqual(await ids(''), [other.request_id, two.request_id, one.request_id])
  assert.deepEqual(await ids('rating=up'), [one.request_id])
  assert.deepEqual(await ids('tag=wrong'), [other.request_id, two.request_id])
  assert.deepEqual(await ids(`tag=wrong&agent_id=${caller.agentId}`), [two.request_id])
  assert.deepEqual(await ids(`tag=${encodeURIComponent('a b"c')}`), [two.request_id])
  assert.deepEqual(await ids('tag=wron'), [])
  await app.moveClock(1)
  await giveFeedback(one.request_id, { rating: 'down' }, caller)
  assert.deepEqual(await ids(`agent_id=${caller.agentId}`), [one.request_id, two.request_id], 'the last change counts')
  const changed = (await app.made('GET', `/turns/${one.request_id}`)).feedback
  assert.deepEqual([changed.rating, changed.comment, changed.tags], ['down', null, []])
  assert.ok(changed.updated_at > changed.created_at)
  await refused(app.admin('GET', '/feedback?rating=good'), 422, 'validation_error', /rating/)
  await refused(app.admin('GET', '/feedback?tag='), 422, 'validation_error', /tag/)
  await refused(app.admin('GET', '/feedback?key_id=key_x'), 422, 'validation_error', /key_id/)
})

void test('feedback: an operator sets, changes and removes that of any turn, once in the audit log and once as an event', async () => {
  await using own = await startTestApp()
  const webhook = await own.made('POST', '/webhooks', { url: 'https://shop.example/hook', events: ['feedback.created'] })
  const { json } = await own.chat('hi', { user: 'rated' })
  const path = `/turns/${json.request_id}/feedback`
  const given = { rating: 'down', comment: 'Too long.', tags: ['long', 'long'] }
  const first = await own.admin('PUT', path, given)
  assert.equal(first.status, 200, first.text)
  const { created_at, updated_at } = first.json
  assert.deepEqual(first.json, { request_id: json.request_id, ...given, tags: ['long'], created_at, updated_at })
  assert.deepEqual(await own.made('PUT', path, given), first.json, 'the same again changes nothing')
  const { rating, comment, tags } = await own.made('PUT', path, { rating: 'up' })
  assert.deepEqual([rating, comment, tags], ['up', null, []])
  assert.equal((await own.made('GET', `/turns/${json.request_id}`)).feedback.rating, 'up')
  for (const _ of ['first', 'again']) assert.equal((await own.admin('DELETE', path)).status, 204)
  assert.equal((await own.made('GET', `/turns/${json.request_id}`)).feedback, null)
  assert.equal((await own.made('PUT', path, given)).rating, 'down')
  const audited = (await own.made('GET', '/audit?noun=turn&verb=change')).data
  assert.deepEqual(
    audited.map(({ changes }: Json) => changes['feedback.rating']).toReversed(),
    [
      [null, 'down'],
      ['down', 'up'],
      ['up', null],
      [null, 'down'],
    ].map(([before, after]) => ({ before, after })),
  )
  assert.equal(audited.at(-1).request_id, first.headers.get('x-request-id'))
  const { data } = await own.made('GET', `/webhooks/${webhook.id}/deliveries`)
  assert.deepEqual(
    data.map(({ type }: Json) => type),
    ['feedback.created'],
  )
  await own.verify()
})

void test('feedback: an operator cannot give it to a turn that runs, was erased or does not exist, or without a rating', async () => {
  await using own = await startTestApp()
  const held = gate()
  own.model.script([held, 'done'])
  const asked = own.chat('hi', { user: 'forgotten' })
  await held.reached
  const { request_id: id } = await runningTurn(own)
  const path = `/turns/${id}/feedback`
  await refused(own.admin('PUT', path, { rating: 'up' }), 422, 'validation_error', /still running/)
  held.open()
  await asked
  await refused(own.admin('PUT', path, { comment: 'no rating' }), 422, 'validation_error', /rating/)
  await refused(own.admin('PUT', path, { rating: 'up', comment: '' }), 422, 'validation_error', /comment/)
  for (const method of ['PUT', 'DELETE'] as const)
    await refused(own.admin(method, `/turns/${randomUUID()}/feedback`, method === 'PUT' ? { rating: 'up' } : undefined), 404, 'not_found')
  await own.made('DELETE', `/agents/${own.caller.agentId}/end-users?external_user_id=forgotten`)
  await refused(own.admin('PUT', path, { rating: 'up' }), 404, 'not_found')
  await own.verify()
})

void test('feedback: the text of an end user is erased with the end user', async () => {
  const caller = await app.makeCaller()
  const { json } = await app.chat('hi', { caller, user: 'forgotten' })
  const comment = `only-${randomUUID()}`
  await giveFeedback(json.request_id, { rating: 'down', comment }, caller)
  await app.made('DELETE', `/agents/${caller.agentId}/end-users?external_user_id=forgotten`)
  assert.deepEqual((await app.made('GET', `/feedback?agent_id=${caller.agentId}`)).data, [])
  assert.equal((await app.made('GET', `/turns/${json.request_id}`)).feedback, null)
  const again = await app.chatRequest({ rating: 'up' }, { caller, path: `turns/${json.request_id}/feedback` })
  assert.equal(again.status, 404)
  assert.equal(await app.occurrences(comment), 0)
  await app.verify()
})

void test('trace.context: a turn shows the traceparent header of its request', async () => {
  const traceparent = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`
  const { json } = await app.chat('hi', { user: 'traced', headers: { traceparent } })
  assert.equal((await app.made('GET', `/turns/${json.request_id}`)).traceparent, traceparent)
  const { json: other } = await app.chat('hi', { user: 'traced' })
  assert.equal((await app.made('GET', `/turns/${other.request_id}`)).traceparent, null)
})
