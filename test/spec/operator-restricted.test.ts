/** `operator.scope`: single cases that the test over all operations cannot tell apart, with a token that is restricted to an owner or an agent. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { gate } from '../support/model-server.ts'
import { read, startTestApp } from '../support/test-app.ts'
import type { Answer, Caller, Json } from '../support/test-app.ts'
import { startReceiver } from '../support/webhook-receiver.ts'

const receiver = await startReceiver()
after(() => receiver[Symbol.asyncDispose]())
const app = await startTestApp({ env: { TURNKEEP_ALLOW_PRIVATE_HOSTS: receiver.host } })
after(() => app.close())
const other = await app.makeCaller()

type Ask = (method: string, path: string, body?: Json) => Promise<Answer>

/** The admin API with a token of the role admin. */
async function restrictedTo({ ownerId, agentId }: { ownerId: string; agentId?: string }): Promise<Ask> {
  const { token } = await app.made('POST', '/tokens', { name: 'restricted', role: 'admin', owner_id: ownerId, agent_id: agentId ?? null })
  return async (method, path, body) =>
    read(
      await fetch(`${app.adminUrl}/admin/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
        ...(body ? { body: JSON.stringify(body) } : {}),
      }),
    )
}

const ofOwner = await restrictedTo({ ownerId: app.caller.ownerId })
const ofAgent = await restrictedTo(app.caller)

async function deliveriesOf(ask: Ask, webhook: Json, count: number): Promise<Json[]> {
  for (;;) {
    const { json } = await ask('GET', `/webhooks/${webhook.id}/deliveries?limit=100`)
    if (json.data.length >= count && json.data.every(({ status }: Json) => status === 'delivered')) return json.data
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}

void test('operator.scope: a webhook that was for everyone shows, sends and repeats only the events of the owner that it now belongs to', async () => {
  const webhook = await app.made('POST', '/webhooks', { url: receiver.url('/moved'), events: ['turn.completed'] })
  await app.moveClock(2)
  assert.equal((await ofOwner('GET', `/webhooks/${webhook.id}`)).status, 404)
  const ours = await app.chat('ours')
  const theirs = await app.chat('theirs', { caller: other })
  assert.deepEqual([ours.status, theirs.status], [200, 200])
  const all = await deliveriesOf((...asked) => app.admin(...asked), webhook, 2)
  await app.made('PATCH', `/webhooks/${webhook.id}`, { owner_id: app.caller.ownerId })
  const seen = await deliveriesOf(ofOwner, webhook, 1)
  const eventOf = ({ json }: Answer): string => all.find(({ id }) => id.includes(json.request_id))!['id']
  assert.deepEqual(
    seen.map(({ id }) => id),
    [eventOf(ours)],
  )
  const path = `/webhooks/${webhook.id}/deliveries`
  assert.equal((await ofOwner('POST', `${path}/${eventOf(ours)}/retry`)).status, 200)
  const refused = await ofOwner('POST', `${path}/${eventOf(theirs)}/retry`)
  const unknown = await ofOwner('POST', `${path}/evt_none/retry`)
  assert.deepEqual([refused.status, refused.json.error.message], [404, unknown.json.error.message])
  await receiver.got('/moved', 3)
  const day = 24 * 60 * 60 * 1000
  const range = { from: new Date(Date.now() - day).toISOString(), to: new Date(Date.now() + day).toISOString() }
  const replayed = await ofOwner('POST', `/webhooks/${webhook.id}/replay`, range)
  assert.deepEqual([replayed.status, replayed.json.deliveries], [200, 1])
  await receiver.got('/moved', 4)
  assert.equal(receiver.at('/moved').filter(({ body }) => body.includes(theirs.json.request_id)).length, 1, 'only the first time')
})

void test('operator.scope: a webhook of a restricted token is for its owner or its agent, and gets no event of others', async () => {
  const wanted = { url: receiver.url('/own'), events: ['*'], include_messages: true }
  for (const [ask, body, message] of [
    [ofOwner, {}, 'Set owner_id or agent_id, because you are restricted to one owner.'],
    [ofAgent, { owner_id: app.caller.ownerId }, 'Set agent_id, because you are restricted to one agent.'],
    [ofOwner, { owner_id: other.ownerId }, 'owner_id: this owner does not exist.'],
    [ofOwner, { owner_id: app.caller.ownerId, agent_id: other.agentId }, 'agent_id: this agent does not exist.'],
    [ofAgent, { agent_id: other.agentId }, 'agent_id: this agent does not exist.'],
  ] as const) {
    const { status, json } = await ask('POST', '/webhooks', { ...wanted, ...body })
    assert.deepEqual([status, json.error?.message], [422, message])
  }
  const made = await ofAgent('POST', '/webhooks', { ...wanted, agent_id: app.caller.agentId })
  assert.equal(made.status, 201, made.text)
  for (const change of [{ agent_id: null }, { agent_id: other.agentId }, { owner_id: other.ownerId }])
    assert.equal((await ofAgent('PATCH', `/webhooks/${made.json.id}`, change)).status, 422, JSON.stringify(change))
  await app.moveClock(2)
  await app.chat('secret of another owner', { caller: other })
  await app.chat('own')
  await receiver.got('/own', 1)
  assert.equal(receiver.at('/own').filter(({ body }) => body.includes('secret')).length, 0)
  // The webhook of an owner does not exist for a token of one agent.
  const wide = await ofOwner('POST', '/webhooks', { ...wanted, url: receiver.url('/wide'), owner_id: app.caller.ownerId })
  assert.equal((await ofAgent('DELETE', `/webhooks/${wide.json.id}`)).status, 404)
})

void test('operator.scope: errors about an unknown provider name no provider', async () => {
  const agent = { owner_id: app.caller.ownerId, name: 'n', system_prompt: 'p', model: 'script/m' }
  const { json: whole } = await app.admin('POST', '/agents', agent)
  assert.match(whole.error.message, /Did you mean scripted\?/)
  for (const asked of [
    ofOwner('POST', '/agents', agent),
    ofOwner('PATCH', `/agents/${app.caller.agentId}`, { model: 'none/m' }),
    ofAgent('PATCH', `/agents/${app.caller.agentId}`, { knowledge: { embedding_model: 'script/m' } }),
  ]) {
    const { status, json } = await asked
    assert.equal(status, 422)
    assert.match(json.error.message, /^The provider of the (embedding )?model \w+\/m does not exist\.$/)
  }
})

void test('operator.scope: the playground shows the balance to a token of the owner, and not to one of an agent', async () => {
  const poor: Caller = await app.makeCaller({ balanceUsd: '0.000001' })
  const [owner, agent] = [await restrictedTo({ ownerId: poor.ownerId }), await restrictedTo(poor)]
  const path = `/agents/${poor.agentId}/playground`
  const shown = await owner('POST', path, { message: 'hi' })
  assert.deepEqual([shown.status, shown.json.error.code], [402, 'insufficient_balance'])
  assert.match(shown.json.error.message, /The balance is 0\.00000100 USD/)
  const general = await agent('POST', path, { message: 'hi' })
  assert.deepEqual([general.status, general.json.error.code], [402, 'insufficient_balance'])
  assert.doesNotMatch(general.json.error.message, /0\.00000100/)
})

void test('operator.scope: a restricted token tries no tool that has a price, because a trial charges no one', async () => {
  const tools = [
    { type: 'builtin', name: 'now', price_usd: '0.01' },
    { type: 'builtin', name: 'search_knowledge' },
  ]
  const agent = await app.makeAgent(app.caller.ownerId, { tools })
  const path = `/agents/${agent.id}/tools/try`
  const answer = await ofOwner('POST', path, { tool: 'now' })
  assert.deepEqual([answer.status, answer.json.error?.code], [403, 'forbidden'], answer.text)
  assert.match(answer.json.error.message, /has a price/)
  assert.equal((await ofOwner('POST', path, { tool: 'search_knowledge', arguments: { query: 'x' } })).status, 200)
  // Nor with a definition without the price, which could use the stored secrets.
  const free = { type: 'http', name: 'now', description: 'd', parameters: { type: 'object' }, method: 'GET', url: 'https://example.com/' }
  const given = await ofOwner('POST', path, { tool: 'now', definition: free })
  assert.deepEqual([given.status, given.json.error?.code], [403, 'forbidden'], given.text)
  assert.equal((await app.admin('POST', path, { tool: 'now' })).status, 200)
})

void test('operator.scope: usage by owner names the owner, except to a token of an agent', async () => {
  await app.chat('counted')
  const namesOf = async (ask: Ask): Promise<unknown[]> =>
    (await ask('GET', '/usage?group_by=owner')).json.data.map((line: Json) => [line.owner_id, line.owner_name])
  assert.deepEqual(await namesOf(ofOwner), [[app.caller.ownerId, 'Test owner']])
  assert.deepEqual(await namesOf(ofAgent), [[app.caller.ownerId, null]])
})

void test('operator.scope: erasures and cancels of a restricted token are in the audit log with its name, those of others do not happen', async () => {
  const held = gate()
  app.model.script([held, 'late'])
  const asked = app.chat('to be cancelled', { user: 'cancelled' })
  await held.reached
  const [running] = (await ofAgent('GET', '/turns?status=running')).json.data
  assert.equal((await ofAgent('POST', `/turns/${running.request_id}/cancel`)).status, 200)
  held.open()
  await asked
  const { json: theirs } = await app.chat('kept', { caller: other, user: 'kept' })
  const { json: ours } = await app.chat('erased', { user: 'erased' })
  assert.equal((await ofOwner('DELETE', `/conversations/${theirs.conversation_id}`)).status, 404)
  assert.equal((await ofOwner('DELETE', `/agents/${other.agentId}/end-users?external_user_id=kept`)).status, 404)
  assert.equal((await ofAgent('DELETE', `/conversations/${ours.conversation_id}`)).status, 200)
  const lines = (await app.made('GET', '/audit?limit=100')).data.filter(({ noun, verb }: Json) => verb === 'erase' || noun === 'turn')
  assert.deepEqual(
    lines.filter(({ verb }: Json) => verb !== 'read').map((line: Json) => [line.who, line.author_name, line.verb, line.subject_id]),
    [
      ['token', 'restricted', 'erase', ours.conversation_id],
      ['token', 'restricted', 'cancel', running.request_id],
    ],
  )
  assert.equal((await app.made('GET', `/conversations/${theirs.conversation_id}/messages`)).data.length, 2)
})
