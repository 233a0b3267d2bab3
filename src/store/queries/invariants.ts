/**
 * What must be true of the stored rows at every moment, however often the process was killed: I1 to I25, each with a query that finds the
 * rows that violate it. Read-only. Invariants about time (an orphan is answered soon) cannot be checked from rows and are not here.
 */
import type { Row, Sql } from '../sql.ts'
import { changesOutsideTheAuditLog, signInsOfOthers } from './access-invariants.ts'
import { brokenSpending } from './spending.ts'
import { windowMs } from './knowledge/indexing-queue.ts'
import { findWrongEvents } from './webhooks/wrong-events.ts'
import { serviceRead } from './operation.ts'

export type Invariant = {
  id: string
  name: string
  /** The invariant in words. */
  sentence: string
  /** The rows that violate it, at most `maxRows`. Amounts are in 10⁻⁸ USD. */
  query(sql: Sql): Promise<Row[]>
}

export type Verdict = { id: string; name: string; sentence: string; rows: Row[] }

/** Enough to see what is wrong. If more rows violate the invariant, they are not all read into memory. */
export const maxRows = 100

/** Returns every invariant with the rows that violate it, in order. All hold if every list is empty. Call it inside one read snapshot. */
export async function verify(sql: Sql): Promise<Verdict[]> {
  const verdicts: Verdict[] = []
  for (const { id, name, sentence, query } of invariants) verdicts.push({ id, name, sentence, rows: await query(sql) })
  return verdicts
}

function invariant(id: string, name: string, sentence: string, text: string): Invariant {
  return { id, name, sentence, query: (sql) => sql.all(`select * from (${text}) as broken limit ${maxRows}`) }
}

export const invariants: readonly Invariant[] = [
  invariant(
    'I1',
    'balance-is-ledger-sum',
    "An owner's balance is the sum of the owner's ledger.",
    `select o.id as owner_id, o.balance, coalesce(sum(l.amount), 0) as ledger_sum
     from owners o left join ledger l on l.owner_id = o.id
     group by o.id, o.balance having o.balance <> coalesce(sum(l.amount), 0)`,
  ),
  invariant(
    'I2',
    'balance-never-negative',
    'Balance, held and available are never negative.',
    `select id as owner_id, balance, held from owners where balance < 0 or held < 0 or held > balance`,
  ),
  invariant(
    'I3',
    'held-is-sum-of-holds',
    "An owner's held amount is the sum of the holds of the owner's running turns; an ended turn holds nothing.",
    `select o.id as owner_id, o.held, coalesce(sum(t.hold), 0) as holds
     from owners o left join turns t on t.owner_id = o.id
     group by o.id, o.held
     having o.held <> coalesce(sum(case t.state when 'running' then t.hold else 0 end), 0)
       or sum(case when t.state <> 'running' and t.hold <> 0 then 1 else 0 end) > 0`,
  ),
  invariant(
    'I4',
    'one-charge-per-turn',
    'A completed turn has exactly one charge, and so has a cancelled turn whose finished tool calls had a price; any other turn has none. A charge has the time of the end of its turn.',
    `select t.request_id, t.state, count(l.id) as charges
     from turns t left join ledger l on l.request_id = t.request_id and l.kind = 'charge'
     group by t.request_id, t.state, t.tool_calls, t.charged
     having count(l.id) <> case when t.state = 'completed' or (t.state = 'cancelled' and t.tool_calls > 0) then 1 else 0 end
       or (t.charged is null) <> (count(l.id) = 0)
     union all
     select t.request_id, t.state, 1 from turns t join ledger l on l.request_id = t.request_id and l.kind = 'charge'
     where l.created_at <> t.ended_at`,
  ),
  invariant(
    'I5',
    'charge-is-usage-at-price',
    'A charge is the amount in its turn, and with the amount written off it is the usage by kind times the prices of the turn, rounded up once, and the price of its tool calls. Kinds are parts of their totals.',
    // Above two million tokens each, the product exceeds 64 bits. What is written off is at most 10^17 (ledger.ts, maxAmount).
    `select t.request_id, t.prompt_tokens, t.cached_prompt_tokens, t.cache_write_tokens, t.completion_tokens, t.prompt_price, t.completion_price,
       t.cached_prompt_price, t.cache_write_price, t.tool_calls, t.charged, l.amount, l.written_off
     from turns t join ledger l on l.request_id = t.request_id and l.kind = 'charge'
     where l.amount <> -t.charged
       or t.state = 'cancelled' and (t.charged + l.written_off <> t.tool_calls or t.prompt_tokens is not null)
       or t.state = 'completed' and (t.prompt_tokens is null or t.completion_tokens is null or t.cached_prompt_tokens is null
         or t.cache_write_tokens is null or t.reasoning_tokens is null or t.cached_prompt_tokens < 0 or t.cache_write_tokens < 0
         or t.cached_prompt_tokens + t.cache_write_tokens > t.prompt_tokens
         or t.reasoning_tokens < 0 or t.reasoning_tokens > t.completion_tokens or t.tool_calls < 0
         or case when t.prompt_tokens <= 2000000 and t.completion_tokens <= 2000000 and l.written_off < 100000000000000000
           then t.charged + l.written_off <> t.tool_calls + ((t.prompt_tokens - t.cached_prompt_tokens - t.cache_write_tokens) * t.prompt_price
             + t.cached_prompt_tokens * coalesce(t.cached_prompt_price, t.prompt_price)
             + t.cache_write_tokens * coalesce(t.cache_write_price, t.prompt_price)
             + t.completion_tokens * t.completion_price + 999999) / 1000000
           else false end)`,
  ),
  invariant(
    'I6',
    'one-reply-per-turn',
    'A completed turn has exactly one user message and one reply, and none after an erasure.',
    `select t.request_id, t.erased_at, count(m.id) as messages
     from turns t left join messages m on m.request_id = t.request_id
     where t.state = 'completed'
     group by t.request_id, t.erased_at
     having count(m.id) <> case when t.erased_at is null then 2 else 0 end
       or sum(case m.role when 'user' then 1 else 0 end) <> count(m.id) / 2`,
  ),
  invariant(
    'I7',
    'messages-alternate',
    "A conversation's messages are pairs of a user message and the reply of the same turn, without gaps, and match its stored count and tokens.",
    `select c.id as conversation_id, c.message_count, count(m.id) as messages, min(m.seq) as first_seq, max(m.seq) as last_seq
     from conversations c left join messages m on m.conversation_id = c.id
     group by c.id, c.external_user_id, c.message_count, c.message_tokens
     having count(m.id) % 2 <> 0 or min(m.seq) <> 1 or max(m.seq) <> count(m.id)
       or (c.external_user_id is null and count(m.id) <> 0)
       or count(m.id) <> c.message_count or coalesce(sum(m.tokens), 0) <> c.message_tokens
     union all
     select u.conversation_id, null, null, u.seq, a.seq
     from messages u join messages a on a.conversation_id = u.conversation_id and a.seq = u.seq + 1
     where u.seq % 2 = 1 and (u.role <> 'user' or a.role <> 'assistant' or u.request_id <> a.request_id)`,
  ),
  invariant(
    'I8',
    'one-running-turn-per-conversation',
    'At most one turn of a conversation is running.',
    `select conversation_id, count(*) as running from turns where state = 'running' group by conversation_id having count(*) > 1`,
  ),
  invariant(
    'I9',
    'running-has-lease',
    'A running turn has a lease and no end; any other turn has an end and no lease.',
    `select request_id, state, lease_until, ended_at from turns
     where (state = 'running') <> (lease_until is not null) or (state = 'running') <> (ended_at is null)`,
  ),
  invariant(
    'I10',
    'one-turn-per-key',
    'An API key has at most one turn for an Idempotency-Key, and every turn keeps the fingerprint of its body.',
    `select api_key_id, idempotency_key, count(*) as turns from turns
     where idempotency_key is not null group by api_key_id, idempotency_key having count(*) > 1
     union all
     select api_key_id, idempotency_key, 1 from turns where fingerprint is null or length(fingerprint) <> 32`,
  ),
  guards('I11', 'ended-turns-never-change', 'No turn leaves completed or failed, and no fence falls: the schema has the triggers.', [
    'ended_turns_never_change',
    'fence_never_falls',
  ]),
  invariant(
    'I12',
    'at-most-three-attempts',
    'A run has at most 3 attempts, and every run and claim has raised the fence.',
    `select request_id, run, attempt, fence from turns where attempt not between 1 and 3 or run < 1 or fence < run + attempt - 1`,
  ),
  invariant(
    'I13',
    'nothing-is-shared',
    "A turn, its messages and its charge belong to one conversation, one API key, that key's agent and one owner.",
    `select t.request_id, 'conversation of another API key' as problem
     from turns t join conversations c on c.id = t.conversation_id where c.api_key_id <> t.api_key_id
     union all
     select t.request_id, 'API key of another agent' from turns t join api_keys k on k.id = t.api_key_id where k.agent_id <> t.agent_id
     union all
     select t.request_id, 'message in another conversation'
     from turns t join messages m on m.request_id = t.request_id where m.conversation_id <> t.conversation_id
     union all
     select t.request_id, 'charge to another owner' from turns t join ledger l on l.request_id = t.request_id where l.owner_id <> t.owner_id`,
  ),
  guards('I14', 'ledger-is-append-only', 'No entry of the ledger is changed or deleted: the schema has the triggers.', [
    'ledger_is_append_only_update',
    'ledger_is_append_only_delete',
  ]),
  invariant(
    'I15',
    'no-orphan-message',
    'Every message belongs to a completed turn.',
    `select m.id as message_id, m.request_id, t.state from messages m left join turns t on t.request_id = m.request_id
     where t.state is null or t.state <> 'completed'`,
  ),
  invariant(
    'I16',
    'retries-continue',
    'A journal belongs to existing runs, has each step of continued runs once, contains what a running turn continues from, and is deleted by an erasure.',
    `select request_id, run, continues_from, 'continues from a run that does not exist' as problem from turns where continues_from not between 1 and run
     union all
     select t.request_id, t.run, j.run, 'a step of a run that does not exist' from journal j join turns t on t.request_id = j.request_id
     where j.run not between 1 and t.run
     union all
     select t.request_id, t.run, t.continues_from, 'a step that stands twice'
     from turns t join journal j on j.request_id = t.request_id and j.run >= t.continues_from
     group by t.request_id, t.run, t.continues_from, j.step, j.part, j.kind having count(*) > 1
     union all
     select t.request_id, t.run, t.continues_from, 'continues from a finish that is gone' from turns t
     where t.state = 'running' and t.continues_from is not null and not exists (
       select 1 from journal j where j.request_id = t.request_id and j.run = t.continues_from and j.kind = 'tool_finished')
     union all
     select t.request_id, t.run, t.continues_from, 'an erased turn with steps' from turns t
     where t.erased_at is not null and (t.continues_from is not null or exists (select 1 from journal j where j.request_id = t.request_id))`,
  ),
  invariant(
    'I17',
    'unpaid-is-of-turns',
    "What an owner's turns without a reply reserved is the owner's unpaid amount plus what credits have cleared, which is never more than the owner's credits without adjustments.",
    `select o.id as owner_id, o.unpaid, o.cleared, coalesce(t.reserved, 0) as reserved_by_turns, coalesce(l.credited, 0) as credited
     from owners o
       left join (select owner_id, sum(reserved) as reserved from turns where unpaid > 0 group by owner_id) t on t.owner_id = o.id
       left join (select owner_id, sum(amount) as credited from ledger where kind in ('credit', 'adjustment') group by owner_id) l
         on l.owner_id = o.id
     where o.unpaid < 0 or o.cleared < 0 or o.unpaid + o.cleared <> coalesce(t.reserved, 0)
       or (o.cleared > 0 and o.cleared > coalesce(l.credited, 0))`,
  ),
  invariant(
    'I18',
    'errors-are-runs',
    'Every run that ended without a reply is one error, and no other run is.',
    `select t.request_id, t.state, t.run, (select count(*) from turn_errors e where e.request_id = t.request_id) as errors from turns t
     where (select count(*) from turn_errors e where e.request_id = t.request_id)
         <> t.run - case when t.state in ('failed', 'released') then 0 else 1 end
     union all
     select t.request_id, t.state, t.run, e.run from turn_errors e join turns t on t.request_id = e.request_id
     where e.run > t.run - case when t.state in ('failed', 'released') then 0 else 1 end`,
  ),
  invariant(
    'I19',
    'cancels-were-requested',
    'A turn is cancelled, or its reply incomplete, only after its cancel was requested while it ran. Only another reply has a finish reason.',
    `select request_id, state, incomplete, cancel_requested_at, finish_reason from turns
     where (state = 'cancelled' or incomplete = 1) and cancel_requested_at is null or incomplete = 1 and state <> 'completed'
       or finish_reason is not null and (incomplete = 1 or state <> 'completed')`,
  ),
  invariant(
    'I20',
    'traces-are-of-runs',
    'A trace belongs to a run that has ended, feedback to a turn that has ended, and an erased turn has neither.',
    `select t.request_id, t.state, t.run, x.run as traced, 'a trace of a run that has not ended' as problem
     from traces x join turns t on t.request_id = x.request_id where x.run > t.run - case t.state when 'running' then 1 else 0 end
     union all
     select x.request_id, null, null, x.run, 'a trace of no turn' from traces x where not exists (select 1 from turns t where t.request_id = x.request_id)
     union all
     select t.request_id, t.state, t.run, null, 'an erased turn with a trace or feedback' from turns t where t.erased_at is not null
       and (exists (select 1 from traces x where x.request_id = t.request_id) or exists (select 1 from feedback f where f.request_id = t.request_id))`,
  ),
  {
    id: 'I21',
    name: 'spending-is-of-turns',
    sentence:
      'What is spent in the window of a limit is the sum of the charges that count in it, what is held the sum of the holds of its running turns, and together with what is unpaid never more than the limit at the last admission.',
    query: (sql) => sql.all(`select * from (${brokenSpending[sql.engine]}) as broken limit ${maxRows}`),
  },
  {
    id: 'I22',
    name: 'events-are-recorded',
    sentence:
      'Every end of a run, and every threshold of a spend limit that was reached, since an enabled webhook listens has one event with a delivery to it, and every event has happened.',
    query: (sql) => findWrongEvents(sql, maxRows),
  },
  invariant(
    'I23',
    'only-active-operators-sign-in',
    'Every session belongs to an active operator or to the admin token, every passkey to an operator who can use it, and no link to a disabled one.',
    signInsOfOthers,
  ),
  invariant(
    'I24',
    'access-is-audited',
    'Every operator and every admin token was created by an entry of the audit log, a token is revoked if one entry says so, and who was removed is gone.',
    changesOutsideTheAuditLog,
  ),
  invariant(
    'I25',
    'indexing-waits-for-its-window',
    'The documents of an owner wait for their CPU time at most until the end of the window in which it was used up, and reading one took time.',
    `select owner_id, started_at, spent_ms, waits_until from indexing_windows
     where spent_ms < 0 or waits_until <> started_at + ${windowMs} or (waits_until is not null and spent_ms = 0)`,
  ),
]

/** Rows alone cannot show that nothing was changed, so this checks that the triggers that forbid changes exist. */
function guards(id: string, name: string, sentence: string, triggers: string[]): Invariant {
  const present = { sqlite: `select name from sqlite_master where type = 'trigger'`, postgres: 'select tgname from pg_trigger' }
  const wanted = triggers.map((trigger) => `('${trigger}')`).join(', ')
  return {
    id,
    name,
    sentence,
    query: (sql) =>
      sql.all(`with guard (name) as (values ${wanted}) select name as missing from guard where name not in (${present[sql.engine]})`),
  }
}

export const invariantReads = {
  verify: serviceRead(verify, 'report'),
}
