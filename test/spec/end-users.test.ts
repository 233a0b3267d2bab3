/** End users of an agent: the list, one of them, and the export of all data of one (`end-users`, `end-users.export`). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allPages, refused, startAdminApp } from '../support/admin-app.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Caller, Json, TestApp } from '../support/test-app.ts'

const app = await startAdminApp()
const dayMs = 24 * 60 * 60 * 1000
const units = (usd: string): bigint => BigInt(usd.replace('.', ''))

async function secondKey(own: TestApp): Promise<Caller> {
  const { agentId, ownerId } = own.caller
  const { api_key: apiKey } = await own.made('POST', `/agents/${agentId}/keys`, { permission: 'full' })
  return { agentId, apiKey, ownerId }
}

/** One line of usage for each end user of the agent, as an independent answer. */
async function spentBy(own: TestApp): Promise<Map<string, string>> {
  const lines = await allPages(own, `/usage?agent_id=${own.caller.agentId}&group_by=end_user`, 100)
  return new Map(lines.filter((line) => line.external_user_id !== null).map((line) => [line.external_user_id, line.charged_usd]))
}

void test('end-users: are listed by spend or last activity, with the keys of the agent together, and page by page', async () => {
  await using own = await startTestApp()
  const path = `/agents/${own.caller.agentId}/end-users`
  const second = await secondKey(own)
  const tokens = { ann: 400, ben: 100, 'zoë 😀': 100, cem: 250 }
  for (const [user, completion_tokens] of Object.entries(tokens)) {
    own.model.script(['hi', { usage: { prompt_tokens: 10, completion_tokens } }])
    assert.equal((await own.chat('hi', { user })).status, 200)
  }
  own.model.script(['hi', { usage: { prompt_tokens: 10, completion_tokens: 300 } }])
  await own.chat('hi', { user: 'ben', caller: second })
  await own.chat('hi', { user: 'stranger', caller: await own.makeCaller() })

  const spent = await spentBy(own)
  const bySpend = [...spent].toSorted(([a, one], [b, other]) => Number(units(other) - units(one)) || (a < b ? 1 : -1))
  for (const limit of [1, 2, 100]) {
    const users = await allPages(own, `${path}?sort=spend&window=month`, limit)
    assert.deepEqual(
      users.map((user) => [user.external_user_id, user.spent_usd]),
      bySpend,
    )
    assert.deepEqual(await allPages(own, path, limit), users, 'the defaults')
    assert.deepEqual(await allPages(own, `${path}?window=total`, limit), users)
  }
  assert.deepEqual(
    (await allPages(own, `${path}?sort=last_activity&window=total`, 3)).map((user) => [user.external_user_id, user.turns]),
    [
      ['ben', 2],
      ['cem', 1],
      ['zoë 😀', 1],
      ['ann', 1],
    ],
  )

  // A window is the calendar day or month of the store's clock. A failed turn is activity without spend.
  await own.moveClock(2 * dayMs)
  assert.deepEqual((await own.made('GET', `${path}?window=day`)).data, [])
  own.model.script([{ finish: 'stop' }], [{ finish: 'stop' }])
  assert.equal((await own.chat('hi', { user: 'ann' })).status, 500)
  const [today] = (await own.made('GET', `${path}?window=day`)).data
  assert.deepEqual([today.external_user_id, today.spent_usd, today.turns], ['ann', '0.00000000', 1])
  const ann = await own.made('GET', `${path}/detail?external_user_id=ann`)
  assert.deepEqual(
    [ann.spend.day, ann.spend.total],
    [
      { spent_usd: '0.00000000', turns: 1 },
      { spent_usd: spent.get('ann'), turns: 2 },
    ],
  )
  assert.equal(ann.last_activity_at, today.last_activity_at)

  await own.made('DELETE', `${path}?external_user_id=ann`)
  assert.deepEqual(
    (await allPages(own, `${path}?window=total`, 100)).map((user) => user.external_user_id),
    bySpend.map(([user]) => user).filter((user) => user !== 'ann'),
  )
  await refused(own.admin('GET', `${path}/detail?external_user_id=ann`), 404, 'not_found', /end user/)
  await refused(own.admin('GET', `${path}/export?external_user_id=ann`), 404, 'not_found', /end user/)
})

void test('end-users: the list and the detail have spend and feedback, and the detail the conversation of each key', async () => {
  await using own = await startTestApp()
  const path = `/agents/${own.caller.agentId}/end-users`
  const second = await secondKey(own)
  const turns = [
    await own.chat('one', { user: 'ann' }),
    await own.chat('two', { user: 'ann' }),
    await own.chat('three', { user: 'ann', caller: second }),
  ]
  for (const [index, rating] of ['up', 'down', 'up'].entries()) {
    const caller = index === 2 ? second : own.caller
    const given = await own.chatRequest({ rating }, { caller, path: `turns/${turns[index]!.json.request_id}/feedback` })
    assert.equal(given.status, 200)
  }
  await own.chat('other', { user: 'ben' })
  const feedbackIn = async (window: string) =>
    (await own.made('GET', `${path}?window=${window}`)).data.map((user: Json) => [user.external_user_id, user.feedback])
  const listed = [
    ['ann', { up: 2, down: 1 }],
    ['ben', { up: 0, down: 0 }],
  ]
  assert.deepEqual((await feedbackIn('day')).toSorted(), listed)
  assert.deepEqual((await feedbackIn('total')).toSorted(), listed)
  const found = await own.made('GET', `${path}/detail?external_user_id=ann`)
  assert.deepEqual(
    [found.agent_id, found.external_user_id, found.feedback, found.spend.total],
    [own.caller.agentId, 'ann', { up: 2, down: 1 }, { spent_usd: (await spentBy(own)).get('ann'), turns: 3 }],
  )
  assert.deepEqual(
    found.conversations.map((one: Json) => [one.id, one.message_count]),
    [
      [turns[0]!.json.conversation_id, 4],
      [turns[2]!.json.conversation_id, 2],
    ],
  )
})

/** Exports an end user; the lines by type. */
async function exportOf(own: TestApp, user: string): Promise<Record<string, Json[]>> {
  const path = `/agents/${own.caller.agentId}/end-users/export?external_user_id=${encodeURIComponent(user)}`
  const answer = await own.admin('GET', path)
  assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, 'application/x-ndjson; charset=utf-8'])
  assert.ok(answer.text.endsWith('\n'))
  const lines = answer.text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Json)
  return Object.groupBy(lines, ({ type }) => type) as Record<string, Json[]>
}

void test('end-users.export: has every text and figure of the end user with all keys of the agent, and nothing of others', async () => {
  await using own = await startTestApp()
  const second = await secondKey(own)
  const good = await own.chat('My name is Rosebud', { user: 'ann' })
  await own.chatRequest({ rating: 'down', comment: 'Not Rosebud', tags: ['name'] }, { path: `turns/${good.json.request_id}/feedback` })
  own.model.script([{ finish: 'stop' }], [{ finish: 'stop' }])
  const failed = await own.chat('Fail, Rosebud', { user: 'ann' })
  assert.equal(failed.status, 500)
  await own.chat('Through another key', { user: 'ann', caller: second })
  await own.chat('Of ben', { user: 'ben' })
  await own.chat('Of another ann', { user: 'ann', caller: await own.makeCaller() })

  const { conversation, message, turn, feedback, ledger_entry: entries, ...rest } = await exportOf(own, 'ann')
  assert.deepEqual(rest, {})
  const ids = conversation!.map(({ id }) => id)
  const listed = await allPages(own, `/conversations?agent_id=${own.caller.agentId}&external_user_id=ann`, 100)
  assert.deepEqual(conversation!.map(({ type: _, ...one }) => ({ ...one, turn: null })).toSorted(byId), listed.toSorted(byId))
  for (const id of ids) {
    const stored = await allPages(own, `/conversations/${id}/messages`, 100)
    assert.deepEqual(
      message!.filter((one) => one.conversation_id === id).map(({ type: _, conversation_id: __, ...one }) => one),
      stored,
    )
    const turns = await allPages(own, `/turns?conversation_id=${id}`, 100)
    assert.deepEqual(
      turn!
        .filter((one) => one.conversation_id === id)
        .map(({ type: _, message: __, ...one }) => one)
        .toSorted(byRequest),
      turns.toSorted(byRequest),
    )
  }
  assert.deepEqual(
    turn!.map((one) => [one.state, one.message]),
    [
      ['completed', null],
      ['failed', 'Fail, Rosebud'],
      ['completed', null],
    ],
  )
  assert.deepEqual([feedback!.length, feedback![0]!.comment, feedback![0]!.request_id], [1, 'Not Rosebud', good.json.request_id])
  const charges = await allPages(own, `/ledger?agent_id=${own.caller.agentId}&external_user_id=ann`, 100)
  const plain = ({ id, amount_usd, request_id, created_at }: Json): Json => ({ id, amount_usd, request_id, created_at })
  assert.deepEqual(entries!.map(plain).toSorted(byId), charges.map(plain).toSorted(byId))
  assert.ok(!JSON.stringify([message, turn]).includes('Of ben'))
  assert.ok(!JSON.stringify([message, turn]).includes('Of another ann'))
  // Everything that an erasure removes was exported.
  const erased = await own.made('DELETE', `/agents/${own.caller.agentId}/end-users?external_user_id=ann`)
  assert.deepEqual(erased, { conversations: ids.length, turns: turn!.length, messages: message!.length })
})

const byId = (one: Json, other: Json): number => (one.id < other.id ? -1 : 1)
const byRequest = (one: Json, other: Json): number => (one.request_id < other.request_id ? -1 : 1)

void test('end-users.export: more than one page of messages and turns is exported once', async () => {
  await using own = await startTestApp()
  for (let turn = 0; turn < 53; turn++) assert.equal((await own.chat(`message ${turn}`, { user: 'ann' })).status, 200)
  const { message, turn, ledger_entry: entries } = await exportOf(own, 'ann')
  assert.deepEqual([message!.length, turn!.length, entries!.length], [106, 53, 53])
  for (const list of [message!, entries!]) assert.equal(new Set(list.map(({ id }) => id)).size, list.length)
  assert.equal(new Set(turn!.map(({ request_id: id }) => id)).size, 53)
})

const refusals: [query: string, status: number, code: string, words: RegExp][] = [
  ['?sort=name', 422, 'validation_error', /sort/],
  ['?window=week', 422, 'validation_error', /window/],
  ['?limit=0', 422, 'validation_error', /limit/],
  ['?cursor=x', 422, 'validation_error', /cursor/],
  [`?cursor=${Buffer.from('["-1","a"]').toString('base64url')}`, 422, 'validation_error', /cursor/],
  ['/detail', 422, 'validation_error', /external_user_id/],
  ['/detail?external_user_id=no-one', 404, 'not_found', /end user/],
  ['/export', 422, 'validation_error', /external_user_id/],
  ['/export?external_user_id=no-one', 404, 'not_found', /end user/],
]
for (const [query, status, code, words] of refusals) {
  void test(`end-users: ${query} is refused`, () =>
    refused(app.admin('GET', `/agents/${app.caller.agentId}/end-users${query}`), status, code, words))
}
void test('end-users: an unknown agent is 404 on every path', async () => {
  for (const path of ['', '/detail?external_user_id=a', '/export?external_user_id=a'])
    await refused(app.admin('GET', `/agents/agt_x/end-users${path}`), 404, 'not_found', /agent/)
})
