/** `erase`: text is removed and figures stay; on the operator's request and by age; from the rows and from the database files. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { pino } from 'pino'
import { createErasure } from '../../src/turn/erasure.ts'
import type { Erasure } from '../../src/turn/erasure.ts'
import { allPages, refused, startAdminApp } from '../support/admin-app.ts'
import { gate } from '../support/model-server.ts'
import { storeKind } from '../support/store-under-test.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'

const app = await startAdminApp()
const dayMs = 24 * 60 * 60 * 1000

const turnsOf = (id: string): Promise<Json[]> => allPages(app, `/turns?agent_id=${id}`, 100)

/** Erasure as the serving process runs it, with a retention age. */
function erasureBy(days: number | undefined, of: TestApp = app, logged: string[] = []): Erasure {
  const log = pino({ level: 'info' }, { write: (line: string) => void logged.push(line) })
  let next = 0
  const newId = (prefix: string): string => `${prefix}_${randomUUID()}${next++}`
  return createErasure({ store: of.app.store, retentionDays: days, traceDays: 14, log, newId })
}

/** Many requests at once on a busy machine: temporary refusals are retried. */
async function answered(of: TestApp, message: string, user: string): Promise<void> {
  const idempotencyKey = randomUUID()
  for (;;) {
    const { status, text } = await of.chat(message, { user, idempotencyKey })
    if (status === 200) return
    assert.ok(status === 503 || status === 409, text)
  }
}

void test('erase: history and replay are gone, ledger and figures stay, and the next message opens a new conversation', async () => {
  app.model.script('Your secret is safe.')
  const first = await app.chat('My secret is Rosebud', { user: 'ann', idempotencyKey: 'ann-1' })
  await app.chat('More', { user: 'ann' })
  const before = { owner: await app.owner(), ledger: await app.ledger(), turn: await app.made('GET', `/turns/${first.json.request_id}`) }
  assert.equal((await app.messages('ann')).length, 4)

  const erased = await app.made('DELETE', `/conversations/${first.json.conversation_id}`)
  assert.deepEqual(erased, { conversations: 1, turns: 2, messages: 4 })

  assert.deepEqual(await app.messages('ann'), [])
  const calls = app.model.calls.length
  await refused(app.chat('My secret is Rosebud', { user: 'ann', idempotencyKey: 'ann-1' }), 404, 'not_found')
  const stream = await app.stream('My secret is Rosebud', { user: 'ann', idempotencyKey: 'ann-1' })
  assert.deepEqual([stream.status, stream.json.error.code], [404, 'not_found'])
  await refused(app.chat('another body', { user: 'ann', idempotencyKey: 'ann-1' }), 409, 'idempotency_conflict')
  assert.equal(app.model.calls.length, calls)
  assert.deepEqual(await app.owner(), before.owner)
  const unnamed = before.ledger.map((entry) => ({ ...entry, external_user_id: null }))
  assert.deepEqual(await app.ledger(), unnamed)
  const turn = await app.made('GET', `/turns/${first.json.request_id}`)
  assert.equal(before.turn.external_user_id, 'ann')
  assert.deepEqual({ ...turn, erased_at: null }, { ...before.turn, external_user_id: null })
  assert.notEqual(turn.erased_at, null)
  const seen = (await app.made('GET', `/conversations?key_id=${turn.key_id}`)).data.find(
    (one: Json) => one.id === first.json.conversation_id,
  )
  assert.deepEqual([seen.external_user_id, seen.message_count], [null, 0])
  assert.deepEqual((await app.made('GET', `/conversations/${seen.id}/messages`)).data, [])

  const call = app.model.nextCall()
  const fresh = await app.chat('Who am I?', { user: 'ann' })
  assert.notEqual(fresh.json.conversation_id, first.json.conversation_id)
  assert.ok(!JSON.stringify((await call).body).includes('Rosebud'))
  assert.equal((await app.messages('ann')).length, 2)
  await app.verify()
})

void test('erase: 409 conflict while a turn runs, and nothing of the conversation is erased', async () => {
  await app.chat('one', { user: 'busy' })
  const held = gate()
  app.model.script([held, 'two'])
  const asked = app.chat('two', { user: 'busy' })
  await held.reached
  const [conversation] = (await app.made('GET', '/conversations?external_user_id=busy')).data
  await refused(app.admin('DELETE', `/conversations/${conversation.id}`), 409, 'conflict')
  const user = `/agents/${app.caller.agentId}/end-users?external_user_id=busy`
  await refused(app.admin('DELETE', user), 409, 'conflict')
  held.open()
  assert.equal((await asked).status, 200)
  assert.equal((await app.messages('busy')).length, 4)
  assert.deepEqual(await app.made('DELETE', user), { conversations: 1, turns: 2, messages: 4 })
})

void test('erase: an unknown conversation or agent is 404, and a second erasure finds nothing left', async () => {
  await refused(app.admin('DELETE', '/conversations/conv_x'), 404, 'not_found')
  await refused(app.admin('DELETE', '/agents/agt_x/end-users?external_user_id=a'), 404, 'not_found')
  await refused(app.admin('DELETE', `/agents/${app.caller.agentId}/end-users`), 422, 'validation_error', /external_user_id/)
  const { json } = await app.chat('hi', { user: 'twice' })
  await app.made('DELETE', `/conversations/${json.conversation_id}`)
  const nothing = { conversations: 0, turns: 0, messages: 0 }
  assert.deepEqual(await app.made('DELETE', `/conversations/${json.conversation_id}`), nothing)
  assert.deepEqual(await app.made('DELETE', `/agents/${app.caller.agentId}/end-users?external_user_id=nobody`), nothing)
})

void test('erase: a user is erased across all keys of the agent, matched exactly, and no other user is', async () => {
  const key = await app.made('POST', `/agents/${app.caller.agentId}/keys`, { permission: 'full' })
  const second = { ...app.caller, apiKey: key.api_key }
  const other = await app.makeCaller()
  for (const caller of [app.caller, second, other]) await app.chat('hi', { user: 'Müller & Söhne', caller })
  await app.chat('hi', { user: 'müller & söhne' })
  const user = encodeURIComponent('Müller & Söhne')
  const erased = await app.made('DELETE', `/agents/${app.caller.agentId}/end-users?external_user_id=${user}`)
  assert.deepEqual(erased, { conversations: 2, turns: 2, messages: 4 })
  assert.equal((await app.messages('Müller & Söhne', second)).length, 0)
  assert.equal((await app.messages('Müller & Söhne', other)).length, 2)
  assert.equal((await app.messages('müller & söhne')).length, 2)
})

void test('erase: a released and a failed turn lose their text, and their Idempotency-Keys neither run nor replay', async () => {
  const caller = await app.makeCaller()
  const said = { user: 'unlucky', caller }
  app.model.script({ status: 400, body: 'no such thing as CANARY-QUOTED' })
  const released = await app.chat('CANARY-RELEASED', { ...said, idempotencyKey: 'released' })
  app.model.script([{ finish: 'stop' }], [{ finish: 'stop' }])
  const failed = await app.chat('CANARY-FAILED', { ...said, idempotencyKey: 'failed' })
  assert.deepEqual([released.status, failed.status], [500, 500])
  const states = (await turnsOf(caller.agentId)).map(({ state }) => state)
  assert.deepEqual(states, ['failed', 'released'])
  await app.made('DELETE', `/agents/${caller.agentId}/end-users?external_user_id=unlucky`)
  const calls = app.model.calls.length
  await refused(app.chat('CANARY-RELEASED', { ...said, idempotencyKey: 'released' }), 404, 'not_found')
  await refused(app.chat('CANARY-FAILED', { ...said, idempotencyKey: 'failed' }), 404, 'not_found')
  assert.equal(app.model.calls.length, calls)
  for (const turn of await turnsOf(caller.agentId)) {
    assert.notEqual(turn.erased_at, null)
    assert.equal(turn.failure.cause, null)
  }
  await erasureBy(undefined).sweep()
  assert.equal(await app.occurrences('CANARY-'), 0)
})

void test("erase: appears in the audit log and the server's log, without the end user's name", async () => {
  const { json } = await app.chat('hi', { user: 'named-in-no-log' })
  const answer = await app.admin('DELETE', `/agents/${app.caller.agentId}/end-users?external_user_id=named-in-no-log`)
  const { data } = await app.made('GET', '/audit?limit=1')
  assert.deepEqual(data, [
    {
      id: data[0].id,
      who: 'admin_token',
      author_id: null,
      author_name: null,
      verb: 'erase',
      noun: 'conversation',
      subject_id: json.conversation_id,
      fields: [],
      changes: null,
      request_id: answer.headers.get('x-request-id'),
      created_at: data[0].created_at,
    },
  ])
  await erasureBy(undefined).sweep()
  assert.equal(await app.occurrences('named-in-no-log'), 0)
  const logged: string[] = []
  const { json: next } = await app.chat('hi', { user: 'named-in-no-log' })
  const user = { agentId: app.caller.agentId, externalUserId: 'named-in-no-log' }
  await erasureBy(undefined, app, logged).eraseEndUser(user, { who: 'admin_token', requestId: randomUUID() })
  assert.match(logged.join(''), new RegExp(`${next.conversation_id}.*"msg":"conversations erased"`))
  assert.ok(!logged.join('').includes('named-in-no-log'))
})

const atOnce =
  storeKind === 'sqlite' ? 'the bytes are gone from the database and its log' : 'the text is gone from every row of every table'
void test(`erase: ${atOnce} when the call returns`, async () => {
  await using own = await startTestApp()
  own.model.script('CANARY-REPLY')
  const { json } = await own.chat('CANARY-TEXT', { user: 'CANARY-USER' })
  assert.ok((await own.occurrences('CANARY-')) >= 4)
  await own.made('DELETE', `/conversations/${json.conversation_id}`)
  assert.equal(await own.occurrences('CANARY-'), 0)
})

const later = storeKind === 'sqlite' ? 'the remnants that SQLite leaves where it moved rows' : 'no other rows'
void test(`erase: the next sweep removes ${later}`, async () => {
  await using own = await startTestApp()
  const users = Array.from({ length: 60 }, (_, index) => `CANARY-USER-${index}-`)
  own.model.when(/./, ({ lastUserMessage }) => `${'CANARY-REPLY '.repeat(lastUserMessage.length % 37)}.`)
  for (let round = 0; round < 4; round++) {
    await Promise.all(users.map((user, at) => answered(own, `CANARY-TEXT ${'word '.repeat((at * 7 + round * 13) % 300)}`, user)))
  }
  assert.ok((await own.occurrences('CANARY-')) > 1000)
  const end = `/agents/${own.caller.agentId}/end-users?external_user_id=`
  // Other rows stay between them, so that pages are not freed as a whole.
  const gone = users.filter((_, index) => index % 4 !== 0)
  for (const user of gone.toReversed()) await own.made('DELETE', end + user)
  const leftOf = async (some: string[]): Promise<number> =>
    (await Promise.all(some.map((user) => own.occurrences(user)))).reduce((sum, count) => sum + count)
  const remnants = await leftOf(gone)
  assert.ok(remnants < 5, `${remnants} remnants of ${gone.length} users`)
  await erasureBy(undefined, own).sweep()
  assert.equal(await leftOf(gone), 0)
  for (const user of users.filter((_, index) => index % 4 === 0)) assert.equal((await own.messages(user)).length, 8)
  for (const user of users) await own.made('DELETE', end + user)
  await erasureBy(undefined, own).sweep()
  assert.equal(await own.occurrences('CANARY-'), 0)
  await own.verify()
})

void test("erase: TURNKEEP_RETENTION_DAYS erases conversations by their last activity, by the store's clock", async () => {
  await using own = await startTestApp()
  await own.chat('old', { user: 'old' })
  await own.chat('old', { user: 'kept alive' })
  own.model.script({ status: 400, body: 'no' })
  await own.chat('old and released', { user: 'silent' })
  const erasure = erasureBy(30, own)
  await erasure.sweep()
  assert.equal((await own.messages('old')).length, 2)
  await own.moveClock(29 * dayMs)
  await own.chat('new', { user: 'kept alive' })
  await own.moveClock(dayMs + 60_000)
  await erasure.sweep()
  assert.equal((await own.messages('old')).length, 0)
  assert.equal((await own.messages('kept alive')).length, 4)
  const turns = (await own.made('GET', '/turns')).data
  assert.deepEqual(
    turns.map(({ state, erased_at: at }: Json) => [state, at !== null]),
    [
      ['completed', false],
      ['released', true],
      ['completed', false],
      ['completed', true],
    ],
  )
  const entries = (await own.made('GET', '/audit')).data.filter(({ verb }: Json) => verb === 'erase')
  assert.deepEqual(
    entries.map(({ who, request_id: id }: Json) => [who, id]),
    [
      ['server', null],
      ['server', null],
    ],
  )
  await own.verify()
  await erasureBy(undefined, own).sweep()
  assert.equal((await own.messages('kept alive')).length, 4)
})

void test('erase: more conversations than one batch are erased in one sweep', async () => {
  await using own = await startTestApp()
  await Promise.all(Array.from({ length: 45 }, (_, index) => answered(own, 'hi', `user-${index}`)))
  await own.moveClock(2 * dayMs)
  await erasureBy(1, own).sweep()
  const conversations = await allPages(own, '/conversations', 100)
  assert.equal(conversations.length, 45)
  assert.ok(conversations.every((one) => one.external_user_id === null && one.message_count === 0))
  await own.verify()
})

void test('erase: a round that is stopped does not rebuild the database', async () => {
  const { read, write, writeAs, forget } = app.app.store
  const seen: string[] = []
  const of = (clearEvents: typeof write.clearEvents): Erasure =>
    createErasure({
      store: { read, writeAs, write: { ...write, clearEvents }, forget: (depth) => (seen.push(depth), forget(depth)) },
      retentionDays: undefined,
      traceDays: 14,
      log: pino({ level: 'silent' }),
      newId: (prefix) => `${prefix}_${randomUUID()}`,
    })
  await of(async () => 0).sweep()
  assert.deepEqual(seen, ['vacuum'])
  const stopped = Promise.withResolvers<void>()
  // The process gets its signal while the round deletes old rows.
  const stopping = of(async () => {
    stopped.resolve(stopping.stop())
    return 0
  })
  await stopping.sweep()
  await stopped.promise
  assert.deepEqual(seen, ['vacuum'])
})

void test("erase: a journal is deleted after 30 days, and an erased turn's key once its record has expired", async () => {
  await using own = await startTestApp()
  own.model.script([{ toolCall: { id: 'c1', name: 'nothing', arguments: '{}' } }], 'done')
  const { json } = await own.chat('with a step', { user: 'ann', idempotencyKey: 'CANARY-KEY' })
  const steps = async (): Promise<number> => (await own.made('GET', `/turns/${json.request_id}`)).steps.length
  assert.ok((await steps()) > 0)
  const erasure = erasureBy(undefined, own)
  await own.moveClock(29 * dayMs)
  await erasure.sweep()
  assert.ok((await steps()) > 0)
  await own.moveClock(dayMs + 60_000)
  await erasure.sweep()
  assert.equal(await steps(), 0)
  assert.equal((await own.messages('ann')).length, 2)

  await own.made('DELETE', `/conversations/${json.conversation_id}`)
  await erasure.sweep()
  assert.equal(await own.occurrences('CANARY-KEY'), 0)
  assert.equal((await own.chat('with a step', { user: 'ann', idempotencyKey: 'CANARY-KEY' })).status, 200)
  await own.verify()
})

void test('erase: with 20 concurrent turns of the same user, no message is left in an erased conversation', async () => {
  await using own = await startTestApp()
  const end = `/agents/${own.caller.agentId}/end-users?external_user_id=ann`
  const outcomes = { answered: 0, busy: 0, erased: 0, refused: 0 }
  for (let round = 0; round < 5; round++) {
    await Promise.all([
      ...Array.from({ length: 20 }, async () => {
        const { status } = await own.chat(`message ${randomUUID()}`, { user: 'ann' })
        if (status === 200) outcomes.answered++
        else outcomes.busy++
      }),
      ...Array.from({ length: 10 }, async () => {
        const { status, json } = await own.admin('DELETE', end)
        if (status === 200) outcomes.erased += json.conversations
        else outcomes.refused++
      }),
    ])
    await own.verify()
  }
  assert.ok(outcomes.answered >= 5, JSON.stringify(outcomes))
  const last = await own.admin('DELETE', end)
  assert.equal(last.status, 200)
  assert.deepEqual(await own.messages('ann'), [])
  const erased = (await allPages(own, '/conversations', 100)).filter((one) => one.external_user_id === null)
  assert.equal(erased.length, outcomes.erased + last.json.conversations)
  for (const { id } of erased) assert.deepEqual((await own.made('GET', `/conversations/${id}/messages`)).data, [])
  const charges = (await own.ledger()).filter(({ kind }) => kind === 'charge')
  assert.equal(charges.length, outcomes.answered)
  await own.verify()
})
