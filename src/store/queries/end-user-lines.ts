/**
 * A part of the usage lines of end users that is read from their conversations, in the order of their keys, so that it costs as much as it has
 * lines (`billing.reports`). To add up the turns of a long period for each part of its lines would cost as much as all lines each time.
 */
import type { Row, Sql } from '../sql.ts'
import { integer, integerOrNull, text } from './columns.ts'
import { Values, endedTurns } from './reported-turns.ts'
import type { Period, UsageFilter } from './reported-turns.ts'
import { compareKey, countStates, keyColumns, summedColumns, sums, withNames } from './usage-line-columns.ts'
import type { LineKey } from './usage-line-columns.ts'

export type EndUserLinesWanted = Omit<UsageFilter, 'externalUserId'> &
  Period & {
    /** Lines of an end user for each API key. */
    byKey: boolean
    limit: number
    after: LineKey | undefined
  }

// With few active users, each part of the conversations is twice as long as the one before, so that there are few.
const maxGrowth = 16

/** The first `limit` lines after a key, or undefined if to add up the turns of the period costs less. */
export async function readEndUserLines(sql: Sql, wanted: EndUserLinesWanted): Promise<Row[] | undefined> {
  if (!(await costsLess(sql, wanted))) return undefined
  const rows: Row[] = []
  let { after } = wanted
  for (let growth = 1; ; growth = Math.min(2 * growth, maxGrowth)) {
    const end = await endOfPart(sql, { ...wanted, after }, growth * wanted.limit)
    rows.push(...(await linesOfPart(sql, { ...wanted, after, limit: wanted.limit - rows.length }, end)))
    if (rows.length >= wanted.limit || !end) return rows
    after = end
  }
}

/**
 * Compares what is left to read: every turn of the conversations once, whatever its period, or every turn of the period once for each part. A
 * message and its reply are about one turn.
 */
async function costsLess(sql: Sql, { from, to, limit, ...wanted }: EndUserLinesWanted): Promise<boolean> {
  const values = new Values()
  const { ownerId, agentId, apiKeyId } = wanted
  const { tables, conditions } = endedTurns({ ownerId, agentId, apiKeyId }, { from, to }, values)
  const [period] = await sql.all(`select count(*) as turns from ${tables} where ${conditions}`, ...values.list)
  const others = new Values()
  const [rest] = await sql.all(
    `select count(*) as conversations, sum(message_count) as messages from (${conversationsOf(wanted, others)}) x ${startOf(wanted, others)}`,
    ...others.list,
  )
  const [turns, conversations] = [integer(period!, 'turns'), integer(rest!, 'conversations')]
  const parts = Math.ceil(Math.min(turns, conversations) / limit)
  return conversations + (integerOrNull(rest!, 'messages') ?? 0) / 2 <= turns * parts
}

/** The conversations of the agents, with the keys of their lines. */
function conversationsOf({ ownerId, agentId, apiKeyId, byKey }: Omit<EndUserLinesWanted, 'from' | 'to' | 'limit'>, values: Values): string {
  const filters = Object.entries({ 'a.owner_id': ownerId, 'k.agent_id': agentId, 'k.id': apiKeyId })
  const conditions = filters.flatMap(([column, value]) => (value === undefined ? [] : [`and ${column} = ${values.add(value)}`]))
  return `select a.owner_id as k1, a.id as k2, ${byKey ? 'k.id' : `cast('' as text)`} as k3, coalesce(c.external_user_id, '') as k4,
      case when c.external_user_id is null then c.id else '' end as k5, c.id as conversation_id, c.message_count
    from api_keys k cross join agents a cross join conversations c
    where a.id = k.agent_id and c.api_key_id = k.id ${conditions.join(' ')}`
}

const startOf = ({ after }: Pick<EndUserLinesWanted, 'after'>, values: Values): string =>
  after ? `where ${compareKey('>', after, values)}` : ''

/** The key of the `count`-th end user after the start. Undefined if there are fewer. */
async function endOfPart(sql: Sql, wanted: EndUserLinesWanted, count: number): Promise<LineKey | undefined> {
  const values = new Values()
  const [row] = await sql.all(
    `select ${keyColumns} from (${conversationsOf(wanted, values)}) x ${startOf(wanted, values)}
     group by ${keyColumns} order by ${keyColumns} limit 1 offset ${values.add(count - 1)}`,
    ...values.list,
  )
  return (
    row && {
      ownerId: text(row, 'k1'),
      agentId: text(row, 'k2'),
      apiKeyId: text(row, 'k3'),
      externalUserId: text(row, 'k4'),
      erasedConversationId: text(row, 'k5'),
    }
  )
}

const columnsOfTurn = 't.conversation_id, t.state, t.prompt_tokens, t.completion_tokens, t.charged, t.unpaid, t.ended_at, l.written_off'
const chargedTurn = "turns t left join ledger l on l.request_id = t.request_id and l.kind = 'charge'"
/** The planner of PostgreSQL does not know how few conversations follow, and would read all turns for each part. */
const turnsOfConversation: Record<Sql['engine'], string> = {
  sqlite: `(select ${columnsOfTurn} from ${chargedTurn}) t`,
  postgres: `lateral (select ${columnsOfTurn} from ${chargedTurn} where t.conversation_id = x.conversation_id offset 0) t`,
}

/** A charge has the time of the end of its turn (I4), so what is written off is of the same period. */
function linesOfPart(sql: Sql, wanted: EndUserLinesWanted, end: LineKey | undefined): Promise<Row[]> {
  const values = new Values()
  const conversations = conversationsOf(wanted, values)
  const { after, from, to, limit } = wanted
  const range = [after && compareKey('>', after, values), end && compareKey('<=', end, values)].flatMap((one) =>
    one ? [`and ${one}`] : [],
  )
  const lines = `select ${keyColumns}, ${countStates('state')}, ${sums(summedColumns)} from (
      select ${keyColumns}, t.state, coalesce(t.prompt_tokens, 0) as prompt_tokens, coalesce(t.completion_tokens, 0) as completion_tokens,
        coalesce(t.charged, 0) as charged, coalesce(t.written_off, 0) as written_off, t.unpaid
      from (${conversations}) x cross join ${turnsOfConversation[sql.engine]}
      where t.conversation_id = x.conversation_id and +t.ended_at >= ${values.add(from)} and +t.ended_at < ${values.add(to)} ${range.join(' ')}
    ) u group by ${keyColumns} order by ${keyColumns} limit ${values.add(limit)}`
  return sql.all(withNames(lines), ...values.list)
}
