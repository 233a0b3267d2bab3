/**
 * Usage by owner, agent, API key and end user in any combination (`billing.reports`): one line for each group of turns that ended in a period.
 * A turn keeps its owner, agent, key and conversation, and its charge, when text is erased, so that a line never changes after its period.
 */
import type { Amount } from '../../ledger/ledger.ts'
import type { Row, Sql } from '../sql.ts'
import { bigInteger, integer, text, textOrNull } from './columns.ts'
import { Values, chargedTurns, endedTurns } from './reported-turns.ts'
import type { Period, UsageFilter } from './reported-turns.ts'

export type UsageGroup = 'owner' | 'agent' | 'api_key' | 'end_user'

/** Identifies a line within its period. A part that the lines are not grouped by is empty. */
export type LineKey = {
  ownerId: string
  agentId: string
  apiKeyId: string
  /** Empty for an erased end user, too. */
  externalUserId: string
  /** The conversation of an erased end user, whose name is no longer known. */
  erasedConversationId: string
}

export type LineFigures = {
  /** Turns that ended: the sum of the next four. */
  turns: number
  completed: number
  failed: number
  released: number
  cancelled: number
  promptTokens: number
  completionTokens: number
  charged: Amount
  writtenOff: Amount
  /** `billing.unpaid` */
  unpaid: Amount
}

/** With the names of today, for readers. */
export type UsageLine = LineKey & LineFigures & { ownerName: string | null; agentName: string | null; keyName: string | null }

export type LinesWanted = UsageFilter & Period & { groupBy: UsageGroup[]; limit: number; after?: LineKey | undefined }

/**
 * In the order of their keys, at most `limit` lines after `after`. Each call adds up the turns of the period. For end users it first adds them up by
 * conversation, from an index, so that a name is looked up once for a conversation and not once for a turn.
 */
export async function listUsageLines(sql: Sql, { groupBy, limit, after, from, to, ...filter }: LinesWanted): Promise<UsageLine[]> {
  const values = new Values()
  const ofUser = groupBy.includes('end_user')
  const start = after
    ? `where (k1, k2, k3, k4, k5) > (${keyParts.map((part) => `cast(${values.add(after[part])} as text)`).join(', ')})`
    : ''
  const rows = await sql.all(
    `select g.*, o.name as owner_name, v.name as agent_name, k.name as key_name from (
       select k1, k2, k3, k4, k5, ${sums(figures)} from (
         select ${keyColumns(groupBy)}, ${figures.join(', ')} from (
           ${turnsByGroup(groupBy, { filter, period: { from, to }, values })}
         ) x ${ofUser ? 'cross join conversations c where c.id = x.conversation_id' : ''}
       ) l ${start} group by k1, k2, k3, k4, k5 order by k1, k2, k3, k4, k5 limit ${values.add(limit)}
     ) g left join owners o on o.id = g.k1
       left join agents a on a.id = g.k2 left join agent_versions v on v.agent_id = a.id and v.version = a.version
       left join api_keys k on k.id = g.k3
     order by g.k1, g.k2, g.k3, g.k4, g.k5`,
    ...values.list,
  )
  return rows.map(readLine)
}

/** The figures of the turns of a period by conversation if end users are wanted, otherwise by owner, agent and key. */
function turnsByGroup(groupBy: UsageGroup[], { filter, period, values }: { filter: UsageFilter; period: Period; values: Values }): string {
  const ids = ['owner_id', 'agent_id', 'api_key_id']
  const ofUser = groupBy.includes('end_user')
  const keys = [...ids, ...(ofUser ? ['conversation_id'] : [])].map((column) => `t.${column}`).join(', ')
  // A conversation has one key, agent and owner. To sort by one column costs half.
  const [selected, grouped] = ofUser
    ? [`${ids.map((column) => `max(${column}) as ${column}`).join(', ')}, conversation_id`, 'conversation_id']
    : [ids.join(', '), ids.join(', ')]
  const ended = endedTurns(filter, period, values)
  const charged = chargedTurns(filter, period, values)
  const unpaid = endedTurns(filter, period, values)
  return `select ${selected}, count(state) as turns,
      ${counted.map((state) => `count(case state when '${state}' then 1 end) as ${state}`).join(', ')}, ${sums(summed)}
    from (
      select ${keys}, t.state, coalesce(t.prompt_tokens, 0) as prompt_tokens, coalesce(t.completion_tokens, 0) as completion_tokens,
        coalesce(t.charged, 0) as charged, 0 as written_off, 0 as unpaid
      from ${ended.tables} where ${ended.conditions}
      union all
      select ${keys}, null, 0, 0, 0, l.written_off, 0 from ${charged.tables} where l.written_off > 0 and ${charged.conditions}
      union all
      select ${keys}, null, 0, 0, 0, 0, t.unpaid from ${unpaid.tables} where t.unpaid > 0 and ${unpaid.conditions}
    ) u group by ${grouped}`
}

const sums = (columns: string[]): string => columns.map((column) => `cast(sum(${column}) as bigint) as ${column}`).join(', ')

const keyParts = ['ownerId', 'agentId', 'apiKeyId', 'externalUserId', 'erasedConversationId'] as const
const counted = ['completed', 'failed', 'released', 'cancelled']
const summed = ['prompt_tokens', 'completion_tokens', 'charged', 'written_off', 'unpaid']
const figures = ['turns', ...counted, ...summed]

/** An API key belongs to one agent, an end user to one agent, and an agent to one owner. */
function keyColumns(groupBy: UsageGroup[]): string {
  const by = (...groups: UsageGroup[]): boolean => groups.some((group) => groupBy.includes(group))
  const columns = [
    by('owner', 'agent', 'api_key', 'end_user') && 'x.owner_id',
    by('agent', 'api_key', 'end_user') && 'x.agent_id',
    by('api_key') && 'x.api_key_id',
    by('end_user') && `coalesce(c.external_user_id, '')`,
    by('end_user') && `case when c.external_user_id is null then c.id else '' end`,
  ]
  return columns.map((column, index) => `${column || `cast('' as text)`} as k${index + 1}`).join(', ')
}

const readLine = (row: Row): UsageLine => ({
  ownerId: text(row, 'k1'),
  agentId: text(row, 'k2'),
  apiKeyId: text(row, 'k3'),
  externalUserId: text(row, 'k4'),
  erasedConversationId: text(row, 'k5'),
  ownerName: textOrNull(row, 'owner_name'),
  agentName: textOrNull(row, 'agent_name'),
  keyName: textOrNull(row, 'key_name'),
  turns: integer(row, 'turns'),
  completed: integer(row, 'completed'),
  failed: integer(row, 'failed'),
  released: integer(row, 'released'),
  cancelled: integer(row, 'cancelled'),
  promptTokens: integer(row, 'prompt_tokens'),
  completionTokens: integer(row, 'completion_tokens'),
  charged: bigInteger(row, 'charged'),
  writtenOff: bigInteger(row, 'written_off'),
  unpaid: bigInteger(row, 'unpaid'),
})
