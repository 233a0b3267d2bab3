/**
 * Runs a plan on a server, through its admin API and its public API alone. Before each event it moves the store's clock to the event's time, so
 * every row is written by the code that writes it in production. Leaves the clock at the present, even when it fails.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pass } from 'node:timers/promises'
import { createClient } from './client.ts'
import type { Client, Json } from './client.ts'
import { timeOf } from './plan.ts'
import type { Plan } from './plan.ts'
import type { Action, At, Turn } from './plan-objects.ts'
import { findTopic, roles, startOf } from './texts.ts'
import type { Role } from './texts.ts'
import { toolOf } from './tools.ts'

export type Target = {
  url: string
  adminUrl: string
  adminToken: string
  /** Of scripted-server.ts. */
  scriptedUrl: string
  /** Sets how far the store's clock is from the present. */
  setClockOffset(milliseconds: number): Promise<void>
}

export type FilledAgent = { agentId: string; ownerId: string; apiKey: string }

export type Filled = {
  agents: Record<Role, FilledAgent>
  owners: number
  documents: number
  turns: Record<Turn['outcome'], number>
  feedback: number
}

/** The store has this seed's data already, or a part of it. */
export class AlreadySeeded extends Error {}

export const documentFile = (name: string): string => join(import.meta.dirname, '..', '..', 'test', 'data', 'documents', name)

type Agent = { id: string; owner: string; keys: Record<string, { id: string; secret: string }> }
type State = { target: Target; client: Client; plan: Plan; owners: Map<string, string>; agents: Map<Role, Agent>; filled: Filled }

/** `onDay` hears of each new day. Throws AlreadySeeded, or an Error that names the event and the server's answer. */
export async function fill(target: Target, plan: Plan, onDay: (daysLeft: number) => void = () => {}): Promise<Filled> {
  const client = createClient(target)
  await refuseTwice(client, plan)
  const startedAt = Date.now()
  const setTime = (at: At): Promise<void> => target.setClockOffset(Math.min(0, timeOf(at, startedAt) - Date.now()))
  const turns = { completed: 0, incomplete: 0, failed: 0, released: 0, cancelled: 0, refused: 0 }
  const filled: Filled = { agents: {} as Filled['agents'], owners: plan.owners.length, documents: 0, turns, feedback: 0 }
  const state: State = { target, client, plan, owners: new Map(), agents: new Map(), filled }
  try {
    await setTime(plan.start)
    await createObjects(state)
    let day = -1
    for (const [index, { at, action }] of plan.events.entries()) {
      const daysLeft = 'daysAgo' in at ? at.daysAgo : 0
      if (daysLeft !== day) onDay((day = daysLeft))
      await setTime(at)
      await run(state, action, `seed-${plan.seed}-${index}`)
    }
  } finally {
    await target.setClockOffset(0)
  }
  for (const role of roles) {
    const { id, owner, keys } = state.agents.get(role)!
    filled.agents[role] = { agentId: id, ownerId: owner, apiKey: keys['Website']!.secret }
  }
  return filled
}

async function refuseTwice(client: Client, { provider, seed }: Plan): Promise<void> {
  const providers = await client.list('/providers')
  if (providers.some(({ name }) => name === provider))
    throw new AlreadySeeded(
      `this server already has the data of seed ${seed}, or a part of it (provider "${provider}"). Choose another seed, or a new data folder.`,
    )
}

async function createObjects({ target, client, plan, owners, agents }: State): Promise<void> {
  await client.post('/providers', {
    name: plan.provider,
    kind: 'openai-compatible',
    base_url: `${target.scriptedUrl}/v1`,
    api_key: 'not-a-real-key',
  })
  for (const { kind, name, balanceUsd } of plan.owners)
    owners.set(kind, String((await client.post('/owners', { name, balance_usd: balanceUsd }))['id']))
  for (const { role, owner, name, fields, tools } of plan.agents) {
    const ownerId = owners.get(owner)!
    const given = { owner_id: ownerId, name, ...fields, tools: tools.map((tool) => toolOf(tool, target.scriptedUrl)) }
    const agent: Agent = { id: String((await client.post('/agents', given))['id']), owner: ownerId, keys: {} }
    agents.set(role, agent)
    const names = role === 'orders' ? ['Website', 'Mobile app', 'Old shop'] : ['Website']
    for (const keyName of names) agent.keys[keyName] = await createKey(client, agent.id, { name: keyName, permission: 'full' })
    if (role === 'orders') await createKey(client, agent.id, { name: 'Dashboard', permission: 'read-only' })
  }
}

async function createKey(client: Client, agentId: string, fields: Json): Promise<{ id: string; secret: string }> {
  // A month of requests arrives within seconds of real time, which is what rate limits count.
  const key = await client.post(`/agents/${agentId}/keys`, { ...fields, rate_limit: { limit: 6_000, window_seconds: 60 } })
  return { id: String(key['id']), secret: String(key['api_key']) }
}

async function run(state: State, action: Action, idempotencyKey: string): Promise<void> {
  const { target, client, owners, agents } = state
  switch (action.kind) {
    case 'top-up': {
      const body = { amount_usd: action.amountUsd, note: action.note }
      await client.post(`/owners/${owners.get(action.owner)!}/ledger`, body, { 'idempotency-key': idempotencyKey })
      return
    }
    case 'webhook': {
      const { path, events, description, owner } = action
      await client.post('/webhooks', { url: `${target.scriptedUrl}${path}`, events, description, owner_id: owners.get(owner)! })
      return
    }
    case 'operator':
      return addOperator(client, action)
    case 'token': {
      const { name, role, owner } = action
      await client.post('/tokens', { name, role, ...(owner === undefined ? {} : { owner_id: owners.get(owner)! }) })
      return
    }
  }
  const agent = agents.get(action.role)!
  switch (action.kind) {
    case 'turn':
      return runTurn(state, action, idempotencyKey)
    case 'playground':
      await client.stream(`/agents/${agent.id}/playground`, { message: action.message })
      return
    case 'change-agent':
      await client.patch(`/agents/${agent.id}`, action.fields)
      return
    case 'rollback':
      await client.post(`/agents/${agent.id}/rollback`, { version: action.version })
      return
    case 'rotate-key':
      agent.keys['Website']!.secret = String((await client.post(`/keys/${agent.keys['Website']!.id}/rotate`, {}))['api_key'])
      return
    case 'limits':
      if (action.user === undefined) await client.patch(`/agents/${agent.id}`, { spend_limits: action.limits })
      else await client.put(`/agents/${agent.id}/end-users/limits`, { external_user_id: action.user, spend_limits: action.limits })
      return
    case 'revoke-key':
      await client.delete(`/keys/${agent.keys[action.name]!.id}`)
      return
    case 'document':
    case 'text':
      return addDocument(state, agent, action)
  }
}

/** The link of the invitation has its token behind `#`. */
async function addOperator(client: Client, { fields, joins }: Extract<Action, { kind: 'operator' }>): Promise<void> {
  const { invitation_url: link } = (await client.post('/operators', fields)) as { invitation_url: string }
  if (joins) await client.post('/session/invitation', { token: link.slice(link.indexOf('#') + 1), password: 'sample data of a month' })
}

async function runTurn({ client, agents, filled }: State, turn: Turn, idempotencyKey: string): Promise<void> {
  const { id, keys } = agents.get(turn.role)!
  const { isStream, user, message } = turn
  const caller = { agentId: id, apiKey: keys[turn.key]!.secret }
  const cancelAfter =
    turn.outcome === 'cancelled' ? '' : turn.outcome === 'incomplete' ? startOf(findTopic(message)!.topic.reply) : undefined
  const answer = await client.chat({
    ...caller,
    idempotencyKey,
    isStream,
    user,
    message,
    ...(cancelAfter === undefined ? {} : { cancelAfter }),
  })
  const expected = ['failed', 'released', 'refused'].includes(turn.outcome) ? 'none' : turn.outcome
  if (answer.outcome !== expected)
    throw new Error(`the turn "${message}" should have been ${turn.outcome}, and the server answered: ${answer.text.slice(-500)}`)
  filled.turns[turn.outcome] += 1
  if (!turn.feedback) return
  await client.giveFeedback(caller, answer.requestId, turn.feedback)
  filled.feedback += 1
}

async function addDocument({ client, filled }: State, agent: Agent, action: Extract<Action, { kind: 'document' | 'text' }>): Promise<void> {
  const path = `/agents/${agent.id}/documents`
  const document =
    action.kind === 'text'
      ? await client.post(path, { title: action.title, text: action.text })
      : await client.upload(path, action.file, readFileSync(documentFile(action.file)))
  // The clock moves only after the document is indexed, so that its lease does not run out.
  const deadline = Date.now() + 60_000
  for (;;) {
    const { status } = await client.get(`${path}/${String(document['id'])}`)
    if (status === 'ready' || status === 'failed') break
    if (Date.now() > deadline)
      throw new Error(`the document ${action.kind === 'text' ? action.title : action.file} is not indexed after 60 s`)
    await pass(20)
  }
  filled.documents += 1
}
