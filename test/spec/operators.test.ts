/** Operators and tokens for programs: inviting, changing, removing, and what that does to sessions. docs/decisions/0040-operators.md */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { after, test } from 'node:test'
import { byPage, cookieOf, signIn, visit } from '../support/console-visitor.ts'
import { adminToken, makeFolder, startTestApp } from '../support/test-app.ts'
import type { Answer, Json } from '../support/test-app.ts'

const app = await startTestApp()
after(() => app.close())
let count = 0
const email = (): string => `operator-${++count}@acme.example`

const refused = (answer: Answer, status: number, code: string, message?: RegExp): void => {
  assert.deepEqual([answer.status, answer.json['error']?.code], [status, code], answer.text)
  if (message) assert.match(answer.json['error'].message, message)
}
const as = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })
const makeOperator = (fields: Json = {}): Promise<Json> =>
  app.made('POST', '/operators', { email: email(), name: 'Ada', role: 'editor', ...fields })

void test('operator: an invited operator is listed without its link, and its email address is unique in any case', async () => {
  const made = await makeOperator({
    email: ' Grace@Acme.Example ',
    role: 'viewer',
    permissions: ['conversations'],
    owner_id: app.caller.ownerId,
  })
  const { invitation_url: url, invitation_expires_at: end, ...operator } = made
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/console\/invitation#svc_invite_[\w-]{43}$/)
  assert.ok(url.startsWith(`${app.adminUrl}/console/`))
  assert.ok(Math.abs(Date.parse(end) - Date.now() - 7 * 86_400_000) < 60_000)
  assert.deepEqual(operator, {
    id: made['id'],
    email: 'grace@acme.example',
    name: 'Ada',
    role: 'viewer',
    permissions: ['conversations'],
    owner_id: app.caller.ownerId,
    state: 'invited',
    has_password: false,
    has_company_account: false,
    passkeys: 0,
    created_at: made['created_at'],
    updated_at: made['updated_at'],
    last_sign_in_at: null,
  })
  assert.deepEqual(await app.made('GET', `/operators/${made['id']}`), operator)
  const { data } = await app.made('GET', '/operators?limit=1')
  assert.deepEqual(data, [operator])
  assert.equal(await app.occurrences(url.split('#')[1]), 0, 'only a digest of the link is stored')
  refused(await app.admin('POST', '/operators', { email: 'grace@acme.example', name: 'x', role: 'viewer' }), 409, 'conflict', /exists/)
})

for (const [what, body, message] of [
  ['no address', { email: 'grace' }, /email must be an email address/],
  ['two addresses', { email: 'a@b.example, c@d.example' }, /email must be an email address/],
  ['a letter that stands for another', { email: 'mar\u212a@acme.example' }, /email must be an email address/],
  ['an unknown role', { role: 'owner' }, /role must be one of/],
  ['a permission of another role', { permissions: ['billing'] }, /permissions/],
  ['an owner that does not exist', { owner_id: 'own_x' }, /owner_id: this owner does not exist/],
] as [string, Json, RegExp][]) {
  void test(`operator: ${what} is refused`, async () => {
    refused(await app.admin('POST', '/operators', { email: email(), name: 'x', role: 'viewer', ...body }), 422, 'validation_error', message)
  })
}

void test('operator: a new link, a change, disabling and removing', async () => {
  const { id, invitation_url: first } = await makeOperator()
  const again = await app.made('POST', `/operators/${id}/invite`)
  assert.notEqual(again['invitation_url'], first)
  const changed = await app.made('PATCH', `/operators/${id}`, { name: 'Ada L', role: 'viewer', permissions: ['conversations'] })
  assert.deepEqual(
    [changed['name'], changed['role'], changed['permissions'], changed['state']],
    ['Ada L', 'viewer', ['conversations'], 'invited'],
  )
  assert.equal((await app.made('PATCH', `/operators/${id}`, { enabled: false }))['state'], 'disabled')
  refused(await app.admin('POST', `/operators/${id}/invite`), 409, 'conflict', /disabled/)
  assert.equal((await app.made('PATCH', `/operators/${id}`, { enabled: true }))['state'], 'invited')
  await app.made('DELETE', `/operators/${id}/sessions`)
  await app.made('DELETE', `/operators/${id}`)
  for (const [method, path] of [
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/invite'],
    ['DELETE', '/sessions'],
  ] as const)
    refused(await app.admin(method, `/operators/${id}${path}`, method === 'PATCH' ? {} : undefined), 404, 'not_found')
  assert.deepEqual(await app.query(`select * from sign_in_secrets where operator_id = '${id}'`), [])
})

void test('operator.token: it is shown once, names itself, and acts with its role until it is revoked', async () => {
  const made = await app.made('POST', '/tokens', { name: 'CI', role: 'editor' })
  const { token, ...shown } = made
  assert.match(token, /^svc_admin_[\w-]{43}$/)
  assert.equal(await app.occurrences(token), 0, 'only a digest is stored')
  const me = await app.made('GET', '/me', undefined, as(token))
  assert.deepEqual(
    [me['who'], me['id'], me['name'], me['role'], me['email'], me['method']],
    ['token', made['id'], 'CI', 'editor', null, null],
  )
  const found = await app.made('GET', `/tokens/${made['id']}`)
  assert.ok(Math.abs(Date.parse(found['last_used_at']) - Date.now()) < 60_000)
  assert.deepEqual({ ...found, last_used_at: null }, shown)
  await app.made('PATCH', `/agents/${app.caller.agentId}`, { name: 'By CI' }, as(token))
  const { data } = await app.made('GET', '/audit?limit=1')
  assert.deepEqual([data[0].who, data[0].author_id, data[0].author_name], ['token', made['id'], 'CI'])
  refused(await app.admin('PATCH', '/me', { name: 'x' }, as(token)), 404, 'not_found', /no account/)
  await app.made('DELETE', `/tokens/${made['id']}`)
  refused(await app.admin('GET', '/me', undefined, as(token)), 401, 'unauthorized')
  await app.made('DELETE', `/tokens/${made['id']}`)
  assert.notEqual((await app.made('GET', `/tokens/${made['id']}`))['revoked_at'], null)
  refused(await app.admin('DELETE', '/tokens/tok_x'), 404, 'not_found')
  refused(await app.admin('GET', '/tokens/tok_x'), 404, 'not_found')
})

void test('operator.token: an end in the past, and an agent of another owner, are refused; an expired token is wrong', async () => {
  const other = await app.made('POST', '/owners', { name: 'Other' })
  const refuse = async (body: Json, message: RegExp): Promise<void> =>
    refused(await app.admin('POST', '/tokens', { name: 'x', role: 'viewer', ...body }), 422, 'validation_error', message)
  await refuse({ expires_at: '2026-01-01' }, /expires_at must be in the future/)
  await refuse({ expires_at: 'tomorrow' }, /expires_at must be a date/)
  await refuse({ owner_id: 'own_x' }, /owner_id: this owner does not exist/)
  await refuse({ agent_id: 'agt_x' }, /agent_id: this agent does not exist/)
  await refuse({ agent_id: app.caller.agentId, owner_id: other['id'] }, /belongs to another owner/)
  const made = await app.made('POST', '/tokens', {
    name: 'x',
    role: 'viewer',
    agent_id: app.caller.agentId,
    expires_at: new Date(Date.now() + 60_000).toISOString(),
  })
  assert.equal(made['owner_id'], app.caller.ownerId, 'the owner of the agent')
  await app.made('GET', '/me', undefined, as(made['token']))
  await app.moveClock(61_000)
  refused(await app.admin('GET', '/me', undefined, as(made['token'])), 401, 'unauthorized')
})

void test('operator.token: one that may read the installation gets the metrics, others do not', async () => {
  const metrics = async (body: Json): Promise<number> => {
    const { token } = await app.made('POST', '/tokens', { name: 'Prometheus', role: 'viewer', ...body })
    return (await fetch(`${app.adminUrl}/metrics`, { headers: as(token) })).status
  }
  assert.equal(await metrics({}), 200)
  assert.equal(await metrics({ owner_id: app.caller.ownerId }), 403)
})

void test('operator.admin-token: switched off, it is wrong everywhere, and its sessions end; tokens for programs work', async (t) => {
  const folder = await makeFolder()
  t.after(() => rm(folder, { recursive: true, force: true }))
  const on = await startTestApp({ folder })
  t.after(() => on.data.drop())
  const { token } = await on.made('POST', '/tokens', { name: 'Kept', role: 'admin' })
  const cookie = cookieOf(await signIn(on.adminUrl))
  await on.close()
  await using off = await startTestApp({ seeded: on, folder, env: { TURNKEEP_ADMIN_TOKEN_ENABLED: 'off' } })
  refused(await off.admin('GET', '/owners'), 401, 'unauthorized')
  assert.equal((await fetch(`${off.adminUrl}/metrics`, { headers: as(adminToken) })).status, 401)
  assert.equal((await signIn(off.adminUrl)).status, 401)
  const { status } = await visit(off.adminUrl, '/admin/v1/owners', { headers: { ...byPage(off.adminUrl), cookie } })
  assert.equal(status, 401)
  await off.made('GET', '/owners', undefined, as(token))
})
