/**
 * Agents: what of them is not versioned is `enabled`, the spend limits and the deletion. agent-versions.ts has the rest.
 */
import { agentFields as declaredFields, readSettings } from '../../resources/agent.ts'
import { readLimits } from '../../spend-limits.ts'
import type { SpendLimit } from '../../spend-limits.ts'
import type { Row, Sql } from '../sql.ts'
import { insertVersion, readVersion, versionColumns } from './agent-versions.ts'
import type { AgentContent, AgentVersion } from './agent-versions.ts'
import { integer, text } from './columns.ts'
import type { PageRequest } from './paging.ts'
import { findProvider } from './providers.ts'
import { Values } from './reported-turns.ts'
import { lockOwner, setSpendLimits, writeLimits } from './spend-limits.ts'
import type { NewSpendLimit } from './spend-limits.ts'
import { formatUsd } from './../../ledger/ledger.ts'
import { read, write } from './operation.ts'
import { byFilter, ofAgent, ofOwner } from './scope.ts'
import { auditedOf, changed, created, deleted, usdOrNull, withheld } from './audited-fields.ts'
import type { AuditedFields } from './audited-fields.ts'

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

async function changeAgent(sql: Sql, { id, enabled, spendLimits, next }: AgentChange): Promise<ChangeAgentOutcome> {
  const present = await findAgent(sql, id)
  if (!present) return { kind: 'not_found' }
  const missing = next && (await findMissing(sql, next))
  if (missing) return missing
  if (spendLimits) await lockOwner(sql, present.ownerId)
  const now = await sql.now()
  const version = next ? next.after + 1 : present.present.version
  const changedRows = await sql.run(
    // `billing.unpaid`: another version has other prices and limits, so what a turn of the previous one needed says nothing about it.
    `update agents set enabled = $1, version = $2, updated_at = $3, min_hold = case when version = $2 then min_hold else 0 end
      where id = $4 and version = $5 and deleted_at is null`,
    (enabled ?? present.enabled) ? 1 : 0,
    version,
    now,
    id,
    next ? next.after : version,
  )
  if (changedRows === 0) return { kind: 'stale' }
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
async function deleteAgent(sql: Sql, id: string): Promise<boolean> {
  return (await sql.run('update agents set deleted_at = $1 where id = $2 and deleted_at is null', await sql.now(), id)) === 1
}

/** Returns undefined for a deleted agent. */
async function findAgent(sql: Sql, id: string): Promise<Agent | undefined> {
  const [row] = await sql.all(`select ${agentColumns} ${presentVersions} and a.id = $1`, id)
  return row && readAgent(row)
}

export type AgentFilter = { ownerId?: string | undefined; agentId?: string | undefined }

/** Newest first, without deleted agents. */
async function listAgents(sql: Sql, { ownerId, agentId }: AgentFilter, { limit, before }: PageRequest): Promise<Agent[]> {
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

/** Of tools, the names: their addresses, headers and schemas may contain secrets, so an entry says only which of their fields changed. */
function agentFields({ ownerId, enabled, spendLimits, present }: Agent): AuditedFields {
  const { price, version } = present
  const config = JSON.parse(present.config) as StoredConfig & Record<string, unknown>
  const { tools = [] } = config
  const { name, system_prompt, model, ...settings } = auditedOf(declaredFields)(readSettings(present, config) ?? {})
  return {
    version,
    owner_id: ownerId,
    name: name!,
    system_prompt: system_prompt!,
    model: model!,
    'price.prompt_usd_per_million': formatUsd(price.promptPerMillion),
    'price.completion_usd_per_million': formatUsd(price.completionPerMillion),
    'price.cached_prompt_usd_per_million': usdOrNull(price.cachedPromptPerMillion),
    'price.cache_write_usd_per_million': usdOrNull(price.cacheWritePerMillion),
    'price_source.from': config.priceSource?.from ?? null,
    ...settings,
    tools: tools.map((tool) => tool.name),
    ...Object.fromEntries(
      tools.flatMap((tool) => Object.entries(tool).map(([field, value]) => [`tools.${tool.name}.${apiName(field)}`, withheld(value)])),
    ),
    enabled,
    spend_limits: writeLimits(spendLimits),
  }
}

const apiName = (name: string): string => (name === 'price' ? 'price_usd' : name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))

/** What the stored configuration of a version has besides its settings; src/agent/agent-config.ts defines it. */
type StoredConfig = { priceSource?: { from: string } | null; tools?: ({ name: string } & Record<string, unknown>)[] }

export const agentReads = {
  findAgent: read(findAgent, { scope: ofAgent((id) => id, undefined), readings: null }),
  listAgents: read(listAgents, { scope: byFilter, readings: null }),
}

export const agentWrites = {
  createAgent: write(createAgent, {
    scope: ofOwner(({ ownerId }) => ownerId, { kind: 'owner_not_found' }),
    audit: (outcome) => (outcome.kind === 'created' ? created('agent', outcome.agent.id, agentFields, outcome.agent) : []),
    changesCaches: true,
  }),
  changeAgent: write(changeAgent, {
    scope: ofAgent(({ id }) => id, { kind: 'not_found' }),
    before: (sql, [{ id }]) => findAgent(sql, id),
    audit: (outcome, [{ id }], before) => changed('agent', id, agentFields, before, outcome.kind === 'changed' && outcome.agent),
    changesCaches: true,
  }),
  deleteAgent: write(deleteAgent, {
    scope: ofAgent((id) => id, false),
    before: (sql, [id]) => findAgent(sql, id),
    audit: (found, [id], before) => deleted('agent', id, agentFields, found && before),
    changesCaches: true,
  }),
}
