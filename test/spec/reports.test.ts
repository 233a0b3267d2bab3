/** Reports for invoices: usage by group and the ledger of all owners, as JSON and as CSV (`billing.reports`, `export.csv`). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { pino } from 'pino'
import { ledgerCsv } from '../../src/http/admin/csv.ts'
import { createErasure } from '../../src/turn/erasure.ts'
import { allPages, once, refused, startAdminApp } from '../support/admin-app.ts'
import { readCsv, textOf } from '../support/read-csv.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Caller, Json, TestApp } from '../support/test-app.ts'

const app = await startAdminApp()
const dayMs = 24 * 60 * 60 * 1000
const csv = { accept: 'text/csv' }

/** Integers of 10^-8 USD. */
const units = (usd: string): bigint => BigInt(usd.replace('.', ''))
const sum = (rows: Json[], field = 'charged_usd'): bigint => rows.reduce((total, row) => total + units(row[field]), 0n)

async function readReport(own: TestApp, path: string): Promise<Record<string, string>[]> {
  const answer = await own.admin('GET', path, undefined, csv)
  assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, 'text/csv; charset=utf-8'], answer.text)
  return readCsv(answer.text)
}

/** An owner with three agents, the first with two keys, and another owner. Ann writes through all keys. */
async function makeShop(own: TestApp): Promise<{ first: Caller; second: Caller; agents: Caller[]; other: Caller }> {
  const first = await own.makeCaller()
  const addKey = async (agentId: string): Promise<Caller> => {
    const { api_key: apiKey } = await own.made('POST', `/agents/${agentId}/keys`, { permission: 'full' })
    return { agentId, apiKey, ownerId: first.ownerId }
  }
  const second = await addKey(first.agentId)
  const more = await Promise.all(['Sales', 'Returns'].map(async (name) => addKey((await own.makeAgent(first.ownerId, { name })).id)))
  const other = await own.makeCaller()
  const callers = [first, second, ...more, other]
  for (const [index, caller] of callers.entries()) {
    for (const user of ['ann', `user-${index}`]) await own.chat('hi', { user, caller })
  }
  await own.chat('again', { user: 'ann', caller: first })
  return { first, second, agents: [first, ...more], other }
}

void test('billing.reports: a month is divided by any groups, and every division adds up to the charges of the ledger', async () => {
  await using own = await startTestApp()
  const { first, agents, other } = await makeShop(own)
  own.model.script([{ finish: 'stop' }], [{ finish: 'stop' }])
  await own.chat('no reply', { user: 'ann', caller: first })

  const month = new Date().toISOString().slice(0, 7)
  const invoice = await allPages(own, `/usage?owner_id=${first.ownerId}&group_by=agent,month`, 2)
  assert.deepEqual(
    invoice.map((line) => [line.month, line.owner_id, line.agent_id, line.agent_name, line.completed, line.failed]),
    agents
      .map(({ agentId }, index) => [
        month,
        first.ownerId,
        agentId,
        ['Test agent', 'Sales', 'Returns'][index],
        index === 0 ? 5 : 2,
        index === 0 ? 1 : 0,
      ])
      .toSorted((one, another) => (String(one[2]) < String(another[2]) ? -1 : 1)),
  )
  const charges = await allPages(own, `/ledger?owner_id=${first.ownerId}`, 100)
  assert.equal(
    sum(invoice),
    -sum(
      charges.filter(({ kind }) => kind === 'charge'),
      'amount_usd',
    ),
  )
  assert.equal(sum(invoice), units((await own.made('GET', `/usage?owner_id=${first.ownerId}`)).totals.charged_usd))

  const all = sum([(await own.made('GET', '/usage')).totals])
  for (const groups of ['owner', 'agent', 'api_key', 'end_user', 'day', 'month', 'api_key,end_user', 'day,end_user', 'owner,month']) {
    const lines = await allPages(own, `/usage?group_by=${groups}`, 3)
    assert.equal(sum(lines), all, groups)
    const rows = await readReport(own, `/usage?group_by=${groups}`)
    const shown = lines.map((line) => Object.fromEntries(Object.entries(line).map(([name, value]) => [name, String(value ?? '')])))
    assert.deepEqual(rows, shown, groups)
  }
  assert.equal((await own.made('GET', '/usage?group_by=owner')).data.length, 2)
  assert.equal((await own.made('GET', '/usage?group_by=api_key')).data.length, 5)
  // Ann at an agent is one end user, whatever the key; Ann at another agent is another one.
  const users = (await allPages(own, '/usage?group_by=end_user', 100)).filter((line) => line.external_user_id === 'ann')
  assert.deepEqual(users.map(({ completed }) => completed).toSorted(), [1, 1, 1, 3])
  const ofAnn = await own.made('GET', `/usage?group_by=agent&external_user_id=ann&owner_id=${first.ownerId}`)
  assert.deepEqual(ofAnn.data.map((line: Json) => line.completed).toSorted(), [1, 1, 3])
  assert.equal((await own.made('GET', '/usage?external_user_id=ann')).totals.completed, 6)
  assert.equal((await own.made('GET', `/usage?external_user_id=ann&agent_id=${other.agentId}`)).totals.completed, 1)
  assert.equal((await own.made('GET', '/usage?external_user_id=Ann')).totals.turns, 0)
})

void test('billing.reports: an invoice of a past month stays the same when end users are erased and conversations grow old', async () => {
  await using own = await startTestApp()
  const { first } = await makeShop(own)
  const query = `owner_id=${first.ownerId}&group_by=api_key,month`
  const before = await own.made('GET', `/usage?${query}`)
  const ledger = await allPages(own, `/ledger?owner_id=${first.ownerId}`, 100)
  const users = await allPages(own, `/usage?owner_id=${first.ownerId}&group_by=end_user`, 100)

  await own.made('DELETE', `/agents/${first.agentId}/end-users?external_user_id=ann`)
  assert.deepEqual(await own.made('GET', `/usage?${query}`), before)
  const erased = await allPages(own, `/usage?owner_id=${first.ownerId}&group_by=end_user`, 100)
  assert.equal(sum(erased), sum(users))
  // Ann had a conversation with each of two keys.
  const unnamed = erased.filter((line) => line.external_user_id === null)
  assert.deepEqual(
    unnamed.map((line) => [line.completed, line.agent_id, String(line.erased_conversation_id).startsWith('conv_')]).toSorted(),
    [
      [1, first.agentId, true],
      [2, first.agentId, true],
    ],
  )
  assert.equal((await own.made('GET', `/usage?external_user_id=ann&agent_id=${first.agentId}`)).totals.turns, 0)

  await own.moveClock(40 * dayMs)
  const range = `from=${new Date(Date.now() - dayMs).toISOString()}&to=${new Date(Date.now() + dayMs).toISOString()}`
  const past = await own.made('GET', `/usage?${query}&${range}`)
  assert.deepEqual(past, before)
  let next = 0
  const erasure = createErasure({
    store: own.app.store,
    retentionDays: 30,
    traceDays: 14,
    log: pino({ level: 'silent' }),
    newId: (prefix) => `${prefix}_swept${next++}`,
  })
  await erasure.sweep()
  assert.equal(
    (await own.made('GET', `/usage?group_by=end_user&${range}`)).data.filter((line: Json) => line.external_user_id !== null).length,
    0,
  )
  assert.deepEqual(await own.made('GET', `/usage?${query}&${range}`), past)
  const unnamedLedger = ledger.map((entry) => ({ ...entry, external_user_id: null }))
  assert.deepEqual(await allPages(own, `/ledger?owner_id=${first.ownerId}`, 100), unnamedLedger)
  await own.verify()
})

void test('billing.reports: the ledger of all owners is filtered by owner, agent, key, end user and time', async () => {
  await using own = await startTestApp()
  const { first, second, other } = await makeShop(own)
  await own.made('POST', `/owners/${other.ownerId}/ledger`, { amount_usd: '5', note: 'top up' }, once())
  await own.made('POST', `/owners/${other.ownerId}/ledger`, { amount_usd: '-1', note: 'correction' }, once())
  const list = (query: string): Promise<Json[]> => allPages(own, `/ledger?${query}`, 4)
  const all = await list('')
  assert.deepEqual(
    all,
    all.toSorted((one, another) => (one.created_at + one.id < another.created_at + another.id ? 1 : -1)),
  )
  assert.equal(all.filter(({ kind }) => kind === 'charge').length, 11)
  assert.deepEqual(
    await list(`owner_id=${other.ownerId}`),
    all.filter((entry) => entry.owner_id === other.ownerId),
  )
  assert.deepEqual(
    await list(`agent_id=${first.agentId}`),
    all.filter((entry) => entry.agent_id === first.agentId),
  )
  const keys = (await own.made('GET', `/agents/${second.agentId}/keys`)).data
  for (const key of keys) {
    const expected = all.filter((entry) => entry.key_id === key.id)
    assert.ok(expected.length > 0)
    for (const id of [key.id, key.key_id]) assert.deepEqual(await list(`key_id=${id}`), expected)
  }
  const anns = all.filter((entry) => entry.external_user_id === 'ann')
  assert.equal(anns.length, 6)
  assert.deepEqual(await list('external_user_id=ann'), anns)
  assert.deepEqual(
    await list(`external_user_id=ann&owner_id=${other.ownerId}`),
    anns.filter((entry) => entry.owner_id === other.ownerId),
  )
  for (const kind of ['credit', 'adjustment', 'charge'])
    assert.deepEqual(
      await list(`kind=${kind}&owner_id=${other.ownerId}`),
      all.filter((entry) => entry.kind === kind && entry.owner_id === other.ownerId),
    )
  assert.deepEqual(
    await list('kind=credit'),
    all.filter(({ kind }) => kind === 'credit'),
  )
  // From is included, to is not.
  const [from, to] = [all.at(-3)!.created_at, all[2]!.created_at]
  const between = all.filter((entry) => entry.created_at >= from && entry.created_at < to)
  assert.ok(between.length < all.length - 2 && between.length > 0)
  assert.deepEqual(await list(`from=${from}&to=${to}`), between)
  assert.deepEqual(
    (await readReport(own, `/ledger?from=${from}&to=${to}`)).map(({ id, external_user_id: user, amount_usd: amount }) => [
      id,
      user,
      amount,
    ]),
    between.map(({ id, external_user_id: user, amount_usd: amount }) => [id, user ?? '', amount]),
  )
  assert.deepEqual(await list('agent_id=agt_x'), [])
  await refused(own.admin('GET', '/ledger?owner_id=own_x'), 404, 'not_found')
  await refused(own.admin('GET', '/ledger?from=2026-02-02&to=2026-02-02'), 422, 'validation_error', /before/)
})

void test('billing.reports: a line includes the turn that ends at its first millisecond and not the one at its end', async () => {
  await using own = await startTestApp()
  const { json } = await own.chat('hi')
  const end = Date.parse((await own.made('GET', `/turns/${json.request_id}`)).ended_at)
  const count = async (from: number, to: number): Promise<number> => {
    const range = `from=${new Date(from).toISOString()}&to=${new Date(to).toISOString()}`
    const lines = (await own.made('GET', `/usage?group_by=owner&${range}`)).data
    assert.equal((await own.made('GET', `/usage?${range}`)).totals.turns, lines[0]?.turns ?? 0)
    return lines[0]?.turns ?? 0
  }
  assert.deepEqual([await count(end, end + 1), await count(end - 1, end), await count(end + 1, end + 2)], [1, 0, 0])
})

void test('export.csv: what a spreadsheet would run is marked, and removing one apostrophe returns every text', async () => {
  const special = [
    '=HYPERLINK("x")',
    '+49 30 1234',
    '-1',
    '@ann',
    '\t=1',
    "'=1",
    "''",
    '＝1',
    'a=b',
    'said "hi", twice\r\nand left',
    'ä,ö',
    '',
  ]
  const texts = fc.oneof(fc.constantFrom(...special), fc.string({ unit: 'grapheme', maxLength: 12 }))
  await fc.assert(
    fc.asyncProperty(texts, texts, async (note, externalUserId) => {
      const entry = {
        id: 'led_1',
        ownerId: 'own_1',
        kind: 'charge' as const,
        amount: -1n,
        writtenOff: 0n,
        requestId: null,
        note,
        createdAt: 0,
        agentId: null,
        apiKeyId: null,
        conversationId: null,
        externalUserId,
      }
      let text = ''
      for await (const part of await ledgerCsv(async () => ({ data: [entry], nextCursor: null }))) text += part
      const [row] = readCsv(text)
      assert.deepEqual([textOf(row!['note']!), textOf(row!['external_user_id']!)], [note, externalUserId])
      for (const field of [row!['note']!, row!['external_user_id']!]) assert.doesNotMatch(field, /^[=+\-@\t\r\n＝＋－＠]/)
      assert.equal(row!['amount_usd'], '-0.00000001')
    }),
    { numRuns: 300 },
  )
})

void test('export.csv: the columns are exactly these', async () => {
  const { text: usage } = await app.admin('GET', '/usage', undefined, csv)
  assert.equal(
    usage.split('\r\n')[0],
    'month,day,owner_id,owner_name,agent_id,agent_name,key_id,key_name,external_user_id,erased_conversation_id,turns,completed,failed,released,cancelled,prompt_tokens,completion_tokens,charged_usd,written_off_usd,unpaid_usd',
  )
  const { text: ledger } = await app.admin('GET', '/ledger', undefined, csv)
  assert.equal(
    ledger.split('\r\n')[0],
    'id,created_at,kind,amount_usd,written_off_usd,request_id,note,owner_id,agent_id,key_id,conversation_id,external_user_id',
  )
})

const refusals: Record<string, RegExp> = {
  'group_by=week': /group_by.*owner, agent/,
  'group_by=': /group_by/,
  'group_by=day,day': /group_by/,
  'group_by=day&bucket=hour': /bucket/,
  'group_by=day&from=2025-01-01&to=2026-02-06': /400 days/,
  'group_by=day&from=2026-02-02&to=2026-02-01': /before/,
  'group_by=day&limit=101': /limit/,
  'limit=5': /limit and cursor need group_by/,
  'external_user_id=': /external_user_id/,
}
for (const [query, words] of Object.entries(refusals)) {
  void test(`usage: ${query} is refused with the parameter name`, () =>
    refused(app.admin('GET', `/usage?${query}`), 422, 'validation_error', words))
}

void test('paging: a cursor of lines that was changed is refused', async () => {
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const wrong = [
    'x',
    encode([]),
    encode(['', 'a', 'b', 'c', 'd']),
    encode(['', 'a', 'b', 'c', 'd', '\0']),
    encode(['', '', '', '', '', 5]),
    'W'.repeat(5000),
  ]
  for (const cursor of wrong) await refused(app.admin('GET', `/usage?group_by=day&cursor=${cursor}`), 422, 'validation_error', /cursor/)
})
