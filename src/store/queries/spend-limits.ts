/**
 * Spend limits of agents and end users, and what is spent in their windows (`billing.spend-limit`). The turn path checks the limits and writes
 * the windows.
 */
import type { Amount } from '../../ledger/ledger.ts'
import { effectiveLimits, readLimits, spendSpans, storedLimits, windowAt } from '../../spend-limits.ts'
import type { SpendLimit, SpendScope, SpendSpan } from '../../spend-limits.ts'
import type { Row, Sql } from '../sql.ts'
import { bigInteger, integer, text } from './columns.ts'

export type NewSpendLimit = Omit<SpendLimit, 'since'>

/** The limits with the time since when there has been one of each scope and span. */
const dated = (limits: NewSpendLimit[], before: SpendLimit[], now: number): SpendLimit[] =>
  limits.map((limit) => ({
    ...limit,
    since: before.find(({ scope, span }) => scope === limit.scope && span === limit.span)?.since ?? now,
  }))

/** Locks the owner of an agent. Whoever writes a limit or a window does this first, as the turn path does. */
export async function lockOwner(sql: Sql, ownerId: string): Promise<void> {
  await sql.run('update owners set balance = balance where id = $1', ownerId)
}

/**
 * Sets the limits of an agent. Limits that are new count what was charged earlier in their present window. For an agent and its keys, this is
 * computed here; for an end user, by the user's next admission. Call it with the owner locked.
 */
export async function setSpendLimits(sql: Sql, agentId: string, given: NewSpendLimit[], now: number): Promise<SpendLimit[]> {
  const [agent] = await sql.all('select spend_limits from agents where id = $1', agentId)
  const limits = dated(given, readLimits(text(agent!, 'spend_limits')), now)
  await sql.run('update agents set spend_limits = $1, limited = 1 where id = $2', storedLimits(limits), agentId)
  await countLimits(sql, agentId)
  for (const limit of limits) if (limit.since === now && limit.scope !== 'end_user') await countEarlier(sql, agentId, limit, now)
  return limits
}

/**
 * Counts in the present window of a limit what was charged in it while there was no such limit: for the agent, for each of its keys, or for one
 * end user. Does nothing if all of it is counted.
 */
async function countEarlier(
  sql: Sql,
  agentId: string,
  { scope, span, amount }: NewSpendLimit,
  now: number,
  externalUserId?: string,
): Promise<void> {
  const { startsAt, endsAt } = windowAt(span, now)
  const subject = { agent: 't.agent_id', api_key: 't.api_key_id', end_user: 'c.external_user_id' }[scope]
  // In this order, because the embedded store might begin with the turns otherwise.
  const turns =
    scope === 'end_user'
      ? `api_keys k cross join conversations c cross join turns t
         where k.agent_id = $1 and c.api_key_id = k.id and c.external_user_id = $7 and t.conversation_id = c.id`
      : 'turns t where t.agent_id = $1'
  await sql.run(
    `insert into spending (agent_id, scope, subject, span, starts_at, ends_at, earlier, spent, max_amount)
       select $1, $2, subject, $3, $4, $5, charged, charged, case when charged > $6 then charged else $6 end
       from (select ${subject} as subject, cast(sum(t.charged) as bigint) as charged
         from ${turns} and t.ended_at >= $4 and t.started_at >= $4 group by ${subject}) as earlier
       where charged > 0
     on conflict (agent_id, scope, subject, span, starts_at) do update set
       earlier = spending.earlier + excluded.spent - spending.spent, spent = excluded.spent,
       max_amount = case when excluded.spent + spending.held + spending.unpaid > spending.max_amount
         then excluded.spent + spending.held + spending.unpaid else spending.max_amount end`,
    agentId,
    scope,
    span,
    startsAt,
    endsAt,
    amount,
    ...(externalUserId === undefined ? [] : [externalUserId]),
  )
}

/** Notes whether an admission has any limits to look for. */
async function countLimits(sql: Sql, agentId: string): Promise<void> {
  await sql.run(
    `update agents set limited = case when spend_limits <> '[]' or exists (select 1 from end_user_limits e where e.agent_id = $1) then 1 else 0 end
      where id = $1`,
    agentId,
  )
}

export type EndUser = { agentId: string; externalUserId: string }
export type EndUserLimits = EndUser & { limits: SpendLimit[]; updatedAt: number }

/** Returns undefined for a deleted agent. `limits` are of scope `end_user`; none: nothing limits this end user but its key and its agent. */
export async function putEndUserLimits(sql: Sql, given: EndUser & { limits: NewSpendLimit[] }): Promise<EndUserLimits | undefined> {
  const { agentId, externalUserId } = given
  const [agent] = await sql.all('select owner_id, spend_limits from agents where id = $1 and deleted_at is null', agentId)
  if (!agent) return undefined
  await lockOwner(sql, text(agent, 'owner_id'))
  const now = await sql.now()
  const before = (await findEndUserLimits(sql, given))?.limits ?? readLimits(text(agent, 'spend_limits'))
  const limits = dated(given.limits, before, now)
  await sql.run(
    `insert into end_user_limits (agent_id, external_user_id, spend_limits, updated_at) values ($1, $2, $3, $4)
      on conflict (agent_id, external_user_id) do update set spend_limits = excluded.spend_limits, updated_at = excluded.updated_at`,
    agentId,
    externalUserId,
    storedLimits(limits),
    now,
  )
  await countLimits(sql, agentId)
  for (const limit of limits) if (limit.since === now) await countEarlier(sql, agentId, limit, now, externalUserId)
  return { agentId, externalUserId, limits, updatedAt: now }
}

/** Returns whether the end user had limits. */
export async function deleteEndUserLimits(sql: Sql, { agentId, externalUserId }: EndUser): Promise<boolean> {
  const [agent] = await sql.all('select owner_id, spend_limits from agents where id = $1', agentId)
  if (!agent) return false
  await lockOwner(sql, text(agent, 'owner_id'))
  const deleted = await sql.run('delete from end_user_limits where agent_id = $1 and external_user_id = $2', agentId, externalUserId)
  await countLimits(sql, agentId)
  if (deleted === 0) return false
  // The limits of the agent apply again, and some of them may not have applied to this end user meanwhile.
  const now = await sql.now()
  for (const limit of readLimits(text(agent, 'spend_limits')))
    if (limit.scope === 'end_user') await countEarlier(sql, agentId, limit, now, externalUserId)
  return true
}

export async function findEndUserLimits(sql: Sql, { agentId, externalUserId }: EndUser): Promise<EndUserLimits | undefined> {
  const [row] = await sql.all(
    'select spend_limits, updated_at from end_user_limits where agent_id = $1 and external_user_id = $2',
    agentId,
    externalUserId,
  )
  return row && { agentId, externalUserId, limits: readLimits(text(row, 'spend_limits')), updatedAt: integer(row, 'updated_at') }
}

/**
 * `erase`: removes the names of end users from the limits and the windows of those who have no conversation with the agent any more. The
 * figures remain. A new message of the same user then starts new windows. Returns the end users of whom a name was removed.
 */
export async function forgetEndUsers(sql: Sql, users: EndUser[]): Promise<EndUser[]> {
  const found: (EndUser & { ownerId: string })[] = []
  for (const { agentId, externalUserId } of users) {
    const [agent] = await sql.all(
      `select a.owner_id from agents a where a.id = $1
        and (exists (select 1 from spending s where s.agent_id = $1 and s.scope = 'end_user' and s.subject = $2)
          or exists (select 1 from end_user_limits e where e.agent_id = $1 and e.external_user_id = $2))
        and not exists (select 1 from api_keys k join conversations c on c.api_key_id = k.id and c.external_user_id = $2 where k.agent_id = $1)`,
      agentId,
      externalUserId,
    )
    if (agent) found.push({ agentId, externalUserId, ownerId: text(agent, 'owner_id') })
  }
  // By their owners, as everywhere, so that two processes cannot deadlock.
  for (const { agentId, externalUserId, ownerId } of found.toSorted((a, b) => (a.ownerId < b.ownerId ? -1 : 1))) {
    await lockOwner(sql, ownerId)
    await sql.run(`update spending set subject = null where agent_id = $1 and scope = 'end_user' and subject = $2`, agentId, externalUserId)
    await sql.run('delete from end_user_limits where agent_id = $1 and external_user_id = $2', agentId, externalUserId)
    await countLimits(sql, agentId)
  }
  return found
}

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
export async function listSpending(sql: Sql, agentId: string, externalUserId?: string): Promise<Spending[] | undefined> {
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
