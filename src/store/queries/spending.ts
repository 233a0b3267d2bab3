/** What is spent in the windows of the limits of agents, API keys and end users (`billing.spend-limit`). The turn path writes the windows. */
import type { Amount } from '../../ledger/ledger.ts'
import { effectiveLimits, readLimits, spendSpans, windowAt } from '../../spend-limits.ts'
import type { SpendScope, SpendSpan } from '../../spend-limits.ts'
import type { Row, Sql } from '../sql.ts'
import { bigInteger, text } from './columns.ts'
import { findEndUserLimits } from './spend-limits.ts'
import { read } from './operation.ts'
import { ofAgent } from './scope.ts'

/** What is spent in one window of a limit. */
export type Spending = {
  scope: SpendScope
  /** The agent, the key or the end user. */
  subject: string
  span: SpendSpan
  startsAt: number
  endsAt: number | null
  limit: Amount
  spent: Amount
  held: Amount
  unpaid: Amount
}

/** How many keys of an agent are listed: those that spent most. */
const maxKeys = 100

/** How many end users of an agent are listed for each span: those that are closest to their limit. */
const maxEndUsers = 20

/**
 * The present windows of the limits of an agent: of the agent, of its keys with any spending, and of its end users that are closest to their
 * limit or, if one is given, of that end user. Undefined for a deleted agent.
 */
async function listSpending(sql: Sql, agentId: string, externalUserId?: string): Promise<Spending[] | undefined> {
  const [agent] = await sql.all('select spend_limits from agents where id = $1 and deleted_at is null', agentId)
  if (!agent) return undefined
  const own = externalUserId === undefined ? undefined : await findEndUserLimits(sql, { agentId, externalUserId })
  const now = await sql.now()
  const listed: Spending[] = []
  for (const { scope, span, amount: limit } of effectiveLimits(readLimits(text(agent, 'spend_limits')), own?.limits)) {
    if (scope === 'end_user' && externalUserId === undefined) continue
    const window = windowAt(span, now)
    const subject = scope === 'agent' ? agentId : scope === 'end_user' ? externalUserId! : null
    const rows = await sql.all(
      `select subject, spent, held, unpaid from spending
        where agent_id = $1 and scope = $2 and span = $3 and starts_at = $4 and subject = coalesce($5, subject)
        order by spent desc, subject limit $6`,
      agentId,
      scope,
      span,
      window.startsAt,
      subject,
      maxKeys,
    )
    const described = { scope, span, ...window, limit }
    for (const row of rows) listed.push({ ...described, subject: text(row, 'subject'), ...amountsOf(row) })
    if (rows.length === 0 && subject !== null) listed.push({ ...described, subject, spent: 0n, held: 0n, unpaid: 0n })
  }
  if (externalUserId === undefined) listed.push(...(await listEndUserWindows(sql, agentId, now)))
  return listed
}

async function listEndUserWindows(sql: Sql, agentId: string, now: number): Promise<Spending[]> {
  const listed: Spending[] = []
  for (const span of spendSpans) {
    const window = windowAt(span, now)
    const rows = await sql.all(
      `select s.subject, s.spent, s.held, s.unpaid, ${limitAmount} as amount from ${limitedWindows(sql)}
       where s.agent_id = $1 and s.scope = 'end_user' and s.span = $2 and s.starts_at = $3 and s.subject is not null
       order by ${usedShare} desc, s.subject limit $4`,
      agentId,
      span,
      window.startsAt,
      maxEndUsers,
    )
    for (const row of rows)
      listed.push({
        scope: 'end_user',
        span,
        ...window,
        limit: bigInteger(row, 'amount'),
        subject: text(row, 'subject'),
        ...amountsOf(row),
      })
  }
  return listed
}

/** Windows `s` of agents `a` that are not deleted, with the present limit `l` that applies: of the agent, or of the end user itself. */
export const limitedWindows = ({ engine }: Sql): string => {
  const limits = `case when s.scope = 'end_user' then coalesce(e.spend_limits, a.spend_limits) else a.spend_limits end`
  const each = engine === 'sqlite' ? `json_each(${limits}) as l` : `lateral json_array_elements(cast(${limits} as json)) as l (value)`
  return `spending s join agents a on a.id = s.agent_id and a.deleted_at is null and a.limited = 1
    left join end_user_limits e on s.scope = 'end_user' and e.agent_id = s.agent_id and e.external_user_id = s.subject
    join ${each} on l.value ->> 'scope' = s.scope and l.value ->> 'span' = s.span`
}

export const limitAmount = `cast(l.value ->> 'amount' as bigint)`
/** A limit may be zero. */
export const usedShare = `cast(s.spent + s.held + s.unpaid as real) / (${limitAmount} + 1)`

export const amountsOf = (row: Row) => ({
  spent: bigInteger(row, 'spent'),
  held: bigInteger(row, 'held'),
  unpaid: bigInteger(row, 'unpaid'),
})

/** The windows of turns are a JSON list of IDs. What earlier runs of a turn reserved may be in other windows than those of the last run. */
const spendingOver = (each: string): string => `
  select s.id, s.agent_id, s.scope, s.span, s.starts_at, s.earlier, s.spent, s.held, s.unpaid, s.max_amount,
    coalesce(t.charged, 0) as charged, coalesce(t.holds, 0) as holds, coalesce(t.reserved, 0) as reserved
  from spending s left join (
    select cast(w.value as bigint) as id, sum(coalesce(t.charged, 0)) as charged, sum(case t.state when 'running' then t.hold else 0 end) as holds,
      sum(case t.run when 1 then t.reserved else 0 end) as reserved
    from turns t ${each} where t.counts_in is not null group by cast(w.value as bigint)) as t on t.id = s.id
  where s.spent <> s.earlier + coalesce(t.charged, 0) or s.held <> coalesce(t.holds, 0) or s.unpaid < coalesce(t.reserved, 0)
    or s.spent + s.held + s.unpaid > s.max_amount
  union all
  select cast(w.value as bigint), t.agent_id, t.request_id, 'a window that does not exist', null, null, null, null, null, null, null, null, null
  from turns t ${each} where t.counts_in is not null and not exists (select 1 from spending s where s.id = cast(w.value as bigint))`
/** I21. invariants.ts has the sentence. */
export const brokenSpending: Record<Sql['engine'], string> = {
  sqlite: spendingOver('cross join json_each(t.counts_in) as w'),
  postgres: spendingOver('cross join lateral json_array_elements_text(t.counts_in::json) as w (value)'),
}

export const spendingReads = {
  listSpending: read(listSpending, { scope: ofAgent((id) => id, undefined), readings: null }),
}
