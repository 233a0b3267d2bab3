/** Admin API: the search for conversations (`conversation.search`), its permission and its entries in the audit log. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allPages, refused, startAdminApp } from '../support/admin-app.ts'
import type { Json } from '../support/test-app.ts'

const app = await startAdminApp()

const usersOf = async (query: string): Promise<Json[]> =>
  (await allPages(app, `/conversations?${query}`, 2)).map((conversation) => conversation['external_user_id'])

void test('conversation.search: text, state and feedback are filters of the list, across all pages', async () => {
  app.model.script('Your parcel is in Zürich.', 'Hello.', 'Good day.')
  const found = await app.chat('Where is it?', { user: 'ann' })
  await app.chat('Parcel?', { user: 'bob' })
  await app.chat('Hi', { user: 'eve' })
  app.model.script({ status: 400, body: { error: { message: 'no' } } })
  const failed = await app.chat('A parcel again', { user: 'eve' })
  assert.equal(failed.status, 500)

  assert.deepEqual(await usersOf('q=parcel'), ['eve', 'bob', 'ann'])
  assert.deepEqual(await usersOf(`q=${encodeURIComponent('ZÜRICH')}`), ['ann'])
  assert.deepEqual(await usersOf('status=released'), ['eve'])
  assert.deepEqual(await usersOf('status=released&q=hi'), [])
  assert.deepEqual(await usersOf('q=parcel&external_user_id=bob'), ['bob'])
  assert.deepEqual(await usersOf('rating=down'), [])
  const { status } = await app.chatRequest({ rating: 'down' }, { path: `turns/${found.json['request_id']}/feedback` })
  assert.equal(status, 200)
  assert.deepEqual(await usersOf('rating=down'), ['ann'])

  const { data } = await app.made('GET', `/conversations?q=z%C3%BCrich`)
  assert.deepEqual(data[0].turn, {
    request_id: found.json['request_id'],
    status: 'completed',
    state: 'completed',
    rating: 'down',
    created_at: data[0].turn.created_at,
    excerpt: { role: 'assistant', text: 'Your parcel is in Zürich.' },
  })
  const [newest] = (await app.made('GET', '/conversations?excerpts=true&external_user_id=eve')).data
  assert.deepEqual([newest.turn.state, newest.turn.excerpt], ['released', { role: 'user', text: 'A parcel again' }])
  const [plain] = (await app.made('GET', '/conversations?external_user_id=eve')).data
  assert.equal(plain.turn, null)
  for (const query of ['q=', `q=${'x'.repeat(201)}`, 'status=odd', 'rating=odd', 'excerpts=false'])
    await refused(app.admin('GET', `/conversations?${query}`), 422, 'validation_error')

  // Erased texts are found no more; the state of a turn still is.
  await app.made('DELETE', `/conversations/${data[0].id}`)
  assert.deepEqual(await usersOf('q=parcel'), ['eve', 'bob'])
})

void test('conversation.search audit.reads: texts need the permission conversations, and each reading of them is in the audit log', async () => {
  const { token } = await app.made('POST', '/tokens', { name: 'no texts', role: 'viewer' })
  app.model.script({ status: 400, body: { error: { message: 'no' } } })
  await app.chat('A parcel', { user: 'searched' })
  const headers = { authorization: `Bearer ${token}` }
  for (const query of ['q=parcel', 'excerpts=true']) {
    const { status, json } = await app.admin('GET', `/conversations?${query}`, undefined, headers)
    assert.deepEqual([status, json['error']?.message], [403, 'This needs the permission conversations.'])
  }
  const read = async () => (await app.made('GET', '/audit?verb=read&noun=conversations')).data as Json[]
  const before = (await read()).length
  const { data } = await app.made('GET', '/conversations?status=released&rating=up', undefined, headers)
  assert.deepEqual(data, [])
  const states = await app.made('GET', '/conversations?status=released', undefined, headers)
  assert.deepEqual([states.data[0].turn.state, states.data[0].turn.excerpt], ['released', null])
  await app.made('GET', '/conversations')
  assert.equal((await read()).length, before)
  // No result is a result: no message has this text.
  await app.made('GET', `/conversations?q=nothing-has-this&agent_id=${app.caller.agentId}`)
  assert.deepEqual(
    (await read()).slice(0, 1).map(({ subject_id: id }) => id),
    [app.caller.agentId],
  )
  const other = await app.makeCaller()
  await app.chat('hi', { caller: other })
  await app.made('GET', `/conversations?excerpts=true&agent_id=${other.agentId}`)
  assert.equal((await read())[0]!['subject_id'], other.agentId)
  // Nothing was examined.
  const now = (await read()).length
  await app.made('GET', '/conversations?q=nothing-has-this&agent_id=agt_other')
  assert.equal((await read()).length, now)
})
