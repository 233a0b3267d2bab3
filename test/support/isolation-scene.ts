/**
 * Two owners whose data has the same shape, and a second agent of the first one: whatever the admin API stores, each of them has one, with the
 * same names where names may be the same. Every other text contains the mark of its party, so that a text or an ID of it is recognized
 * wherever it appears (`operator.scope`).
 */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { gate } from './model-server.ts'
import type { Gate } from './model-server.ts'
import { storeKind } from './store-under-test.ts'
import { read, startTestApp } from './test-app.ts'
import type { Caller, Json, TestApp } from './test-app.ts'
import { startReceiver } from './webhook-receiver.ts'

/** What a request of the admin API can name. */
export type Ids = Record<
  | 'owner'
  | 'agent'
  | 'spareAgent'
  | 'key'
  | 'publicKey'
  | 'spareKey'
  | 'conversation'
  | 'spareConversation'
  | 'turn'
  | 'failedTurn'
  | 'runningTurn'
  | 'trace'
  | 'document'
  | 'spareDocument'
  | 'webhook'
  | 'spareWebhook'
  | 'delivery'
  | 'provider'
  | 'operator'
  | 'token'
  /** End users that only this party has. `ann` is an end user of everyone. */
  | 'user'
  | 'spareUser',
  string
>

export type Party = {
  mark: string
  ids: Ids
  /** Texts and IDs by which its data is recognized, without those of its owner. */
  marks: string[]
  ownerMarks: string[]
  held: Gate
}

type Scene = {
  app: TestApp
  receiver: Awaited<ReturnType<typeof startReceiver>>
  x: Party
  /** A second agent of the owner of `x`. */
  sibling: Party
  y: Party
  close(): Promise<void>
}

const heldMs = 600_000

export async function makeScene(): Promise<Scene> {
  const receiver = await startReceiver()
  const app = await startTestApp({
    env: { TURNKEEP_ALLOW_PRIVATE_HOSTS: receiver.host },
    // The held turns run until the end of the tests.
    turnSettings: { turnMs: heldMs, answerMs: heldMs },
    modelSettings: { deadlines: { firstTokenMs: heldMs, idleMs: heldMs, tailMs: heldMs } },
  })
  const provider = await app.made('POST', '/providers', {
    name: 'canary-provider',
    kind: 'openai-compatible',
    base_url: 'https://canary.example/v1',
    api_key: 'k',
  })
  // The marks have the same length, so that answers about different parties have the same length.
  const x = await makeParty(app, receiver, { mark: 'canary-xxxx', provider: provider.id })
  const sibling = await makeParty(app, receiver, { mark: 'canary-xxx2', provider: provider.id, siblingOwner: x.ids.owner })
  const y = await makeParty(app, receiver, { mark: 'canary-yyyy', provider: provider.id })
  return {
    app,
    receiver,
    x,
    sibling,
    y,
    async close() {
      for (const { held } of [x, sibling, y]) held.open()
      await app.close()
      await receiver[Symbol.asyncDispose]()
    },
  }
}

type Wanted = { mark: string; provider: string; siblingOwner?: string }

async function makeParty(app: TestApp, receiver: Scene['receiver'], { mark, provider, siblingOwner }: Wanted): Promise<Party> {
  const ownerMark = `owner-${mark}`
  const owner = siblingOwner ?? (await app.made('POST', '/owners', { name: ownerMark, balance_usd: '10' })).id
  if (siblingOwner === undefined) {
    const ledger = { amount_usd: '-1.25', note: `note of ${ownerMark}` }
    await app.made('POST', `/owners/${owner}/ledger`, ledger, { 'idempotency-key': 'the same for all' })
    await app.made('PATCH', `/owners/${owner}`, { low_balance_usd: '1' })
  }
  const limits = {
    spend_limits: [
      { scope: 'end_user', usd: '5', window: 'day' },
      { scope: 'agent', usd: '7', window: 'total' },
    ],
  }
  const fields = { system_prompt: `${mark} prompt`, tools: [{ type: 'builtin', name: 'now' }], ...limits }
  const agent = await app.makeAgent(owner, { name: `${mark} agent`, ...fields })
  await app.made('PATCH', `/agents/${agent.id}`, { temperature: 0.5 })
  const spareAgent = await app.makeAgent(siblingOwner ?? owner, { name: `${mark} spare agent`, ...fields })
  const newKey = (name: string): Promise<Json> =>
    app.made('POST', `/agents/${agent.id}/keys`, { permission: 'full', name: `${mark} ${name}` })
  const [key, spareKey] = [await newKey('key'), await newKey('spare key')]
  const caller: Caller = { agentId: agent.id, apiKey: key.api_key, ownerId: owner }

  const newWebhook = (path: string, of: Json): Promise<Json> => {
    const webhook = { url: receiver.url(`/${mark}${path}`), events: ['*'], description: `${mark} webhook`, include_messages: true }
    return app.made('POST', '/webhooks', { ...webhook, ...of })
  }
  // One of an owner and its agent, one of an owner, and one of an agent alone.
  const webhook = await newWebhook('', { owner_id: owner, agent_id: agent.id })
  const spareWebhook = await newWebhook('/spare', siblingOwner === undefined ? { owner_id: owner } : { agent_id: agent.id })
  await app.moveClock(2)

  const newDocument = (name: string): Promise<Json> =>
    app.made('POST', `/agents/${agent.id}/documents`, { title: `${mark} ${name}`, text: `# ${mark}\n\n${mark} says that words are found.` })
  const [document, spareDocument] = [await newDocument('document'), await newDocument('spare document')]
  for (const { id } of [document, spareDocument])
    for (let status = 'queued'; status !== 'ready';) status = (await app.made('GET', `/agents/${agent.id}/documents/${id}`)).status

  const trace = randomBytes(16).toString('hex')
  const traced = { headers: { traceparent: `00-${trace}-00f067aa0ba902b7-01` } }
  const chat = async (user: string): Promise<Json> => {
    const { status, json, text } = await app.chat(`${mark} hello`, { user, caller, ...traced })
    assert.equal(status, 200, text)
    return json
  }
  const [user, spareUser] = [`${mark}-user`, `${mark}-spare-user`]
  await chat('ann')
  const answered = await chat(user)
  const spare = await chat(spareUser)
  app.model.when(`${mark} fail`, { status: 400, body: `${mark} is refused` })
  const { json: failed } = await app.chat(`${mark} fail`, { user: 'ann', caller })
  const feedback = { rating: 'down', comment: `${mark} comment`, tags: ['slow', `${mark} tag`] }
  const rated = await read(await app.chatRequest(feedback, { caller, path: `turns/${answered.request_id}/feedback` }))
  assert.equal(rated.status, 200, rated.text)
  await app.made('PUT', `/agents/${agent.id}/end-users/limits`, { external_user_id: user, spend_limits: limits.spend_limits.slice(0, 1) })
  // Less than what it has spent, so that it is listed as what needs attention.
  const lower = { external_user_id: spareUser, spend_limits: [{ scope: 'end_user', usd: '0.00000001', window: 'day' }] }
  await app.made('PUT', `/agents/${agent.id}/end-users/limits`, lower)
  await app.made('POST', `/agents/${agent.id}/playground`, { message: `${mark} plays` })

  const access = { name: `${mark} access`, role: 'viewer', owner_id: owner }
  const operator = await app.made('POST', '/operators', { ...access, email: `${mark}@example.com` })
  const token = await app.made('POST', '/tokens', { ...access, agent_id: agent.id })

  const held = gate()
  app.model.when(`${mark} wait`, [`${mark} starts`, held, ' and ends'])
  // Without a caller that waits: its connection would be closed when it is idle for too long, and the tests may take longer.
  const accepted = await app.chat(`${mark} wait`, { user: 'held', caller, headers: { prefer: 'respond-async' } })
  assert.equal(accepted.status, 202, accepted.text)
  await held.reached
  const [running] = (await app.made('GET', `/turns?status=running&agent_id=${agent.id}`)).data
  await receiver.got(`/${mark}`, 5)
  const delivered = await whenDelivered(app, webhook.id)

  const ids: Ids = {
    owner,
    agent: agent.id,
    spareAgent: spareAgent.id,
    key: key.id,
    publicKey: /^svc_live_(\w+)\./.exec(key.api_key)![1]!,
    spareKey: spareKey.id,
    conversation: answered.conversation_id,
    spareConversation: spare.conversation_id,
    turn: answered.request_id,
    failedTurn: failed.error.request_id,
    runningTurn: running.request_id,
    trace,
    document: document.id,
    spareDocument: spareDocument.id,
    webhook: webhook.id,
    spareWebhook: spareWebhook.id,
    delivery: delivered.id,
    provider,
    operator: operator.id,
    token: token.id,
    user,
    spareUser,
  }
  const { owner: ownerId, ...others } = ids
  return { mark, ids, marks: [mark, ...Object.values(others)], ownerMarks: [ownerMark, ownerId], held }
}

/** The newest delivery, when none is pending. */
async function whenDelivered(app: TestApp, webhookId: string): Promise<Json> {
  for (;;) {
    const { data } = await app.made('GET', `/webhooks/${webhookId}/deliveries?limit=100`)
    if (data.length > 0 && data.every(({ status }: Json) => status === 'delivered')) return data[0]
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}

/** IDs and names of the same form that nothing has. */
export function unknownIds(ids: Ids): Ids {
  const unknown = (id: string): string =>
    id.startsWith('canary-')
      ? id.replace(/^canary-..../, `absent${randomBytes(3).toString('hex').slice(0, 5)}`)
      : /^[0-9a-f-]{36}$/.test(id)
        ? randomUUID()
        : /^[0-9a-f]{32}$/.test(id)
          ? randomBytes(16).toString('hex')
          : id.startsWith('evt_')
            ? id.replace(/[0-9a-f-]{36}/, randomUUID())
            : id.slice(0, -8) + randomBytes(4).toString('hex')
  return Object.fromEntries(Object.entries(ids).map(([name, id]) => [name, unknown(id)])) as Ids
}

/** What changes by itself: renewed leases, last uses. */
const changing = ['lease_until', 'last_used_at']

/** Every row of every table, as text. */
export async function allRows(app: TestApp): Promise<string[]> {
  const tables = await app.query(
    storeKind === 'postgres'
      ? `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`
      : `select name from sqlite_master where type = 'table' and name not like 'chunk_%'`,
  )
  const rows: string[] = []
  for (const { name } of tables)
    for (const row of await app.query(`select * from "${String(name)}"`))
      rows.push(`${String(name)} ${JSON.stringify(Object.entries(row).filter(([column]) => !changing.includes(column)))}`)
  // The reading of its own texts is in the audit log.
  return rows.filter((row) => !/^audit .*\["verb","read"\]/.test(row)).toSorted()
}

/** The rows that are in one of the two lists only. */
export function differences(before: string[], after: string[]): string[] {
  const [old, present] = [new Set(before), new Set(after)]
  return [...before.filter((row) => !present.has(row)), ...after.filter((row) => !old.has(row))]
}
