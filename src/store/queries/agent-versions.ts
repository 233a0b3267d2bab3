/** The versions of agents. A version never changes: turns use it, and recovery continues with it. */
import type { Price } from '../../ledger/ledger.ts'
import type { Row, Sql } from '../sql.ts'
import { integer, readPrice, text } from './columns.ts'
import type { PageRequest } from './paging.ts'
import { read } from './operation.ts'
import { ofAgent } from './scope.ts'

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

/** Finds versions of deleted agents, too, because their running turns continue. */
async function agentVersion(sql: Sql, agentId: string, version: number): Promise<AgentVersion | undefined> {
  const [row] = await sql.all(`select ${versionColumns} from agent_versions v where v.agent_id = $1 and v.version = $2`, agentId, version)
  return row && readVersion(row)
}

/** Newest first. */
async function listAgentVersions(sql: Sql, agentId: string, { limit, before }: PageRequest): Promise<AgentVersion[]> {
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
async function listPriceChanges(sql: Sql, agentId: string, { limit, before }: PageRequest): Promise<AgentVersion[]> {
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

/** Inserts one version of an agent, which never changes. */
export async function insertVersion(sql: Sql, given: Omit<AgentVersion, 'id'>): Promise<AgentVersion> {
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

/** Of `agent_versions v`. */
export const versionColumns = `v.agent_id, v.version, v.name, v.model, v.config, v.fixed_tokens, v.history_max_tokens, v.knowledge_max_tokens,
  v.max_output_tokens, v.max_message_length, v.prompt_price, v.completion_price, v.cached_prompt_price, v.cache_write_price, v.created_at`

export const readVersion = (row: Row): AgentVersion => ({
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

export const agentVersionReads = {
  agentVersion: read(agentVersion, { scope: ofAgent((id) => id, undefined), readings: null }),
  listAgentVersions: read(listAgentVersions, { scope: ofAgent((id) => id, []), readings: null }),
  listPriceChanges: read(listPriceChanges, { scope: ofAgent((id) => id, []), readings: null }),
}
