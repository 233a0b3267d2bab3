/** GET /audit: who changed what, with the values before and after, its filters, and as CSV. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { allPages, once, refused, startAdminApp } from '../support/admin-app.ts'
import { readCsv } from '../support/read-csv.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'

const app = await startAdminApp()

void test('audit: every change has one entry with its field names and request id, and a change without a difference has none', async () => {
  const lines = async (): Promise<Json[]> => allPages(app, '/audit', 7)
  const before = (await lines()).length
  // Null: any fields.
  const expected: [string, string, string[] | null][] = []
  const requests: string[] = []
  async function change(
    method: string,
    path: string,
    body: Json | undefined,
    line: [string, string, string[] | null] | null,
    headers = {},
  ) {
    const answer = await app.admin(method, path, body, headers)
    if (!line) return answer.json
    assert.ok(answer.status < 300, answer.text)
    requests.push(answer.headers.get('x-request-id')!)
    expected.push(line)
    return answer.json
  }
  const key = once()
  const owner = await change('POST', '/owners', { name: 'a' }, ['create', 'owner', null])
  await change('PATCH', `/owners/${owner.id}`, { name: 'b' }, ['change', 'owner', ['name']])
  await change('PATCH', `/owners/${owner.id}`, { name: 'b' }, null)
  await change(
    'POST',
    `/owners/${owner.id}/ledger`,
    { amount_usd: '5' },
    ['append', 'ledger_entry', ['amount_usd', 'kind', 'owner_id']],
    key,
  )
  await change('POST', `/owners/${owner.id}/ledger`, { amount_usd: '5' }, null, key)
  await change('POST', `/owners/${owner.id}/ledger`, { amount_usd: '-50' }, null, once())
  const provider = { name: 'audited', kind: 'openai', api_key: 'SECRET-PROVIDER-KEY' }
  const { id: providerId } = await change('POST', '/providers', provider, ['create', 'provider', null])
  await change('POST', '/providers', provider, null)
  await change('PATCH', `/providers/${providerId}`, { api_key: 'SECRET-2' }, ['change', 'provider', ['api_key']])
  await change('DELETE', `/providers/${providerId}`, undefined, ['delete', 'provider', null])
  const fields = { owner_id: owner.id, name: 'a', system_prompt: 'Be brief.', model: 'demo/demo' }
  const agent = await change('POST', '/agents', fields, ['create', 'agent', null])
  const changes = { system_prompt: 'Be kind.', max_steps: 3, history: { max_tokens: 5 } }
  await change('PATCH', `/agents/${agent.id}`, changes, [
    'change',
    'agent',
    ['history.max_tokens', 'max_steps', 'system_prompt', 'version'],
  ])
  await change('PATCH', `/agents/${agent.id}`, changes, null)
  await change('PATCH', `/agents/${agent.id}`, { enabled: false }, ['change', 'agent', ['enabled']])
  await change('POST', `/agents/${agent.id}/rollback`, { version: 1 }, [
    'change',
    'agent',
    ['history.max_tokens', 'max_steps', 'system_prompt', 'version'],
  ])
  const apiKey = await change('POST', `/agents/${agent.id}/keys`, { permission: 'full' }, ['create', 'key', null])
  const limit = { name: 'x', rate_limit: { limit: 5, window_seconds: 5 } }
  await change('PATCH', `/keys/${apiKey.id}`, limit, ['change', 'key', ['name', 'rate_limit.limit', 'rate_limit.window_seconds']])
  const rotated = await change('POST', `/keys/${apiKey.id}/rotate`, undefined, ['rotate', 'key', []])
  await change('DELETE', `/keys/${apiKey.id}`, undefined, ['revoke', 'key', []])
  await change('DELETE', `/keys/${apiKey.id}`, undefined, null)
  await change('DELETE', `/agents/${agent.id}`, undefined, ['delete', 'agent', null])
  await change('DELETE', `/agents/${agent.id}`, undefined, null)

  const all = await lines()
  const written = all.slice(0, all.length - before).toReversed()
  assert.deepEqual(
    written.map((line, index) => [line.verb, line.noun, expected[index]?.[2] === null ? null : line.fields.toSorted()]),
    expected,
  )
  assert.deepEqual(
    written.map((line) => line.request_id),
    requests,
  )
  assert.ok(written.every(({ who }) => who === 'admin_token'))
  assert.deepEqual([written[0]!.subject_id, written.at(-1)!.subject_id], [owner.id, agent.id])
  const shown = JSON.stringify(all)
  for (const secret of ['SECRET', apiKey.api_key, rotated.api_key]) assert.ok(!shown.includes(secret))
})

void test("audit: the service's own changes have the author server, and no entry is ever changed or deleted", async () => {
  const owner = await app.app.admin.createOwner({ name: 'first start' })
  const [entry] = (await app.made('GET', '/audit?limit=1')).data
  assert.deepEqual([entry.who, entry.subject_id, entry.request_id], ['server', owner.id, null])
  await refused(app.admin('DELETE', '/audit'), 405, 'method_not_allowed')
})

/** The newest entry. */
const newest = async (of: TestApp = app): Promise<Json> => (await of.made('GET', '/audit?limit=1')).data[0]

void test('audit.changes: an entry has the values before and after, with the names and units of the API', async () => {
  const owner = await app.made('POST', '/owners', { name: 'Example', balance_usd: '5' })
  assert.deepEqual((await newest()).changes, {
    name: { before: null, after: 'Example' },
    balance_usd: { before: null, after: '5.00000000' },
  })
  await app.made('PATCH', `/owners/${owner.id}`, { name: 'Example Shop', low_balance_usd: '1.5' })
  const entry = await newest()
  assert.deepEqual(entry.fields, ['name', 'low_balance_usd'])
  assert.deepEqual(entry.changes, {
    name: { before: 'Example', after: 'Example Shop' },
    low_balance_usd: { before: null, after: '1.50000000' },
  })
  await app.made('POST', `/owners/${owner.id}/ledger`, { amount_usd: '-2', note: 'for Ann' }, once())
  assert.deepEqual((await newest()).changes, {
    owner_id: { before: null, after: owner.id },
    kind: { before: null, after: 'adjustment' },
    amount_usd: { before: null, after: '-2.00000000' },
  })

  const { agentId } = app.caller
  await app.made('PATCH', `/agents/${agentId}`, {
    price: { prompt_usd_per_million: '0.5', completion_usd_per_million: '0.60' },
    knowledge: { top_k: 3 },
    spend_limits: [{ scope: 'agent', usd: '9', window: 'day' }],
  })
  assert.deepEqual((await newest()).changes, {
    version: { before: 1, after: 2 },
    'price.prompt_usd_per_million': { before: '0.15000000', after: '0.50000000' },
    'knowledge.top_k': { before: 6, after: 3 },
    spend_limits: { before: [], after: [{ scope: 'agent', usd: '9.00000000', window: 'day' }] },
  })
  await app.made('PATCH', `/agents/${agentId}`, { enabled: false })
  assert.deepEqual((await newest()).changes, { enabled: { before: true, after: false } })
  await app.made('PATCH', `/agents/${agentId}`, { enabled: true })
})

void test('audit.changes: a key, a provider, a webhook and a document show what may be shown; secrets are only names', async () => {
  const { agentId } = app.caller
  const key = await app.made('POST', `/agents/${agentId}/keys`, { permission: 'full', default_external_user_id: 'Ann Example' })
  assert.deepEqual((await newest()).changes.permission, { before: null, after: 'full' })
  await app.made('PATCH', `/keys/${key.id}`, { permission: 'read-only', mcp: false, default_external_user_id: 'Ben Example' })
  const ofKey = await newest()
  assert.deepEqual(ofKey.fields, ['permission', 'default_external_user_id', 'mcp'])
  assert.deepEqual(ofKey.changes, { permission: { before: 'full', after: 'read-only' }, mcp: { before: true, after: false } })

  const address = 'https://models.example/v1?tenant='
  const given = { name: 'shown', kind: 'openai-compatible', base_url: `${address}one`, api_key: 'k1' }
  const provider = await app.made('POST', '/providers', given)
  assert.deepEqual((await newest()).changes.base_url, { before: null, after: 'https://models.example/v1' })
  await app.made('PATCH', `/providers/${provider.id}`, { base_url: `${address}two`, api_key: 'k2' })
  const ofProvider = await newest()
  assert.deepEqual([ofProvider.fields, ofProvider.changes], [['base_url.query', 'api_key'], null])

  const webhook = await app.made('POST', '/webhooks', { url: 'https://hooks.example/T1/SECRET?k=SECRET', events: ['*'] })
  assert.deepEqual((await newest()).changes.url, { before: null, after: 'https://hooks.example/…' })
  await app.made('PATCH', `/webhooks/${webhook.id}`, { url: 'https://other.example/T2/SECRET', enabled: false })
  const ofWebhook = await newest()
  assert.deepEqual(ofWebhook.fields, ['url', 'url.path', 'enabled'])
  assert.deepEqual(ofWebhook.changes, {
    url: { before: 'https://hooks.example/…', after: 'https://other.example/…' },
    enabled: { before: true, after: false },
  })
  await app.made('DELETE', `/webhooks/${webhook.id}`)
  assert.deepEqual((await newest()).changes.events, { before: ['*'], after: null })

  const document = await app.made('POST', `/agents/${agentId}/documents`, { title: 'Returns', text: 'Thirty days.' })
  await app.made('PUT', `/agents/${agentId}/documents/${document.id}`, { title: 'Returned goods', text: 'Forty days.' })
  assert.deepEqual((await newest()).changes, { title: { before: 'Returns', after: 'Returned goods' } })
})

void test('audit.changes: of tools, the names and which fields changed; their addresses, headers and secrets are not shown', async () => {
  const tool = {
    type: 'http',
    name: 'order_status',
    description: 'Finds an order.',
    parameters: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
    method: 'GET',
    url: 'https://shop.example/orders/{id}',
    headers: { authorization: 'SECRET-1' },
  }
  const now = { type: 'builtin', name: 'now' }
  const agent = await app.makeAgent(app.caller.ownerId, { tools: [tool] })
  assert.deepEqual((await newest()).changes.tools, { before: null, after: ['order_status'] })
  const other = { ...tool, url: 'https://shop.example/order/{id}', headers: { authorization: 'SECRET-2' } }
  await app.made('PATCH', `/agents/${agent.id}`, { tools: [other, now] })
  const entry = await newest()
  assert.deepEqual(entry.fields, ['version', 'tools', 'tools.order_status.url', 'tools.order_status.headers'])
  assert.deepEqual(entry.changes, {
    version: { before: 1, after: 2 },
    tools: { before: ['order_status'], after: ['order_status', 'now'] },
  })
})

void test('audit.changes: of long texts, at most 500 characters from shortly before the first difference', async () => {
  const same = 'é😀'.repeat(2000)
  const agent = await app.makeAgent(app.caller.ownerId, { system_prompt: `${same}old ${'x'.repeat(900)}` })
  const first = (await newest()).changes.system_prompt.after
  assert.equal([...first].length, 501)
  assert.ok(first.endsWith('😀…') || first.endsWith('é…'))
  await app.made('PATCH', `/agents/${agent.id}`, { system_prompt: `${same}new` })
  const { before, after } = (await newest()).changes.system_prompt
  assert.equal(after, `…${'é😀'.repeat(25)}new`)
  assert.match(before, /^…(é😀){25}old x+…$/u)
  assert.equal([...before].length, 502)
})

void test('audit: filters by author, verb, noun, subject and time, in pages', async () => {
  await using own = await startTestApp()
  const ids: string[] = []
  for (const name of ['a', 'b', 'c']) ids.push((await own.made('POST', '/owners', { name })).id)
  for (const id of ids) await own.made('PATCH', `/owners/${id}`, { name: 'd' })
  const shown = async (query: string): Promise<string[]> =>
    (await allPages(own, `/audit?${query}`, 2)).map(({ verb, noun, subject_id: id }) => `${verb} ${noun} ${ids.indexOf(id)}`)
  const changes = ['change owner 2', 'change owner 1', 'change owner 0']
  assert.deepEqual(await shown('noun=owner&verb=change'), changes)
  assert.deepEqual(await shown(`subject_id=${ids[1]}`), ['change owner 1', 'create owner 1'])
  assert.deepEqual(await shown(`subject_id=${ids[1]}&verb=create&who=admin_token`), ['create owner 1'])
  for (const query of ['who=operator', 'author_id=opr_x', 'noun=own', 'verb=Change']) assert.deepEqual(await shown(query), [], query)

  const all = await allPages(own, '/audit', 100)
  const at = (index: number): string => all.find(({ verb, subject_id: id }) => verb === 'change' && id === ids[index])!['created_at']
  const within = all.filter(({ created_at: time }) => time >= at(0) && time < at(2)).map(({ id }) => id)
  const listed = await allPages(own, `/audit?from=${at(0)}&to=${at(2)}`, 1)
  assert.deepEqual(
    listed.map(({ id }) => id),
    within,
  )
  await refused(own.admin('GET', '/audit?from=2026-01-02&to=2026-01-02'), 422, 'validation_error', /before/)
  for (const query of ['who=admin', 'from=x', 'actor=x', 'verb=', 'limit=101'])
    await refused(own.admin('GET', `/audit?${query}`), 422, 'validation_error')
})

void test('audit: entries of an operator have its ID and its name at that time, and are found by it', async () => {
  const [first, second] = [randomUUID(), randomUUID()]
  const author = { who: 'operator' as const, id: 'opr_01jd3v9qk8x2m5n7p4r6t8w0yc', name: '=Kim, "Lee"', requestId: first }
  const calls = app.app.admin.calledBy(author, null)
  const owner = await calls.createOwner({ name: 'by an operator' })
  await app.app.admin.calledBy({ ...author, name: 'Kim Li', requestId: second }, null).changeOwner(owner.id, { name: 'changed' })
  const { data } = await app.made('GET', `/audit?author_id=${author.id}&noun=owner`)
  assert.deepEqual(
    data.map((entry: Json) => [entry.who, entry.author_id, entry.author_name, entry.verb, entry.request_id]),
    [
      ['operator', author.id, 'Kim Li', 'change', second],
      ['operator', author.id, '=Kim, "Lee"', 'create', first],
    ],
  )
  const csv = await app.admin('GET', `/audit?author_id=${author.id}`, undefined, { accept: 'text/csv' })
  assert.match(csv.headers.get('content-type')!, /^text\/csv/)
  assert.deepEqual(
    readCsv(csv.text).map(({ author_name, fields, changes }) => [author_name, fields, JSON.parse(changes!)]),
    [
      ['Kim Li', 'name', data[0].changes],
      [`'=Kim, "Lee"`, 'name balance_usd', data[1].changes],
    ],
    'export.csv: a name that a spreadsheet would run has an apostrophe before it',
  )
})

void test('export.csv: the ID of a passkey that a spreadsheet would run is marked in the audit log', async () => {
  const author = { who: 'token' as const, id: 'tok_csv', name: 'CI', requestId: randomUUID(), entryIds: [`aud_${randomUUID()}`] }
  await app.app.store.writeAs(author).recordReading({ verb: 'read', noun: 'conversation', subjectId: '-A1' })
  const { text } = await app.admin('GET', '/audit?author_id=tok_csv', undefined, { accept: 'text/csv' })
  assert.deepEqual(
    readCsv(text).map(({ subject_id }) => subject_id),
    ["'-A1"],
  )
})

void test('export.csv: the audit log as CSV has every entry of the filters, newest first', async () => {
  const { agentId } = app.caller
  const count = 25
  const calls = app.app.admin.calledBy({ who: 'token', id: 'tok_1', name: 'CI', requestId: randomUUID() }, null)
  for (let index = 0; index < count; index++) await calls.changeAgent(agentId, { enabled: index % 2 === 1 })
  const { text } = await app.admin('GET', '/audit?who=token&verb=change', undefined, { accept: 'text/csv' })
  const lines = readCsv(text)
  assert.equal(lines.length, count)
  const pages = await allPages(app, '/audit?who=token&verb=change', 10)
  assert.deepEqual(
    lines.map(({ id }) => id),
    pages.map(({ id }) => id),
  )
  assert.equal(text.split('\r\n')[0], 'id,created_at,who,author_id,author_name,verb,noun,subject_id,fields,changes,request_id')
  await refused(app.admin('GET', '/audit?who=none', undefined, { accept: 'text/csv' }), 422, 'validation_error')
  await calls.changeAgent(agentId, { enabled: true })
})
