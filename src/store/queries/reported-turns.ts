/**
 * Which turns a report counts (`billing.reports`), as parts of a statement. All filters together must match. A turn is counted at its end. The turns of one end
 * user are found from the user's conversations, of which an API key has at most one; all others from an index of the period.
 */
import type { SqlValue } from '../sql.ts'

export type UsageFilter = {
  ownerId?: string | undefined
  agentId?: string | undefined
  apiKeyId?: string | undefined
  /** Exactly as callers send it. An end user who was erased is not found. */
  externalUserId?: string | undefined
}

/** From `from` (inclusive) to `to` (exclusive), in epoch milliseconds. */
export type Period = { from: number; to: number }

/** The values of a statement, in the order of its parameters. */
export class Values {
  readonly list: SqlValue[] = []

  /** Returns the name of the parameter. */
  add(value: SqlValue): string {
    return `$${this.list.push(value)}`
  }
}

export type ReportedTurns = {
  /** Follows `from`. Turns have the alias `t`. */
  tables: string
  /** Follows `where`. Never empty. */
  conditions: string
}

/** The turns that ended in the period. */
export function endedTurns(filter: UsageFilter, { from, to }: Period, values: Values): ReportedTurns {
  const { tables, conditions, byUser } = turnsOf(filter, values)
  // With a plus sign, the column is not searched in an index of all turns.
  const ended = byUser ? '+t.ended_at' : 't.ended_at'
  // mutant: billing.reports
  return { tables, conditions: [`${ended} >= ${values.add(from)} and ${ended} < ${values.add(to)}`, ...conditions].join(' and ') }
}

/** The turns with a charge of the period, which has the alias `l`. */
export function chargedTurns(filter: UsageFilter, { from, to }: Period, values: Values): ReportedTurns {
  const { tables, conditions, byUser } = turnsOf(filter, values)
  const at = byUser ? '+l.created_at' : 'l.created_at'
  return {
    // The order of a cross join is kept by SQLite: the smaller table first.
    tables: byUser ? `${tables} cross join ledger l` : `ledger l cross join ${tables}`,
    conditions: [
      `l.request_id = t.request_id and l.kind = 'charge' and ${at} >= ${values.add(from)} and ${at} < ${values.add(to)}`,
      ...conditions,
    ].join(' and '),
  }
}

/** The turns with a run that ended without a reply in the period, which has the alias `e`. */
export function failedRuns(filter: UsageFilter, { from, to }: Period, values: Values): ReportedTurns {
  const { tables, conditions, byUser } = turnsOf(filter, values)
  return {
    tables: byUser ? `${tables} cross join turn_errors e` : `turn_errors e cross join ${tables}`,
    conditions: [
      `e.request_id = t.request_id and e.ended_at >= ${values.add(from)} and e.ended_at < ${values.add(to)}`,
      ...conditions,
    ].join(' and '),
  }
}

function turnsOf({ ownerId, agentId, apiKeyId, externalUserId }: UsageFilter, values: Values) {
  // Those of a user are found from the keys, so fewer keys are fewer conversations.
  const byUser = externalUserId !== undefined
  const filters = Object.entries({
    't.owner_id': ownerId,
    [byUser ? 'k.agent_id' : 't.agent_id']: agentId,
    [byUser ? 'k.id' : 't.api_key_id']: apiKeyId,
  })
  const conditions = filters.flatMap(([column, value]) => (value === undefined ? [] : [`${column} = ${values.add(value)}`]))
  if (byUser)
    return {
      tables: 'api_keys k cross join conversations c cross join turns t',
      conditions: [
        `c.api_key_id = k.id and c.external_user_id = ${values.add(externalUserId)} and t.conversation_id = c.id`,
        ...conditions,
      ],
      byUser,
    }
  return { tables: 'turns t', conditions, byUser }
}
