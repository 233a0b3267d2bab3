/** All prepared statements of the turn path. Positional parameters cost half as much as named ones. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { prepareEventStatements } from './events.ts'

export type Statements = ReturnType<typeof prepareStatements>

export function prepareStatements(db: DatabaseSync) {
  return {
    // mutant: idempotency.lifetime-2
    findRecord: db.prepare(`select request_id, fingerprint, state, run, fence, agent_version, continues_from, conversation_id, failure_code,
        ended_at, erased_at
      from turns where api_key_id = ? and idempotency_key = ?`),
    clearKey: db.prepare(`update turns set idempotency_key = null,
        fingerprint = case when erased_at is null then fingerprint else zeroblob(32) end where request_id = ?`),
    // its current version, or the given one
    findAgent:
      db.prepare(`select a.owner_id, a.enabled, a.deleted_at, a.min_hold, a.limited, a.spend_limits, v.version, v.fixed_tokens, v.history_max_tokens, v.knowledge_max_tokens,
        v.max_output_tokens, v.max_message_length, v.prompt_price, v.completion_price, v.cached_prompt_price, v.cache_write_price
      from agents a join agent_versions v on v.agent_id = a.id and v.version = coalesce(?, a.version) where a.id = ?`),
    findConversation: db.prepare(
      'select id, message_count, message_tokens from conversations where api_key_id = ? and external_user_id = ?',
    ),
    findConversationById: db.prepare('select id, message_count, message_tokens from conversations where id = ?'),
    findRunning: db.prepare("select 1 from turns where conversation_id = ? and state = 'running'"),
    takeHold: db.prepare('update owners set held = held + ? where id = ? and balance - held - unpaid >= ?'),
    // `billing.spend-limit`
    findEndUserLimits: db.prepare('select spend_limits from end_user_limits where agent_id = ? and external_user_id = ?'),
    findSpending: db.prepare(`select id, spent + held + unpaid as used from spending
      where agent_id = ? and scope = ? and subject = ? and span = ? and starts_at = ?`),
    // in this order, so that it reads the turns of this end user only
    chargedSince: db.prepare(`select coalesce(sum(t.charged), 0) as charged from api_keys k
        cross join conversations c on c.api_key_id = k.id and c.external_user_id = ? cross join turns t on t.conversation_id = c.id
      where k.agent_id = ? and t.started_at >= ?`),
    insertSpending: db.prepare(`insert into spending (agent_id, scope, subject, span, starts_at, ends_at, earlier, spent, max_amount)
      values (?, ?, ?, ?, ?, ?, ?, ?, ?) returning id`),
    holdSpending: db.prepare('update spending set held = held + ?, max_amount = ? where id = ?'),
    findFullSpending: db.prepare(`select ends_at from spending
      where id in (select value from json_each(?)) and spent + held + unpaid + ? > max_amount`),
    extendSpending: db.prepare('update spending set held = held + ? where id in (select value from json_each(?))'),
    settleSpending: db.prepare('update spending set spent = spent + ?, held = held - ? where id in (select value from json_each(?))'),
    releaseSpending: db.prepare(
      'update spending set spent = spent + ?, held = held - ?, unpaid = unpaid + ? where id in (select value from json_each(?))',
    ),
    insertConversation: db.prepare('insert into conversations (id, api_key_id, external_user_id, created_at) values (?, ?, ?, ?)'),
    insertTurn: db.prepare(`insert into turns (request_id, api_key_id, idempotency_key, fingerprint, conversation_id, owner_id, agent_id,
        agent_version, state, run, attempt, fence, lease_until, hold, prompt_price, completion_price, cached_prompt_price, cache_write_price,
        message, message_tokens, traceparent, counts_in, created_at, started_at)
      values (?, ?, ?, ?, ?, ?, ?, ?, 'running', 1, 1, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    runAgain: db.prepare(`update turns set state = 'running', run = ?, attempt = 1, fence = ?, lease_until = ?, hold = ?, agent_version = ?,
        prompt_price = ?, completion_price = ?, cached_prompt_price = ?, cache_write_price = ?, started_at = ?, ended_at = null, failure_code = null, failure_cause = null,
        cancel_requested_at = null, traceparent = ?, counts_in = ?
      where request_id = ? and state = 'released'`),
    // the text only up to a size, so that a large one is not read here
    findReply: db.prepare(`select t.conversation_id, m.id, case when m.tokens <= ? then m.content end as content, m.tokens, m.created_at,
        t.prompt_tokens, t.completion_tokens, t.charged, t.incomplete, t.finish_reason
      from turns t join messages m on m.request_id = t.request_id and m.role = 'assistant' where t.request_id = ?`),
    walkHistory: asArrays(
      db.prepare('select seq, content, tokens from messages where conversation_id = ? and seq < ? order by seq desc limit ?'),
    ),
    // the fence: a write finds nothing if the turn was claimed by another process or has ended
    findOwnRunning:
      db.prepare(`select t.request_id, t.conversation_id, t.owner_id, t.agent_id, t.hold, t.run, t.continues_from, t.message, t.message_tokens,
        t.counts_in, t.created_at, t.started_at, c.message_count
      from turns t join conversations c on c.id = t.conversation_id where t.request_id = ? and t.fence = ? and t.state = 'running'`),
    completeTurn: db.prepare(`update turns set state = 'completed', lease_until = null, hold = 0, prompt_tokens = ?,
        cached_prompt_tokens = ?, cache_write_tokens = ?, completion_tokens = ?, reasoning_tokens = ?, usage_estimated = ?, tool_calls = ?, charged = ?, first_delta_ms = ?, incomplete = ?, finish_reason = ?, ended_at = ? where request_id = ?`),
    insertMessage: db.prepare(`insert into messages (id, conversation_id, seq, role, content, tokens, citations, request_id, created_at)
      values (?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    growConversation: db.prepare(`update conversations set message_count = message_count + 2, message_tokens = message_tokens + ?,
        last_message_at = ? where id = ?`),
    insertCharge: db.prepare(`insert into ledger (id, owner_id, kind, amount, written_off, request_id, created_at)
      values (?, ?, 'charge', ?, ?, ?, ?)`),
    payFromHold: db.prepare('update owners set balance = balance - ?, held = held - ? where id = ?'),
    endTurn: db.prepare(`update turns set state = ?, lease_until = null, hold = 0, failure_code = ?, failure_cause = ?, ended_at = ?,
        unpaid = unpaid + ?, reserved = reserved + ?
      where request_id = ?`),
    // `billing.tool-price`: a cancelled turn that pays its finished tool calls
    endWithCharge: db.prepare(`update turns set state = ?, lease_until = null, hold = 0, failure_code = ?, failure_cause = ?, ended_at = ?,
        unpaid = unpaid + ?, reserved = reserved + ?, tool_calls = ?, charged = ?
      where request_id = ?`),
    insertTrace: db.prepare('insert into traces (request_id, run, content) values (?, ?, cast(? as blob))'),
    insertError: db.prepare('insert into turn_errors (request_id, run, cause_kind, ended_at) values (?, ?, ?, ?)'),
    releaseHold: db.prepare('update owners set held = held - ?, unpaid = unpaid + ? where id = ?'),
    raiseMinHold: db.prepare('update agents set min_hold = max(min_hold, ?) where id = ?'),
    setHold: db.prepare('update turns set hold = ? where request_id = ?'),
    continueFrom: db.prepare('update turns set continues_from = ? where request_id = ?'),
    findStep: db.prepare('select 1 from journal where request_id = ? and step = ? and part = ? and kind = ? and run >= ?'),
    insertStep: db.prepare('insert into journal (request_id, run, step, part, kind, payload, created_at) values (?, ?, ?, ?, ?, ?, ?)'),
    renewLease: db.prepare("update turns set lease_until = ? where request_id = ? and fence = ? and state = 'running'"),
    endAllLeases: db.prepare("update turns set lease_until = 0 where state = 'running'"),
    findOrphans:
      db.prepare(`select t.request_id, t.conversation_id, t.owner_id, t.api_key_id, t.agent_id, t.agent_version, t.attempt, t.run,
        t.continues_from, t.fence, t.message, t.traceparent, t.cancel_requested_at, t.prompt_price, t.completion_price, t.cached_prompt_price,
        t.cache_write_price, t.hold, t.counts_in, t.started_at, v.history_max_tokens
      from turns t join agent_versions v on v.agent_id = t.agent_id and v.version = t.agent_version
      where t.state = 'running' and t.lease_until <= ? order by t.attempt, t.created_at, t.request_id`),
    claimTurn: db.prepare('update turns set attempt = ?, fence = ?, lease_until = ? where request_id = ?'),
    lastStepBefore: db.prepare('select max(step) as step from journal where request_id = ? and run < ?'),
    findSteps: db.prepare(`select step, part, kind, payload from journal where request_id = ? and run >= ?
      order by run, step, part, case kind when 'model' then 0 when 'tool_started' then 1 else 2 end`),
    ...prepareEventStatements(db),
  }
}

/** For reads of many rows: rows as arrays, integers as numbers. */
function asArrays(statement: StatementSync): StatementSync {
  statement.setReturnArrays(true)
  statement.setReadBigInts(false)
  return statement
}
