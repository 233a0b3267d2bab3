/** `audit.reads`: whoever reads a text of an end user through the admin API is in the audit log, before the text is returned. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refused, startAdminApp } from '../support/admin-app.ts'
import { gate } from '../support/model-server.ts'
import { storeKind } from '../support/store-under-test.ts'
import { adminToken, read, startTestApp } from '../support/test-app.ts'
import type { Answer, Json, TestApp } from '../support/test-app.ts'

const app = await startAdminApp()
const minuteMs = 60_000
/** In the message, the reply, the arguments of a tool and the comment. */
const canary = 'CANARY'

/** A turn whose every text contains the canary. */
async function sayCanary(of: TestApp, user = 'ann'): Promise<{ requestId: string; conversationId: string }> {
  of.model.script([{ toolCall: { id: 'c', name: 'none', arguments: `{"q":"${canary}"}` } }], `${canary} reply`)
  const { status, text, json } = await of.chat(`${canary} message`, { user })
  assert.equal(status, 200, text)
  const feedback = { rating: 'down', comment: `${canary} comment` }
  assert.equal((await of.chatRequest(feedback, { path: `turns/${json.request_id}/feedback` })).status, 200)
  return { requestId: json.request_id, conversationId: json.conversation_id }
}

const readings = async (of: TestApp): Promise<Json[]> =>
  (await of.made('GET', '/audit?limit=100')).data.filter(({ verb }: Json) => verb === 'read' || verb === 'export')

const shownReading = ({ verb, noun, subject_id }: Json): string[] => [verb, noun, subject_id]

void test('audit.reads: every route of the description whose answer contains a text of an end user adds an entry, and no other does', async () => {
  await using own = await startTestApp({ agent: { tools: [{ type: 'builtin', name: 'search_knowledge' }] } })
  const { requestId, conversationId } = await sayCanary(own)
  const { agentId, ownerId } = own.caller
  const ids: Record<string, string> = { agents: agentId, conversations: conversationId, owners: ownerId, request_id: requestId }
  ids['keys'] = (await own.made('GET', `/agents/${agentId}/keys`)).data[0].id
  ids['providers'] = (await own.made('GET', '/providers')).data[0].id
  ids['webhooks'] = (await own.made('POST', '/webhooks', { url: 'https://shop.example/', events: ['*'], include_messages: true })).id

  const webhookPath = `/webhooks/${ids['webhooks']}`
  await own.made('POST', `${webhookPath}/replay`, { from: new Date(Date.now() - minuteMs).toISOString(), to: '2100-01-01' })
  ids['delivery_id'] = (await own.made('GET', `${webhookPath}/deliveries`)).data[0].id

  const { paths } = await own.made('GET', '/openapi.json')
  const found: string[] = []
  for (const [path, operations] of Object.entries(paths as Record<string, Record<string, { operationId: string }>>)) {
    for (const [method, { operationId }] of Object.entries(operations)) {
      // Erased texts are returned by no one.
      if (method === 'delete') continue
      const filled = path
        .replace(/\{id\}/, () => ids[path.split('/').find((part) => part in ids) ?? ''] ?? 'x')
        .replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'x')
      const query = filled.includes('/end-users') && method === 'get' ? '?external_user_id=ann' : ''
      await own.moveClock(16 * minuteMs)
      const before = (await readings(own)).length
      const answer = await ask(own, method.toUpperCase(), `${filled}${query}`)
      const added = (await readings(own)).length - before
      const hasText = answer.text.includes(canary)
      assert.equal(added > 0, hasText, `${method} ${filled} returned ${answer.status} ${answer.text} and added ${added} entries`)
      if (hasText) found.push(operationId)
    }
  }
  assert.deepEqual(found.toSorted(), [
    'cancelTurn',
    'exportEndUser',
    'findDelivery',
    'findTurn',
    'listFeedback',
    'listMessages',
    'rerunTurn',
    'streamTurn',
    'traceTurn',
  ])
})

async function ask(of: TestApp, method: string, path: string): Promise<Answer> {
  const body = method === 'GET' ? {} : { body: '{}', headers: { 'content-type': 'application/json' } }
  const headers = { authorization: `Bearer ${adminToken}`, ...body.headers }
  return read(await fetch(`${of.adminUrl}${path}`, { method, ...body, headers }))
}

void test('audit.reads: readings of one author and subject within 15 minutes are one entry, also ten at once', async () => {
  const { requestId, conversationId } = await sayCanary(app, 'once')
  const path = `/conversations/${conversationId}/messages?limit=1`
  const all = () => readings(app).then((list) => list.filter(({ subject_id: id }) => id === conversationId))
  const pages = await Promise.all(Array.from({ length: 10 }, () => app.made('GET', path)))
  assert.equal(pages.length, 10)
  assert.equal((await all()).length, 1)
  await app.made('GET', `${path}&cursor=${pages[0]!['next_cursor']}`)
  await app.moveClock(14 * minuteMs)
  await app.made('GET', path)
  assert.equal((await all()).length, 1)
  await app.moveClock(2 * minuteMs)
  await app.made('GET', path)
  assert.equal((await all()).length, 2)

  const turnsBefore = (await readings(app)).filter(({ subject_id: id }) => id === requestId).length
  await app.made('GET', `/turns/${requestId}/trace`)
  await app.made('GET', `/turns/${requestId}`)
  const ofTurn = (await readings(app)).filter(({ subject_id: id }) => id === requestId)
  assert.deepEqual([turnsBefore, ofTurn.map(shownReading)], [0, [['read', 'turn', requestId]]])
})

void test('audit.reads: an entry names the author and the request, and no end user', async () => {
  const { conversationId } = await sayCanary(app, 'the-name-of-someone')
  const answer = await app.admin('GET', `/agents/${app.caller.agentId}/end-users/export?external_user_id=the-name-of-someone`)
  assert.match(answer.text, /CANARY reply/)
  const list = (await readings(app)).filter(({ request_id: id }) => id === answer.headers.get('x-request-id'))
  assert.deepEqual(list.map(shownReading).toReversed(), [
    ['export', 'end_user', app.caller.agentId],
    ['read', 'conversation', conversationId],
  ])
  for (const entry of list) assert.deepEqual([entry['who'], entry['fields'], entry['changes']], ['admin_token', [], null])
  const stored = JSON.stringify(await app.query('select * from audit'))
  for (const text of ['the-name-of-someone', canary]) assert.ok(!stored.includes(text), text)
})

void test('audit.reads: what returns no text adds no entry: unknown and erased ones, empty lists, a turn without steps', async () => {
  await using own = await startTestApp()
  const { requestId, conversationId } = await sayCanary(own)
  await own.made('DELETE', `/conversations/${conversationId}`)
  for (const path of ['/conversations/conv_x/messages', '/turns/none', '/turns/none/trace', `/turns/${requestId}/trace`])
    await refused(own.admin('GET', path), 404, 'not_found')
  await refused(own.admin('GET', '/turns/none/stream'), 404, 'not_found')
  own.model.script('hello')
  const { json } = await own.chat('hi', { user: 'ben' })
  for (const path of ['/conversations', '/turns', '/feedback', `/turns/${json.request_id}`, `/turns/${requestId}`])
    await own.made('GET', path)
  assert.deepEqual(await readings(own), [])
})

void test('audit.reads: the stream of a running turn is in the log when its first text arrives', async () => {
  const held = gate()
  app.model.script(['The first half', held, ' and the rest'])
  const asked = app.chat('hi', { user: 'watched' })
  await held.reached
  const [{ request_id: id }] = (await app.made('GET', '/turns?status=running')).data
  const stream = await fetch(`${app.adminUrl}/admin/v1/turns/${id}/stream`, { headers: { authorization: `Bearer ${adminToken}` } })
  const reader = stream.body!.getReader()
  await reader.read()
  assert.deepEqual((await readings(app)).filter(({ subject_id: of }) => of === id).map(shownReading), [['read', 'turn', id]])
  held.open()
  await reader.cancel()
  assert.equal((await asked).status, 200)
})

void test('audit.reads: if the entry cannot be stored, the response is an error without a text', async () => {
  // A lost connection is an unavailable store; what a failpoint throws is an internal error.
  const [action, expected] = storeKind === 'postgres' ? (['drop', 503] as const) : (['throw', 500] as const)
  await using own = await startTestApp({ env: { TURNKEEP_FAILPOINTS: `write.before-commit=${action} if:recordReading` } })
  const { requestId, conversationId } = await sayCanary(own)
  const paths = [`/conversations/${conversationId}/messages`, `/turns/${requestId}`, `/turns/${requestId}/trace`, '/feedback']
  paths.push(`/turns/${requestId}/stream`, `/agents/${own.caller.agentId}/end-users/export?external_user_id=ann`)
  for (const path of paths) {
    const { status, text } = await own.admin('GET', path)
    assert.ok(status === expected && !text.includes(canary), `${path}: ${status} ${text}`)
  }
  assert.equal((await own.admin('POST', `/turns/${requestId}/rerun`)).status, expected)
  assert.deepEqual(await readings(own), [])
})
