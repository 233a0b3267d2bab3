/** Admin API: API keys, and what their callers get after a change (docs/spec.md, "Keys"). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allPages, refused, startAdminApp } from '../support/admin-app.ts'
import type { Caller, Json } from '../support/test-app.ts'

const app = await startAdminApp()
const { agentId, ownerId } = app.caller

const make = (changes: Json = {}): Promise<Json> => app.made('POST', `/agents/${agentId}/keys`, { permission: 'full', ...changes })
const callerOf = (key: Json): Caller => ({ agentId, apiKey: key.api_key, ownerId })

void test('keys: creates a key whose text is shown once, with 120 requests in 60 seconds', async () => {
  const { status, json } = await app.admin('POST', `/agents/${agentId}/keys`, { permission: 'full' })
  assert.equal(status, 201)
  assert.match(json.id, /^key_[0-9a-hjkmnp-tv-z]{26}$/)
  const { api_key: text, ...shown } = json
  assert.deepEqual(shown, {
    id: json.id,
    key_id: json.key_id,
    agent_id: agentId,
    name: null,
    permission: 'full',
    rate_limit: { limit: 120, window_seconds: 60 },
    default_external_user_id: null,
    mcp: true,
    created_at: json.created_at,
    last_used_at: null,
    revoked_at: null,
  })
  assert.ok(text.startsWith(`svc_live_${json.key_id}.`))
  const list = await app.admin('GET', `/agents/${agentId}/keys`)
  assert.deepEqual(list.json.data[0], shown)
  assert.ok(!list.text.includes(text.split('.')[1]))
  const answer = await app.chat('hi', { caller: callerOf(json) })
  assert.deepEqual([answer.status, answer.headers.get('x-ratelimit-limit')], [200, '120'])
})

const refusals: Record<string, [Json, RegExp]> = {
  'no permission': [{ permission: undefined }, /permission/],
  'another permission': [{ permission: 'admin' }, /permission must be one of full, read-only/],
  'an empty name': [{ name: '' }, /name/],
  'a limit of zero': [{ rate_limit: { limit: 0, window_seconds: 60 } }, /limit/],
  'half a limit': [{ rate_limit: { limit: 5 } }, /window_seconds/],
  'a window of a week': [{ rate_limit: { limit: 5, window_seconds: 604_800 } }, /window_seconds/],
  'an empty default user': [{ default_external_user_id: '' }, /default_external_user_id/],
  'a default user of 256 characters': [{ default_external_user_id: 'x'.repeat(256) }, /default_external_user_id/],
  'MCP as a text': [{ mcp: 'off' }, /mcp/],
  'a chosen secret': [{ api_key: 'svc_live_x.y' }, /api_key/],
}
for (const [what, [changes, words]] of Object.entries(refusals)) {
  void test(`keys: ${what} is refused with the field name`, async () => {
    await refused(app.admin('POST', `/agents/${agentId}/keys`, { permission: 'full', ...changes }), 422, 'validation_error', words)
  })
}

void test('paging: keys are newest first, page by page, including revoked ones', async () => {
  const made = [await make({ name: 'a' }), await make({ name: 'b' }), await make({ name: 'c' })]
  await app.admin('DELETE', `/keys/${made[1]!.id}`)
  const all = await allPages(app, `/agents/${agentId}/keys`, 2)
  assert.deepEqual(
    all.slice(0, 3).map(({ name, revoked_at }) => [name, revoked_at !== null]),
    [
      ['c', false],
      ['b', true],
      ['a', false],
    ],
  )
})

void test('keys: changes of name, permission and rate limit apply immediately', async () => {
  const key = await make({ name: 'a' })
  const caller = callerOf(key)
  assert.equal((await app.chat('hi', { caller })).status, 200)
  const changed = await app.made('PATCH', `/keys/${key.id}`, {
    name: null,
    permission: 'read-only',
    rate_limit: { limit: 7, window_seconds: 9 },
  })
  const { api_key: _, ...shown } = key
  assert.deepEqual(changed, { ...shown, name: null, permission: 'read-only', rate_limit: { limit: 7, window_seconds: 9 } })
  await refused(app.chat('hi', { caller }), 403, 'permission_denied')
  await app.made('PATCH', `/keys/${key.id}`, { permission: 'full' })
  assert.equal((await app.chat('hi', { caller })).headers.get('x-ratelimit-limit'), '7')
  await refused(app.admin('PATCH', `/keys/${key.id}`, { key_id: 'x' }), 422, 'validation_error', /key_id/)
})

void test('keys: the default end user and MCP are set, changed and removed', async () => {
  const key = await make({ default_external_user_id: 'desk', mcp: false })
  assert.deepEqual([key.default_external_user_id, key.mcp], ['desk', false])
  const { api_key: _, ...shown } = key
  const changed = await app.made('PATCH', `/keys/${key.id}`, { default_external_user_id: null, mcp: true })
  assert.deepEqual(changed, { ...shown, default_external_user_id: null, mcp: true })
  assert.deepEqual((await app.admin('GET', `/agents/${agentId}/keys`)).json.data[0], changed)
  assert.deepEqual(
    await app.made('PATCH', `/keys/${key.id}`, { name: 'desk' }),
    { ...changed, name: 'desk' },
    'omitted fields are unchanged',
  )
})

void test('keys: a revoked key is 401 from the next request on, also for a replay, and cannot be restored', async () => {
  const key = await make()
  const caller = callerOf(key)
  const first = await app.chat('hi', { caller, idempotencyKey: 'once' })
  assert.equal(first.status, 200)
  assert.equal((await app.admin('DELETE', `/keys/${key.id}`)).status, 204)
  await refused(app.chat('hi', { caller, idempotencyKey: 'once' }), 401, 'invalid_api_key')
  assert.equal((await app.admin('DELETE', `/keys/${key.id}`)).status, 204)
  await refused(app.admin('PATCH', `/keys/${key.id}`, { name: 'x' }), 409, 'conflict', /revoked/)
  await refused(app.admin('POST', `/keys/${key.id}/rotate`), 409, 'conflict', /revoked/)
})

void test('conversation.identity: each secret works until its own grace period ends, whatever is rotated in the meantime', async () => {
  const key = await make({ name: 'bot' })
  const rotated = async (graceSeconds: number): Promise<Caller> =>
    callerOf(await app.made('POST', `/keys/${key.id}/rotate`, { grace_seconds: graceSeconds }))
  const first = callerOf(key)
  const second = await rotated(100_000)
  const third = await rotated(1_000)
  for (const caller of [first, second, third]) assert.equal((await app.chat('x', { caller })).status, 200)
  await app.moveClock(2_000_000)
  // A change of the key ends what the cache remembers.
  await app.made('PATCH', `/keys/${key.id}`, { name: 'bot 2' })
  await refused(app.chat('x', { caller: second }), 401, 'invalid_api_key')
  for (const caller of [first, third]) assert.equal((await app.chat('x', { caller })).status, 200)
  const ended = third
  const more = [await rotated(200_000), await rotated(200_000), await rotated(200_000)]
  const refusal = await app.admin('POST', `/keys/${key.id}/rotate`, { grace_seconds: 60 })
  assert.deepEqual([refusal.status, refusal.json.error.code], [409, 'conflict'])
  assert.match(refusal.json.error.message, /^This API key has 5 valid secrets, the maximum\. The first old one ends at 20/)
  for (const caller of [first, ended, ...more]) assert.equal((await app.chat('x', { caller })).status, 200)
  const last = await rotated(0)
  for (const caller of [first, ended, ...more]) await refused(app.chat('x', { caller }), 401, 'invalid_api_key')
  assert.equal((await app.chat('x', { caller: last })).status, 200)
})

void test('conversation.identity: a key with a rotated secret keeps its history, and the old secret ends with its grace period', async () => {
  const key = await make({ name: 'bot' })
  const old = callerOf(key)
  await app.chat('my name is Ada', { caller: old, user: 'ada' })
  const rotated = await app.made('POST', `/keys/${key.id}/rotate`, { grace_seconds: 60 })
  assert.deepEqual({ ...rotated, api_key: key.api_key }, key)
  assert.notEqual(rotated.api_key, key.api_key)
  const fresh = callerOf(rotated)
  assert.equal((await app.chat('still here', { caller: old, user: 'ada' })).status, 200)
  assert.equal((await app.chat('and here', { caller: fresh, user: 'ada' })).status, 200)
  assert.equal((await app.messages('ada', fresh)).length, 6)

  const third = callerOf(await app.made('POST', `/keys/${key.id}/rotate`))
  await refused(app.chat('x', { caller: fresh, user: 'ada' }), 401, 'invalid_api_key')
  await refused(app.chat('x', { caller: old, user: 'ada' }), 401, 'invalid_api_key')
  assert.equal((await app.chat('x', { caller: third, user: 'ada' })).status, 200)
  await refused(app.admin('POST', `/keys/${key.id}/rotate`, { grace_seconds: -1 }), 422, 'validation_error', /grace_seconds/)
})

void test('keys: an unknown key or agent is 404', async () => {
  await refused(app.admin('PATCH', '/keys/key_x', { name: 'x' }), 404, 'not_found')
  await refused(app.admin('DELETE', '/keys/key_x'), 404, 'not_found')
  await refused(app.admin('POST', '/keys/key_x/rotate'), 404, 'not_found')
  await refused(app.admin('GET', '/agents/agt_x/keys'), 404, 'not_found')
  await refused(app.admin('POST', '/agents/agt_x/keys', { permission: 'full' }), 404, 'not_found')
})
