/**
 * Usage by owner, agent, API key and end user in any combination (`billing.reports`): one line for each group of turns that ended in a period.
 * A turn keeps its owner, agent, key and conversation, and its charge, when text is erased, so that a line never changes after its period.
 */
import type { Amount } from '../../ledger/ledger.ts'
import type { Row, Sql } from '../sql.ts'
import { bigInteger, integer, text, textOrNull } from './columns.ts'
import { readEndUserLines } from './end-user-lines.ts'
import { Values, chargedTurns, endedTurns } from './reported-turns.ts'
import type { Period, UsageFilter } from './reported-turns.ts'
import { compareKey, countStates, countedStates, keyColumns, summedColumns, sums, withNames } from './usage-line-columns.ts'
import type { LineKey } from './usage-line-columns.ts'
import { read } from './operation.ts'
import { instead, within } from './scope.ts'

export type { LineKey }
export type UsageGroup = 'owner' | 'agent' | 'api_key' | 'end_user'

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

/** In the order of their keys, at most `limit` lines after `after`. */
export async function listUsageLines(sql: Sql, wanted: LinesWanted): Promise<UsageLine[]> {
  const { groupBy, externalUserId, limit, after, from, to, ownerId, agentId, apiKeyId } = wanted
  if (groupBy.includes('end_user') && externalUserId === undefined) {
    const byKey = groupBy.includes('api_key')
    const rows = await readEndUserLines(sql, { from, to, ownerId, agentId, apiKeyId, byKey, limit, after })
    if (rows) return rows.map(readLine)
  }
  return (await addUp(sql, wanted)).map(readLine)
}

/**
 * Each call adds up the turns of the period. For end users it first adds them up by conversation, so that a name is looked up once for a
 * conversation and not once for a turn.
 */
function addUp(sql: Sql, { groupBy, limit, after, from, to, ...filter }: LinesWanted): Promise<Row[]> {
  const values = new Values()
  const ofUser = groupBy.includes('end_user')
  // mutant: billing.reports-2
  const lines = `select ${keyColumns}, ${sums(figures)} from (
      select ${keysOf(groupBy)}, ${figures.join(', ')} from (
        ${turnsByGroup(groupBy, { filter, period: { from, to }, values })}
      ) x ${ofUser ? 'cross join conversations c where c.id = x.conversation_id' : ''}
    ) l ${after ? `where ${compareKey('>', after, values)}` : ''} group by ${keyColumns} order by ${keyColumns} limit ${values.add(limit)}`
  return sql.all(withNames(lines), ...values.list)
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
  return `select ${selected}, ${countStates('state')}, ${sums(summedColumns)}
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

const figures = ['turns', ...countedStates, ...summedColumns]

/** An API key belongs to one agent, an end user to one agent, and an agent to one owner. */
function keysOf(groupBy: UsageGroup[]): string {
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

export const usageLineReads = {
  listUsageLines: read(listUsageLines, {
    queue: 'report',
    scope: ({ scope }, wanted) => ({
      ...instead(within(scope, wanted)),
      // One that is restricted to an agent does not see its owner.
      show: (lines) => (scope.agentId === null ? lines : lines.map((line) => ({ ...line, ownerName: null }))),
    }),
    readings: null,
  }),
}
