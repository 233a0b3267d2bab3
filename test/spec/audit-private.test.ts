/** `audit`: every write of the admin API adds its entry, and none of them contains a secret, a name of an end user or a text of one. */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { writes } from '../../src/store/queries/writes.ts'
import { once } from '../support/admin-app.ts'
import { gate } from '../support/model-server.ts'
import { ConsoleBrowser, goodPassword, startOperator } from '../support/operators.ts'
import { adminToken, startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'

/** Of every write with entries: one that it adds. A new write needs a line here and a call below. */
const entryOf: Record<string, string> = {
  createOwner: 'create owner',
  changeOwner: 'change owner',
  appendLedgerEntry: 'append ledger_entry',
  createProvider: 'create provider',
  changeProvider: 'change provider',
  deleteProvider: 'delete provider',
  createAgent: 'create agent',
  changeAgent: 'change agent',
  deleteAgent: 'delete agent',
  putEndUserLimits: 'change end_user_limits',
  deleteEndUserLimits: 'delete end_user_limits',
  createApiKey: 'create key',
  changeApiKey: 'change key',
  revokeApiKey: 'revoke key',
  rotateApiKey: 'rotate key',
  requestCancel: 'cancel turn',
  putFeedback: 'change turn',
  removeFeedback: 'change turn',
  eraseConversations: 'erase conversation',
  putDocument: 'put document',
  deleteDocument: 'delete document',
  createWebhook: 'create webhook',
  changeWebhook: 'change webhook',
  disableWebhook: 'change webhook',
  rotateWebhookSecret: 'rotate webhook',
  deleteWebhook: 'delete webhook',
  retryDelivery: 'retry delivery',
  replayDeliveries: 'replay webhook',
  createOperator: 'create operator',
  inviteOperator: 'invite operator',
  changeOperator: 'change operator',
  removeOperator: 'remove operator',
  endSessions: 'end_sessions operator',
  acceptInvitation: 'accept invitation',
  recoverOperator: 'recover operator',
  setPassword: 'change operator',
  signInWithCompany: 'create operator',
  addPasskey: 'create passkey',
  removePasskey: 'delete passkey',
  createAdminToken: 'create token',
  revokeAdminToken: 'revoke token',
  openSession: 'open session',
  closeSession: 'close session',
  recordReading: 'read conversation',
  recordTrial: 'try agent',
}

const secret = 'CANARY-SECRET'
const userName = 'CANARY-NAME'
const userText = 'CANARY-TEXT'

void test('audit audit.changes: no entry of any write contains a secret, a name of an end user or a text of one', async () => {
  await using app = await startTestApp()
  const shownOnce = [
    await changeAgents(app),
    await changeKeys(app),
    await changeWebhooks(app),
    await changeTurns(app),
    await changeOperators(app),
    await signInOperators(app),
  ].flat()

  const rows = await app.query('select verb, noun, fields, changes, author_name, subject_id from audit')
  const found = new Set(rows.map(({ verb, noun }) => `${verb} ${noun}`))
  const audited = Object.entries(writes).flatMap(([name, { audit }]) => (audit === null ? [] : [name]))
  assert.deepEqual(Object.keys(entryOf).toSorted(), audited.toSorted(), 'every write with entries is made by this test')
  assert.deepEqual(
    Object.values(entryOf).filter((entry) => !found.has(entry)),
    [],
    'every write has added its entry',
  )
  const stored = JSON.stringify(rows)
  assert.match(stored, /order_status/, 'the values of fields are there')
  for (const text of [secret, userName, userText, 'CANARY', adminToken, ...shownOnce]) assert.ok(!stored.includes(text), text)
  await app.verify()
})

async function changeAgents(app: TestApp): Promise<string[]> {
  const { ownerId } = app.caller
  await app.made('PATCH', `/owners/${ownerId}`, { name: 'An owner' })
  await app.made('POST', `/owners/${ownerId}/ledger`, { amount_usd: '1', note: `for ${userName}` }, once())
  const given = { name: 'p', kind: 'openai-compatible', base_url: `http://127.0.0.1:9/v1?tenant=${secret}`, api_key: `${secret}-1` }
  const provider = await app.made('POST', '/providers', given)
  await app.made('PATCH', `/providers/${provider.id}`, { name: 'q', api_key: `${secret}-2` })
  await app.made('DELETE', `/providers/${provider.id}`)

  const tool = {
    type: 'http',
    name: 'order_status',
    description: 'Finds an order.',
    parameters: { type: 'object', properties: {} },
    method: 'GET',
    url: `https://shop.example/orders?k=${secret}`,
    headers: { authorization: `${secret}-3` },
    secrets: {},
  }
  const agent = await app.makeAgent(ownerId, { tools: [tool] })
  const other = { ...tool, url: `https://shop.example/${secret}`, headers: { authorization: `${secret}-4`, 'x-key': `${secret}-5` } }
  await app.made('PATCH', `/agents/${agent.id}`, { tools: [other] })
  const document = await app.made('POST', `/agents/${agent.id}/documents`, { title: 'd', text: userText })
  await app.made('DELETE', `/agents/${agent.id}/documents/${document.id}`)
  const limits = `/agents/${agent.id}/end-users/limits`
  await app.made('PUT', limits, { external_user_id: userName, spend_limits: [{ scope: 'end_user', usd: '1', window: 'day' }] })
  await app.made('DELETE', `${limits}?external_user_id=${userName}`)
  await app.made('DELETE', `/agents/${agent.id}`)
  return []
}

async function changeKeys(app: TestApp): Promise<string[]> {
  const path = `/agents/${app.caller.agentId}/keys`
  const key = await app.made('POST', path, { permission: 'full', default_external_user_id: userName })
  await app.made('PATCH', `/keys/${key.id}`, { default_external_user_id: `${userName}-2`, name: 'k' })
  const rotated = await app.made('POST', `/keys/${key.id}/rotate`)
  await app.made('DELETE', `/keys/${key.id}`)
  return [key.api_key, rotated.api_key].map(secretOf)
}

const secretOf = (apiKey: string): string => apiKey.split('.')[1]!

async function changeWebhooks(app: TestApp): Promise<string[]> {
  const webhook = await app.made('POST', '/webhooks', { url: `https://shop.example/${secret}?k=${secret}`, events: ['*'] })
  await app.made('PATCH', `/webhooks/${webhook.id}`, { url: `https://shop.example/${secret}-2` })
  const rotated = await app.made('POST', `/webhooks/${webhook.id}/rotate-secret`)
  await app.chat(userText, { user: userName })
  const { data } = await app.made('GET', `/webhooks/${webhook.id}/deliveries`)
  await app.made('POST', `/webhooks/${webhook.id}/deliveries/${data[0].id}/retry`)
  await app.made('POST', `/webhooks/${webhook.id}/replay`, { from: new Date(Date.now() - 60_000).toISOString(), to: '2100-01-01' })
  const author = { who: 'server' as const, requestId: null, entryIds: [`aud_${randomUUID()}`] }
  await app.app.store.writeAs(author).disableWebhook(webhook.id, `the endpoint answered ${secret}`)
  await app.made('DELETE', `/webhooks/${webhook.id}`)
  return [webhook.secret, rotated.secret]
}

async function changeTurns(app: TestApp): Promise<string[]> {
  app.model.script(`${userText} reply`)
  const { json } = await app.chat(userText, { user: userName })
  const feedback = { rating: 'up', comment: userText, tags: [userText] }
  await app.chatRequest(feedback, { path: `turns/${json.request_id}/feedback` })
  await app.made('PUT', `/turns/${json.request_id}/feedback`, { rating: 'down', comment: `${userText} 2`, tags: [`${userText} 2`] })
  await app.made('DELETE', `/turns/${json.request_id}/feedback`)
  await app.made('PUT', `/turns/${json.request_id}/feedback`, feedback)
  await app.made('GET', `/conversations/${json.conversation_id}/messages`)
  await app.made('GET', '/feedback')
  await app.made('GET', `/turns/${json.request_id}/trace`)
  await app.admin('GET', `/agents/${app.caller.agentId}/end-users/export?external_user_id=${userName}`)
  const held = gate()
  app.model.script([held, 'too late'])
  const asked = app.chat(userText, { user: `${userName}-2` })
  await held.reached
  const [running] = (await app.made('GET', '/turns?status=running')).data
  await app.made('POST', `/turns/${running.request_id}/cancel`)
  held.open()
  await asked
  await app.made('DELETE', `/conversations/${json.conversation_id}`)
  await app.admin('POST', `/agents/${app.caller.agentId}/playground`, { message: userText, external_user_id: userName })
  return []
}

async function changeOperators(app: TestApp): Promise<string[]> {
  const given = { email: 'ada@shop.example', name: 'Ada', role: 'viewer' }
  const operator = await app.made('POST', '/operators', given)
  const again = await app.made('POST', `/operators/${operator.id}/invite`)
  await app.made('PATCH', `/operators/${operator.id}`, { role: 'editor' })
  const changed = (await app.made('GET', '/audit?noun=operator&verb=change')).data.map(({ changes }: Json) => changes)
  assert.deepEqual(changed, [{ role: { before: 'viewer', after: 'editor' } }])
  await app.made('DELETE', `/operators/${operator.id}`)
  const token = await app.made('POST', '/tokens', { name: 'CI', role: 'viewer' })
  await app.made('DELETE', `/tokens/${token.id}`)

  const browser = new ConsoleBrowser(app.adminUrl)
  await browser.made('POST', '/session', { token: adminToken })
  await browser.made('DELETE', '/session')
  return [operator.invitation_url, again.invitation_url].map((url: string) => url.split('#')[1]!).concat(token.token)
}

/** What operators do themselves, and what a passkey and the company's identity provider store, which have tests of their own. */
async function signInOperators(app: TestApp): Promise<string[]> {
  const { id, browser } = await startOperator(app, { name: 'Kim Lee' })
  const cookie = browser.cookies.get('turnkeep_session')!.value
  const password = `${secret} of the operator`
  await browser.made('PUT', '/me/password', { current_password: goodPassword, new_password: password })
  await app.made('DELETE', `/operators/${id}/sessions`)
  const author = () => ({ who: 'operator' as const, id, name: 'Kim Lee', requestId: randomUUID(), entryIds: [`aud_${randomUUID()}`] })
  const used = () => ({ digest: randomBytes(32), expiresAt: Date.now() + 3_600_000 })
  const { store } = app.app
  const passkey = { id: 'passkey-1', operatorId: id, name: 'Laptop', publicKey: Buffer.from(secret), counter: 0, transports: [] }
  assert.equal((await store.writeAs(author()).addPasskey({ ...passkey, challenge: used() })).kind, 'added')
  assert.equal(await store.writeAs(author()).removePasskey(id, passkey.id, null), 'removed')
  const account = { issuer: 'https://login.example', subject: secret, email: 'eve@shop.example', name: 'Eve', role: 'viewer' as const }
  const company = { ...account, id: `opr_${randomUUID()}` }
  assert.equal((await store.writeAs(author()).signInWithCompany(company)).kind, 'accepted')
  const recovery = { token: used(), id: `opr_${randomUUID()}`, email: account.email, name: null, passwordHash: `${secret} hashed` }
  assert.equal((await store.writeAs(author()).recoverOperator(recovery)).kind, 'recovered')
  const { data } = await app.made('GET', '/audit?verb=recover')
  assert.deepEqual(data[0].changes, {
    role: { before: 'viewer', after: 'admin' },
    has_password: { before: false, after: true },
    has_company_account: { before: true, after: false },
  })
  return [cookie, goodPassword, password]
}
