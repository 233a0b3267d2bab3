/** Admin API: owners and their ledger over real HTTP. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allPages, badNames, once, refused, startAdminApp } from '../support/admin-app.ts'
import type { Json } from '../support/test-app.ts'

const app = await startAdminApp()

const makeOwner = (balance_usd?: string): Promise<Json> =>
  app.made('POST', '/owners', { name: 'Ada', ...(balance_usd === undefined ? {} : { balance_usd }) })
const add = (ownerId: string, body: Json, headers = once()) => app.admin('POST', `/owners/${ownerId}/ledger`, body, headers)

void test('owners: creates an owner whose balance is its first ledger entry, with 8 decimal places', async () => {
  const { status, json } = await app.admin('POST', '/owners', { name: 'Ada', balance_usd: '12.5' })
  assert.equal(status, 201)
  assert.match(json.id, /^own_[0-9a-hjkmnp-tv-z]{26}$/)
  assert.match(json.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.deepEqual(json, {
    id: json.id,
    name: 'Ada',
    balance_usd: '12.50000000',
    held_usd: '0.00000000',
    unpaid_usd: '0.00000000',
    available_usd: '12.50000000',
    low_balance_usd: null,
    created_at: json.created_at,
  })
  assert.deepEqual(await app.made('GET', `/owners/${json.id}`), {
    ...json,
    running_turns: [],
    indexing: { queued_documents: 0, max_queued_documents: 2_000, cpu_seconds: 0, max_cpu_seconds: 1_800, waits_until: null },
  })
  const { data } = await app.made('GET', `/owners/${json.id}/ledger`)
  assert.deepEqual(
    data.map(({ kind, amount_usd }: Json) => [kind, amount_usd]),
    [['credit', '12.50000000']],
  )
  await app.verify()
})

void test('owners: an owner created without a balance has an empty ledger', async () => {
  for (const balance of [undefined, '0', '0.00000000']) {
    const owner = await makeOwner(balance)
    assert.equal(owner.balance_usd, '0.00000000')
    assert.deepEqual(await app.made('GET', `/owners/${owner.id}/ledger`), { data: [], next_cursor: null })
  }
})

void test('owners: the name can be changed, and nothing else', async () => {
  const owner = await makeOwner('1')
  assert.deepEqual(await app.made('PATCH', `/owners/${owner.id}`, { name: 'Grace' }), { ...owner, name: 'Grace' })
  assert.deepEqual(await app.made('PATCH', `/owners/${owner.id}`, {}), { ...owner, name: 'Grace' })
  await refused(app.admin('PATCH', `/owners/${owner.id}`, { balance_usd: '5' }), 422, 'validation_error', /balance_usd/)
})

void test('owners: an unknown owner is 404 on every path', async () => {
  await refused(app.admin('GET', '/owners/own_x'), 404, 'not_found')
  await refused(app.admin('PATCH', '/owners/own_x', { name: 'x' }), 404, 'not_found')
  await refused(app.admin('GET', '/owners/own_x/ledger'), 404, 'not_found')
  await refused(app.admin('GET', '/owners/own_x/ledger', undefined, { accept: 'text/csv' }), 404, 'not_found')
  await refused(add('own_x', { amount_usd: '1' }), 404, 'not_found')
})

for (const [what, name] of Object.entries(badNames)) {
  void test(`text.well-formed: a name that is ${what} is refused with the field name`, async () => {
    await refused(app.admin('POST', '/owners', { name }), 422, 'validation_error', /name/)
  })
}

void test('owners: a name of 200 emoji is accepted, since lengths are counted in code points', async () => {
  const name = '😀'.repeat(200)
  assert.equal((await app.made('POST', '/owners', { name })).name, name)
})

for (const balance_usd of [
  '-1',
  '1.123456789',
  '1e3',
  '',
  ' 1',
  '+1',
  '0x10',
  '1000000000.00000001',
  '99999999999',
  '1,5',
  1,
  true,
  null,
]) {
  void test(`owners: balance_usd ${JSON.stringify(balance_usd)} is refused with the field name`, async () => {
    await refused(app.admin('POST', '/owners', { name: 'x', balance_usd }), 422, 'validation_error', /balance_usd/)
  })
}

void test('owners: unknown fields are refused, including __proto__', async () => {
  await refused(app.admin('POST', '/owners', { name: 'x', id: 'own_mine' }), 422, 'validation_error', /id/)
  const body = '{"name":"x","__proto__":{"balance_usd":"5"}}'
  const answer = await fetch(`${app.app.adminUrl}/admin/v1/owners`, {
    method: 'POST',
    headers: { authorization: 'Bearer test-admin-token', 'content-type': 'application/json' },
    body,
  })
  assert.equal(answer.status, 422)
})

void test('paging: owners are newest first, page by page, each exactly once while more are added', async () => {
  const made: string[] = []
  for (let n = 0; n < 7; n++) made.push((await makeOwner()).id)
  const first = await app.made('GET', '/owners?limit=3')
  await makeOwner()
  const second = await app.made('GET', `/owners?limit=4&cursor=${first.next_cursor}`)
  assert.deepEqual(
    [...first.data, ...second.data].map(({ id }: Json) => id),
    made.toReversed(),
  )
  const all = await allPages(app, '/owners', 4)
  assert.equal(new Set(all.map(({ id }) => id)).size, all.length)
})

for (const query of ['limit=0', 'limit=101', 'limit=1.5', 'limit=', 'limit=x', 'cursor=', 'cursor=nonsense', 'page=2', 'limit=5&limit=6']) {
  void test(`paging: ?${query} is refused`, async () => {
    await refused(app.admin('GET', `/owners?${query}`), 422, 'validation_error')
  })
}

void test('ledger: a credit and an adjustment change the balance and are listed newest first', async () => {
  const owner = await makeOwner('1')
  const credit = await add(owner.id, { amount_usd: '2.00000001', note: 'invoice 7' })
  assert.equal(credit.status, 201)
  assert.deepEqual(credit.json, {
    id: credit.json.id,
    owner_id: owner.id,
    kind: 'credit',
    amount_usd: '2.00000001',
    written_off_usd: '0.00000000',
    request_id: null,
    note: 'invoice 7',
    created_at: credit.json.created_at,
  })
  assert.equal((await add(owner.id, { amount_usd: '-3.00000001' })).json.kind, 'adjustment')
  assert.equal((await app.made('GET', `/owners/${owner.id}`)).balance_usd, '0.00000000')
  const entries = await allPages(app, `/owners/${owner.id}/ledger`, 2)
  assert.deepEqual(
    entries.map(({ amount_usd }) => amount_usd),
    ['-3.00000001', '2.00000001', '1.00000000'],
  )
  await app.verify()
})

void test('balance_never_negative: of 20 concurrent withdrawals on a balance that covers 7, 7 succeed and 13 conflict', async () => {
  const owner = await makeOwner('7.5')
  const answers = await Promise.all(Array.from({ length: 20 }, () => add(owner.id, { amount_usd: '-1' })))
  assert.equal(answers.filter(({ status }) => status === 201).length, 7)
  const conflicts = answers.filter(({ status, json }) => status === 409 && json.error.code === 'conflict')
  assert.equal(conflicts.length, 13)
  assert.equal((await app.made('GET', `/owners/${owner.id}`)).available_usd, '0.50000000')
  await app.verify()
})

void test('one_entry_per_key: 20 concurrent calls with one Idempotency-Key create one entry and all return it', async () => {
  const owner = await makeOwner()
  const headers = once()
  const answers = await Promise.all(Array.from({ length: 20 }, () => add(owner.id, { amount_usd: '5', note: 'top-up' }, headers)))
  assert.deepEqual(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size, 1)
  assert.equal(answers[0]!.status, 201)
  assert.equal((await app.made('GET', `/owners/${owner.id}`)).balance_usd, '5.00000000')
  await refused(add(owner.id, { amount_usd: '6', note: 'top-up' }, headers), 409, 'conflict', /Idempotency-Key/)
  await refused(add(owner.id, { amount_usd: '5' }, headers), 409, 'conflict', /Idempotency-Key/)
  assert.equal((await add((await makeOwner()).id, { amount_usd: '5' }, headers)).status, 201, 'another owner has keys of its own')
})

void test('ledger: an Idempotency-Key is required', async () => {
  const owner = await makeOwner()
  await refused(add(owner.id, { amount_usd: '5' }, {}), 422, 'validation_error', /Idempotency-Key/)
  await refused(add(owner.id, { amount_usd: '5' }, { 'idempotency-key': 'k'.repeat(256) }), 422, 'validation_error', /Idempotency-Key/)
})

void test('ledger: a zero amount, an amount out of bounds or an invalid note is refused, and a balance has an upper bound', async () => {
  const owner = await makeOwner()
  for (const amount_usd of ['0', '-0', '0.000000001', '1000000000.1', '-1000000001', 5]) {
    await refused(add(owner.id, { amount_usd }), 422, 'validation_error', /amount_usd/)
  }
  await refused(add(owner.id, { amount_usd: '1', note: 'a\u0000' }), 422, 'validation_error', /note/)
  assert.equal((await add(owner.id, { amount_usd: '1000000000' })).status, 201)
  await refused(add(owner.id, { amount_usd: '0.00000001' }), 409, 'conflict', /must not exceed/)
})

void test('ledger: Accept text/csv returns the whole ledger, quoted', async () => {
  const owner = await makeOwner('1')
  await add(owner.id, { amount_usd: '2', note: 'said "hi", twice\nand left' })
  for (const note of ['=HYPERLINK("x")', '+1', '-1', '@SUM(A1)', '\t=1', 'a=b']) await add(owner.id, { amount_usd: '-0.00000001', note })
  const { headers, text, status } = await app.admin('GET', `/owners/${owner.id}/ledger`, undefined, { accept: 'text/csv' })
  assert.equal(status, 200)
  assert.match(headers.get('content-type')!, /^text\/csv/)
  const { data } = await app.made('GET', `/owners/${owner.id}/ledger`)
  assert.equal(
    text,
    [
      'id,created_at,kind,amount_usd,written_off_usd,request_id,note,owner_id,agent_id,key_id,conversation_id,external_user_id',
      // What a spreadsheet would run as a formula is prefixed; a negative amount stays a number.
      ...['a=b', "'\t=1", "'@SUM(A1)", "'-1", "'+1", `"'=HYPERLINK(""x"")"`].map(
        (note, n) => `${data[n].id},${data[n].created_at},adjustment,-0.00000001,0.00000000,,${note},${owner.id},,,,`,
      ),
      `${data[6].id},${data[6].created_at},credit,2.00000000,0.00000000,,"said ""hi"", twice\nand left",${owner.id},,,,`,
      `${data[7].id},${data[7].created_at},credit,1.00000000,0.00000000,,,${owner.id},,,,`,
      '',
    ].join('\r\n'),
  )
})

void test('ledger: a CSV longer than one page of the query contains each entry once', async () => {
  const { id: ownerId } = await makeOwner()
  const entries = Array.from({ length: 1050 }, (_, n) => ({ ownerId, idempotencyKey: `k${n}`, amount: 1n, note: null }))
  // If all were sent concurrently, the last of them could exceed the write timeout.
  while (entries.length > 0) await Promise.all(entries.splice(0, 50).map((entry) => app.app.admin.addLedgerEntry(entry)))
  const { text } = await app.admin('GET', `/owners/${ownerId}/ledger`, undefined, { accept: 'text/csv' })
  const ids = text
    .trim()
    .split('\r\n')
    .slice(1)
    .map((line) => line.split(',')[0])
  assert.deepEqual([ids.length, new Set(ids).size], [1050, 1050])
})
