/**
 * Spend limits of agents and end users (`billing.spend-limit`). The turn path checks them. spending.ts has what is spent in their windows.
 */
import { readLimits, storedLimits, windowAt } from '../../spend-limits.ts'
import type { SpendLimit } from '../../spend-limits.ts'
import type { Sql } from '../sql.ts'
import { integer, text } from './columns.ts'
import { formatUsd } from './../../ledger/ledger.ts'
import { read, write } from './operation.ts'
import { ofAgent } from './scope.ts'
import { deleted, differing } from './audited-fields.ts'
import type { AuditedFields } from './audited-fields.ts'
import type { Shown } from './audit.ts'

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
async function putEndUserLimits(sql: Sql, given: EndUser & { limits: NewSpendLimit[] }): Promise<EndUserLimits | undefined> {
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
async function deleteEndUserLimits(sql: Sql, { agentId, externalUserId }: EndUser): Promise<boolean> {
  const [agent] = await sql.all('select owner_id, spend_limits from agents where id = $1', agentId)
  if (!agent) return false
  await lockOwner(sql, text(agent, 'owner_id'))
  const deletedRows = await sql.run('delete from end_user_limits where agent_id = $1 and external_user_id = $2', agentId, externalUserId)
  await countLimits(sql, agentId)
  if (deletedRows === 0) return false
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

/** Of an end user, without the name. */
const limitFields = ({ limits }: { limits: NewSpendLimit[] }): AuditedFields => ({ spend_limits: writeLimits(limits) })

export const writeLimits = (limits: NewSpendLimit[]): Shown =>
  limits.map(({ scope, span, amount }) => ({ scope, usd: formatUsd(amount), window: span }))

export const endUserLimitReads = {
  findEndUserLimits: read(findEndUserLimits, { scope: ofAgent(({ agentId }) => agentId, undefined), readings: null }),
}

export const endUserLimitWrites = {
  putEndUserLimits: write(putEndUserLimits, {
    scope: ofAgent(({ agentId }) => agentId, undefined),
    // Without the end user's name, because an entry of the audit log is never erased.
    before: (sql, [endUser]) => findEndUserLimits(sql, endUser),
    audit: (own, [{ agentId }], before) =>
      own ? differing('change', 'end_user_limits', agentId, before ? limitFields(before) : {}, limitFields(own)) : [],
    changesCaches: false,
  }),
  deleteEndUserLimits: write(deleteEndUserLimits, {
    scope: ofAgent(({ agentId }) => agentId, false),
    before: (sql, [endUser]) => findEndUserLimits(sql, endUser),
    audit: (found, [{ agentId }], before) => deleted('end_user_limits', agentId, limitFields, found && before),
    changesCaches: false,
  }),
}
