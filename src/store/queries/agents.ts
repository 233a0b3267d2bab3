/**
 * Agents and their versions. A version never changes: turns use it, and recovery continues with it. `enabled`, spend limits and deletion are
 * not versioned.
 */
import type { Price } from '../../ledger/ledger.ts'
import { readLimits } from '../../spend-limits.ts'
import type { SpendLimit } from '../../spend-limits.ts'
import type { Row, Sql } from '../sql.ts'
import { integer, readPrice, text } from './columns.ts'
import type { PageRequest } from './paging.ts'
import { findProvider } from './providers.ts'
import { Values } from './reported-turns.ts'
import { lockOwner, setSpendLimits } from './spend-limits.ts'
import type { NewSpendLimit } from './spend-limits.ts'

export type AgentContent = {
  name: string
  /** `<provider name>/<model id>`. */
  model: string
  /** JSON, defined by src/agent/agent-config.ts. */
  config: string
  /** `billing.hold`: the tokens that every prompt of this version costs, without history, knowledge and message. */
  fixedTokens: number
  historyMaxTokens: number
  knowledgeMaxTokens: number
  maxOutputTokens: number
  /** Code points. */
  maxMessageLength: number
  price: Price
}

export type AgentVersion = AgentContent & {
  /** The version's number as text, for its position in a list. */
  id: string
  agentId: string
  version: number
  createdAt: number
}

export type Agent = {
  id: string
  ownerId: string
  enabled: boolean
  /** `billing.spend-limit` */
  spendLimits: SpendLimit[]
  createdAt: number
  updatedAt: number
  /** The version that new turns use. */
  present: AgentVersion
}

/**
 * The providers that must exist when the transaction ends. `provider` runs the model; null: the model is built in. `embeddingProvider` makes
 * the vectors; null: there are none.
 */
export type NeededProviders = { provider: string | null; embeddingProvider?: string | null }
export type MissingProvider = { kind: 'provider_not_found' } | { kind: 'embedding_provider_not_found' }

export type NewAgent = NeededProviders & { id: string; ownerId: string; content: AgentContent; spendLimits?: NewSpendLimit[] | undefined }

export type CreateAgentOutcome = { kind: 'created'; agent: Agent } | { kind: 'owner_not_found' } | MissingProvider

export async function createAgent(sql: Sql, { id, ownerId, content, spendLimits = [], ...needed }: NewAgent): Promise<CreateAgentOutcome> {
  const [owner] = await sql.all('select 1 as one from owners where id = $1', ownerId)
  if (!owner) return { kind: 'owner_not_found' }
  const missing = await findMissing(sql, needed)
  if (missing) return missing
  const now = await sql.now()
  await sql.run('insert into agents (id, owner_id, version, created_at, updated_at) values ($1, $2, 1, $3, $3)', id, ownerId, now)
  const present = await insertVersion(sql, { ...content, agentId: id, version: 1, createdAt: now })
  const limits = spendLimits.length > 0 ? await setSpendLimits(sql, id, spendLimits, now) : []
  return { kind: 'created', agent: { id, ownerId, enabled: true, spendLimits: limits, createdAt: now, updatedAt: now, present } }
}

export type AgentChange = {
  id: string
  enabled?: boolean | undefined
  /** `billing.spend-limit`: all limits of the agent from now on. They are not part of a version. */
  spendLimits?: NewSpendLimit[] | undefined
  /** The next version. `after` is the version that it is based on. */
  next?: (NeededProviders & { after: number; content: AgentContent }) | undefined
}

export type ChangeAgentOutcome =
  | { kind: 'changed'; agent: Agent }
  | { kind: 'not_found' }
  | MissingProvider
  /** Another change was first: read the agent again and decide again. Nothing was written. */
  | { kind: 'stale' }

export async function changeAgent(sql: Sql, { id, enabled, spendLimits, next }: AgentChange): Promise<ChangeAgentOutcome> {
  const present = await findAgent(sql, id)
  if (!present) return { kind: 'not_found' }
  const missing = next && (await findMissing(sql, next))
  if (missing) return missing
  if (spendLimits) await lockOwner(sql, present.ownerId)
  const now = await sql.now()
  const version = next ? next.after + 1 : present.present.version
  const changed = await sql.run(
    // `billing.unpaid`: another version has other prices and limits, so what a turn of the previous one needed says nothing about it.
    `update agents set enabled = $1, version = $2, updated_at = $3, min_hold = case when version = $2 then min_hold else 0 end
      where id = $4 and version = $5 and deleted_at is null`,
    (enabled ?? present.enabled) ? 1 : 0,
    version,
    now,
    id,
    next ? next.after : version,
  )
  if (changed === 0) return { kind: 'stale' }
  const newest = next ? await insertVersion(sql, { ...next.content, agentId: id, version, createdAt: now }) : present.present
  const limits = spendLimits ? await setSpendLimits(sql, id, spendLimits, now) : present.spendLimits
  return {
    kind: 'changed',
    agent: { ...present, enabled: enabled ?? present.enabled, spendLimits: limits, updatedAt: now, present: newest },
  }
}

async function findMissing(sql: Sql, { provider, embeddingProvider = null }: NeededProviders): Promise<MissingProvider | undefined> {
  if (provider !== null && !(await findProvider(sql, provider))) return { kind: 'provider_not_found' }
  if (embeddingProvider !== null && !(await findProvider(sql, embeddingProvider))) return { kind: 'embedding_provider_not_found' }
  return undefined
}

/** Soft delete: turns, keys and conversations keep their references. Returns whether the agent existed. */
export async function deleteAgent(sql: Sql, id: string): Promise<boolean> {
  return (await sql.run('update agents set deleted_at = $1 where id = $2 and deleted_at is null', await sql.now(), id)) === 1
}

/** Returns undefined for a deleted agent. */
export async function findAgent(sql: Sql, id: string): Promise<Agent | undefined> {
  const [row] = await sql.all(`select ${agentColumns} ${presentVersions} and a.id = $1`, id)
  return row && readAgent(row)
}

export type AgentFilter = { ownerId?: string | undefined; agentId?: string | undefined }

/** Newest first, without deleted agents. */
export async function listAgents(sql: Sql, { ownerId, agentId }: AgentFilter, { limit, before }: PageRequest): Promise<Agent[]> {
  const values = new Values()
  const filters = Object.entries({ 'a.owner_id': ownerId, 'a.id': agentId })
  const conditions = filters.flatMap(([column, value]) => (value === undefined ? [] : [`and ${column} = ${values.add(value)}`]))
  const rows = await sql.all(
    `select ${agentColumns} ${presentVersions} ${conditions.join(' ')}
       and (a.created_at, a.id) < (${values.add(before.createdAt)}, ${values.add(before.id)})
     order by a.created_at desc, a.id desc limit ${values.add(limit)}`,
    ...values.list,
  )
  return rows.map(readAgent)
}

/** Finds versions of deleted agents, too, because their running turns continue. */
export async function agentVersion(sql: Sql, agentId: string, version: number): Promise<AgentVersion | undefined> {
  const [row] = await sql.all(`select ${versionColumns} from agent_versions v where v.agent_id = $1 and v.version = $2`, agentId, version)
  return row && readVersion(row)
}

/** Newest first. */
export async function listAgentVersions(sql: Sql, agentId: string, { limit, before }: PageRequest): Promise<AgentVersion[]> {
  const rows = await sql.all(
    `select ${versionColumns} from agent_versions v where v.agent_id = $1 and v.version < $2 order by v.version desc limit $3`,
    agentId,
    // A page starts below the last version of the previous one. The position of the first page names none.
    before.id === '' ? Number.MAX_SAFE_INTEGER : Number(before.id),
    limit,
  )
  return rows.map(readVersion)
}

/**
 * The versions in which the price changed, newest first: the first version, and each whose price differs from that of the version before. Its
 * numbers have no gaps.
 */
export async function listPriceChanges(sql: Sql, agentId: string, { limit, before }: PageRequest): Promise<AgentVersion[]> {
  const rows = await sql.all(
    `select ${versionColumns} from agent_versions v left join agent_versions p on p.agent_id = v.agent_id and p.version = v.version - 1
      where v.agent_id = $1 and v.version < $2 and (p.version is null or v.prompt_price <> p.prompt_price
        or v.completion_price <> p.completion_price or coalesce(v.cached_prompt_price, -1) <> coalesce(p.cached_prompt_price, -1)
        or coalesce(v.cache_write_price, -1) <> coalesce(p.cache_write_price, -1))
      order by v.version desc limit $3`,
    agentId,
    before.id === '' ? Number.MAX_SAFE_INTEGER : Number(before.id),
    limit,
  )
  return rows.map(readVersion)
}

async function insertVersion(sql: Sql, given: Omit<AgentVersion, 'id'>): Promise<AgentVersion> {
  const version = { ...given, id: String(given.version) }
  await sql.run(
    `insert into agent_versions (agent_id, version, name, model, config, fixed_tokens, history_max_tokens, knowledge_max_tokens,
        max_output_tokens, max_message_length, prompt_price, completion_price, cached_prompt_price, cache_write_price, created_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
    version.agentId,
    version.version,
    version.name,
    version.model,
    version.config,
    version.fixedTokens,
    version.historyMaxTokens,
    version.knowledgeMaxTokens,
    version.maxOutputTokens,
    version.maxMessageLength,
    version.price.promptPerMillion,
    version.price.completionPerMillion,
    version.price.cachedPromptPerMillion,
    version.price.cacheWritePerMillion,
    version.createdAt,
  )
  return version
}

const versionColumns = `v.agent_id, v.version, v.name, v.model, v.config, v.fixed_tokens, v.history_max_tokens, v.knowledge_max_tokens,
  v.max_output_tokens, v.max_message_length, v.prompt_price, v.completion_price, v.cached_prompt_price, v.cache_write_price, v.created_at`

const agentColumns = `a.owner_id, a.enabled, a.spend_limits, a.created_at as agent_created_at, a.updated_at, ${versionColumns}`

const presentVersions = 'from agents a join agent_versions v on v.agent_id = a.id and v.version = a.version where a.deleted_at is null'

const readAgent = (row: Row): Agent => ({
  id: text(row, 'agent_id'),
  ownerId: text(row, 'owner_id'),
  enabled: integer(row, 'enabled') === 1,
  spendLimits: readLimits(text(row, 'spend_limits')),
  createdAt: integer(row, 'agent_created_at'),
  updatedAt: integer(row, 'updated_at'),
  present: readVersion(row),
})

const readVersion = (row: Row): AgentVersion => ({
  id: String(row['version']),
  agentId: text(row, 'agent_id'),
  version: integer(row, 'version'),
  name: text(row, 'name'),
  model: text(row, 'model'),
  config: text(row, 'config'),
  fixedTokens: integer(row, 'fixed_tokens'),
  historyMaxTokens: integer(row, 'history_max_tokens'),
  knowledgeMaxTokens: integer(row, 'knowledge_max_tokens'),
  maxOutputTokens: integer(row, 'max_output_tokens'),
  maxMessageLength: integer(row, 'max_message_length'),
  price: readPrice(row),
  createdAt: integer(row, 'created_at'),
})
