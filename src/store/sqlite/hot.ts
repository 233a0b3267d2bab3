/**
 * The hot operations on SQLite, one item at a time inside the caller's transaction. Every guarantee of store.ts that is more than one
 * statement lives here; the schema's constraints forbid what these checks answer politely. Never begins or commits.
 */
import type { DatabaseSync } from 'node:sqlite'
import type {
  AdmittedTurn,
  Admission,
  AdmissionOutcome,
  Advance,
  AdvanceOutcome,
  Claims,
  HistoryMessage,
  JournalEntry,
  Lease,
  Row,
  Settlement,
  SettlementOutcome,
  StoredReply,
  TurnFailure,
  TurnFailureOutcome,
} from '../store.ts'

/** `idempotency.lifetime`: 24 hours from the turn's end. */
export const recordLifetimeMs = 24 * 60 * 60 * 1000
/** A run's attempts: one more crash than bad luck explains (rulings, `turn.states`). The schema's check has the same number. */
const mostAttempts = 3

export type Clock = {
  /** Wall clock, epoch ms: what is shown and what the 24 hours are counted on. */
  now(): number
  /** Monotonic, epoch-like ms: what leases run on, so that a set clock neither kills nor keeps a turn. */
  leaseNow(): number
}

export type Hot = ReturnType<typeof createHot>

export function createHot(db: DatabaseSync, clock: Clock) {
  const sql = statements(db)

  function admit(item: Admission): AdmissionOutcome {
    const now = clock.now()
    const record = sql.findRecord.get(item.apiKeyId, item.idempotencyKey)
    if (record && record.state !== 'running' && Number(record.ended_at) + recordLifetimeMs <= now) {
      sql.clearKey.run(record.request_id!)
    } else if (record) {
      const answer = answerFromRecord(record, item)
      if (answer) return answer
    }
    if (!item.mayRun) return { kind: 'overloaded' }
    const released = record?.state === 'released' && Number(record.ended_at) + recordLifetimeMs > now ? record : undefined

    const agent = sql.findAgent.get(item.agentId)
    if (!agent || agent.deleted_at !== null) return { kind: 'agent_not_found' }
    if (agent.enabled !== 1n) return { kind: 'agent_disabled' }

    const conversation = released
      ? sql.findConversationById.get(released.conversation_id!)
      : sql.findConversation.get(item.apiKeyId, item.externalUserId)
    // `conversation.busy`, ahead of the constraint one_running_turn_per_conversation
    if (conversation && sql.findRunning.get(conversation.id!)) return { kind: 'conversation_busy' }

    // `billing.hold`: stored numbers only
    const window = min(agent.history_max_tokens as bigint, (conversation?.message_tokens ?? 0n) as bigint)
    const promptTokens = (agent.fixed_tokens as bigint) + window + (agent.knowledge_max_tokens as bigint) + BigInt(item.messageTokens)
    const promptPrice = agent.prompt_price as bigint
    const completionPrice = agent.completion_price as bigint
    const hold = perMillion(promptTokens * promptPrice + (agent.max_output_tokens as bigint) * completionPrice)
    const ownerId = agent.owner_id as string
    if (sql.takeHold.run(hold, ownerId, hold).changes === 0n) return { kind: 'insufficient_balance' }

    const conversationId = conversation ? (conversation.id as string) : item.conversationId
    if (!conversation) sql.insertConversation.run(conversationId, item.apiKeyId, item.externalUserId, now)
    const leaseUntil = Math.ceil(clock.leaseNow() + item.leaseMs)
    const requestId = released ? (released.request_id as string) : item.requestId
    const agentVersion = Number(agent.version)
    let fence = 1
    let run = 1
    if (released) {
      fence = Number(released.fence) + 1
      run = Number(released.run) + 1
      sql.runAgain.run(run, fence, leaseUntil, hold, agentVersion, promptPrice, completionPrice, now, requestId)
    } else {
      sql.insertTurn.run(
        requestId,
        item.apiKeyId,
        item.idempotencyKey,
        item.fingerprint,
        conversationId,
        ownerId,
        item.agentId,
        agentVersion,
        leaseUntil,
        hold,
        promptPrice,
        completionPrice,
        item.message,
        item.messageTokens,
        now,
        now,
      )
    }
    const price = { promptPerMillion: promptPrice, completionPerMillion: completionPrice }
    const history = conversation ? readHistory(conversationId, Number(window)) : []
    const { apiKeyId, agentId, message } = item
    const turn = {
      requestId,
      conversationId,
      apiKeyId,
      agentId,
      agentVersion,
      fence,
      run,
      attempt: 1,
      message,
      price,
      hold,
      history,
      journal: [],
    }
    return { kind: 'admitted', turn }
  }

  /** undefined: the record was released, and the request may run again. */
  function answerFromRecord(record: Row, item: Admission): AdmissionOutcome | undefined {
    // `idempotency.conflict`: before the state, so another body conflicts while the first runs
    if (!Buffer.from(item.fingerprint).equals(record.fingerprint as Uint8Array)) return { kind: 'idempotency_conflict' }
    const requestId = record.request_id as string
    switch (record.state) {
      case 'running':
        return { kind: 'idempotency_in_progress' }
      case 'failed':
        return { kind: 'replayed_failure', requestId }
      case 'completed':
        return record.erased_at === null ? { kind: 'replay', reply: readReply(requestId) } : { kind: 'erased' }
      default:
        return record.erased_at === null ? undefined : { kind: 'erased' }
    }
  }

  /** `idempotency.replay`: what settlement stored, byte for byte. */
  function readReply(requestId: string): StoredReply {
    const row = sql.findReply.get(requestId)
    if (!row) throw new Error(`completed turn ${requestId} has no reply`)
    return {
      requestId,
      conversationId: row.conversation_id as string,
      messageId: row.id as string,
      content: row.content as string,
      createdAt: Number(row.created_at),
      promptTokens: Number(row.prompt_tokens),
      completionTokens: Number(row.completion_tokens),
      charged: row.charged as bigint,
    }
  }

  /** The newest whole exchanges within `windowTokens`, oldest first: one range of the index, ended as soon as the window is full. */
  function readHistory(conversationId: string, windowTokens: number): HistoryMessage[] {
    const newestFirst: HistoryMessage[] = []
    let reply: HistoryMessage | undefined
    let replyTokens = 0
    let left = windowTokens
    for (const row of sql.walkHistory.iterate(conversationId)) {
      const tokens = Number(row.tokens)
      if (row.role === 'assistant') {
        reply = { role: 'assistant', content: row.content as string }
        replyTokens = tokens
        continue
      }
      left -= tokens + replyTokens
      if (left < 0 || !reply) break
      newestFirst.push(reply, { role: 'user', content: row.content as string })
    }
    return newestFirst.reverse()
  }

  function settle(item: Settlement): SettlementOutcome {
    const now = clock.now()
    const { requestId, fence } = item
    const turn = sql.findHeld.get(requestId, fence)
    if (!turn) return { kind: 'lost' }
    const conversationId = turn.conversation_id as string
    const estimated = item.usageEstimated ? 1 : 0
    sql.completeTurn.run(item.promptTokens, item.completionTokens, estimated, item.charged, item.firstDeltaMs, now, requestId)
    const conversation = sql.findConversationById.get(conversationId)
    const seq = Number(conversation!.message_count) + 1
    const userTokens = turn.message_tokens as bigint
    sql.insertMessage.run(item.userMessageId, conversationId, seq, 'user', turn.message!, userTokens, requestId, turn.created_at!)
    sql.insertMessage.run(item.assistantMessageId, conversationId, seq + 1, 'assistant', item.content, item.contentTokens, requestId, now)
    sql.growConversation.run(userTokens + BigInt(item.contentTokens), now, conversationId)
    // `billing.once`: one_charge_per_turn forbids a second row, also for a charge of nothing
    sql.insertCharge.run(item.ledgerEntryId, turn.owner_id!, -item.charged, item.writtenOff, requestId, now)
    sql.payFromHold.run(item.charged, turn.hold!, turn.owner_id!)
    const { promptTokens, completionTokens, charged, content } = item
    const messageId = item.assistantMessageId
    return {
      kind: 'settled',
      reply: { requestId, conversationId, messageId, content, createdAt: now, promptTokens, completionTokens, charged },
    }
  }

  function fail(item: TurnFailure): TurnFailureOutcome {
    const turn = sql.findHeld.get(item.requestId, item.fence)
    if (!turn) return { kind: 'lost' }
    endWithoutReply(turn, item.state, item.code, item.cause)
    return { kind: 'ended' }
  }

  function endWithoutReply(turn: Row, state: 'released' | 'failed', code: string, cause: string): void {
    sql.endTurn.run(state, code, cause, clock.now(), turn.request_id!)
    sql.payFromHold.run(0n, turn.hold!, turn.owner_id!)
  }

  function advance(item: Advance): AdvanceOutcome {
    const turn = sql.findHeld.get(item.requestId, item.fence)
    if (!turn) return { kind: 'lost' }
    const more = item.hold - (turn.hold as bigint)
    if (more > 0n) {
      if (sql.takeHold.run(more, turn.owner_id!, more).changes === 0n) return { kind: 'insufficient_balance' }
      sql.setHold.run(item.hold, item.requestId)
    }
    const now = clock.now()
    for (const { step, part, kind, payload } of item.entries) {
      sql.insertStep.run(item.requestId, turn.run!, step, part, kind, payload, now)
    }
    return { kind: 'advanced' }
  }

  /** Answers true where the lease is still ours. */
  function renew(lease: Lease & { leaseMs: number }): boolean {
    return sql.renewLease.run(Math.ceil(clock.leaseNow() + lease.leaseMs), lease.requestId, lease.fence).changes === 1n
  }

  function giveUp(lease: Lease): void {
    sql.renewLease.run(0, lease.requestId, lease.fence)
  }

  /** At start: the lock proves that whoever held these leases is dead. */
  function endAllLeases(): void {
    sql.endAllLeases.run()
  }

  function claim(item: { which: 'fresh' | 'suspect'; limit: number; leaseMs: number; running: string[] }): Claims {
    const own = new Set(item.running)
    const turns: AdmittedTurn[] = []
    const exhausted: string[] = []
    const leaseNow = clock.leaseNow()
    const orphans = sql.findOrphans.all(leaseNow)
    for (const orphan of orphans) {
      const requestId = orphan.request_id as string
      if (own.has(requestId)) continue
      const attempt = Number(orphan.attempt)
      if (attempt >= mostAttempts) {
        if (item.which === 'fresh') continue
        endWithoutReply(orphan, 'failed', 'internal_error', `the process died in each of ${mostAttempts} attempts`)
        exhausted.push(requestId)
        continue
      }
      if ((attempt === 1) !== (item.which === 'fresh')) continue
      if (turns.length >= (item.which === 'fresh' ? item.limit : Math.min(1, item.limit))) break
      const fence = Number(orphan.fence) + 1
      sql.claimTurn.run(attempt + 1, fence, Math.ceil(leaseNow + item.leaseMs), requestId)
      turns.push(readClaimed(orphan, attempt + 1, fence))
    }
    return { turns, exhausted }
  }

  function readClaimed(orphan: Row, attempt: number, fence: number): AdmittedTurn {
    const requestId = orphan.request_id as string
    const conversationId = orphan.conversation_id as string
    const steps = sql.findSteps.all(requestId, orphan.run!)
    const journal = steps.map((row): JournalEntry => ({
      step: Number(row.step),
      part: Number(row.part),
      kind: row.kind as JournalEntry['kind'],
      payload: row.payload as string,
    }))
    return {
      requestId,
      conversationId,
      apiKeyId: orphan.api_key_id as string,
      agentId: orphan.agent_id as string,
      agentVersion: Number(orphan.agent_version),
      fence,
      run: Number(orphan.run),
      attempt,
      message: orphan.message as string,
      price: { promptPerMillion: orphan.prompt_price as bigint, completionPerMillion: orphan.completion_price as bigint },
      hold: orphan.hold as bigint,
      history: readHistory(conversationId, Number(orphan.history_max_tokens)),
      journal,
    }
  }

  return { admit, settle, fail, advance, renew, giveUp, claim, endAllLeases, ping: () => true }
}

const min = (a: bigint, b: bigint): bigint => (a < b ? a : b)
/** The one rounding of a hold, up, as ledger.ts rounds a cost. */
const perMillion = (exact: bigint): bigint => (exact + 999_999n) / 1_000_000n

function statements(db: DatabaseSync) {
  return {
    findRecord: db.prepare(`select request_id, fingerprint, state, run, fence, conversation_id, ended_at, erased_at
      from turns where api_key_id = ? and idempotency_key = ?`),
    clearKey: db.prepare('update turns set idempotency_key = null where request_id = ?'),
    findAgent:
      db.prepare(`select a.owner_id, a.enabled, a.deleted_at, v.version, v.fixed_tokens, v.history_max_tokens, v.knowledge_max_tokens,
        v.max_output_tokens, v.prompt_price, v.completion_price
      from agents a join agent_versions v on v.agent_id = a.id and v.version = a.version where a.id = ?`),
    findConversation: db.prepare(
      'select id, message_count, message_tokens from conversations where api_key_id = ? and external_user_id = ?',
    ),
    findConversationById: db.prepare('select id, message_count, message_tokens from conversations where id = ?'),
    findRunning: db.prepare("select 1 from turns where conversation_id = ? and state = 'running'"),
    takeHold: db.prepare('update owners set held = held + ? where id = ? and balance - held >= ?'),
    insertConversation: db.prepare('insert into conversations (id, api_key_id, external_user_id, created_at) values (?, ?, ?, ?)'),
    insertTurn: db.prepare(`insert into turns (request_id, api_key_id, idempotency_key, fingerprint, conversation_id, owner_id, agent_id,
        agent_version, state, run, attempt, fence, lease_until, hold, prompt_price, completion_price, message, message_tokens, created_at, started_at)
      values (?, ?, ?, ?, ?, ?, ?, ?, 'running', 1, 1, 1, ?, ?, ?, ?, ?, ?, ?, ?)`),
    runAgain: db.prepare(`update turns set state = 'running', run = ?, attempt = 1, fence = ?, lease_until = ?, hold = ?, agent_version = ?,
        prompt_price = ?, completion_price = ?, started_at = ?, ended_at = null, failure_code = null, failure_cause = null
      where request_id = ? and state = 'released'`),
    findReply: db.prepare(`select t.conversation_id, m.id, m.content, m.created_at, t.prompt_tokens, t.completion_tokens, t.charged
      from turns t join messages m on m.request_id = t.request_id and m.role = 'assistant' where t.request_id = ?`),
    walkHistory: db.prepare('select role, content, tokens from messages where conversation_id = ? order by seq desc'),
    // the fence: whoever was claimed past, or ended, finds nothing
    findHeld: db.prepare(`select request_id, conversation_id, owner_id, hold, run, message, message_tokens, created_at
      from turns where request_id = ? and fence = ? and state = 'running'`),
    completeTurn: db.prepare(`update turns set state = 'completed', lease_until = null, hold = 0, prompt_tokens = ?, completion_tokens = ?,
        usage_estimated = ?, charged = ?, first_delta_ms = ?, ended_at = ? where request_id = ?`),
    insertMessage: db.prepare(`insert into messages (id, conversation_id, seq, role, content, tokens, request_id, created_at)
      values (?, ?, ?, ?, ?, ?, ?, ?)`),
    growConversation: db.prepare(`update conversations set message_count = message_count + 2, message_tokens = message_tokens + ?,
        last_message_at = ? where id = ?`),
    insertCharge: db.prepare(`insert into ledger (id, owner_id, kind, amount, written_off, request_id, created_at)
      values (?, ?, 'charge', ?, ?, ?, ?)`),
    payFromHold: db.prepare('update owners set balance = balance - ?, held = held - ? where id = ?'),
    endTurn: db.prepare(`update turns set state = ?, lease_until = null, hold = 0, failure_code = ?, failure_cause = ?, ended_at = ?
      where request_id = ?`),
    setHold: db.prepare('update turns set hold = ? where request_id = ?'),
    insertStep: db.prepare('insert into journal (request_id, run, step, part, kind, payload, created_at) values (?, ?, ?, ?, ?, ?, ?)'),
    renewLease: db.prepare("update turns set lease_until = ? where request_id = ? and fence = ? and state = 'running'"),
    endAllLeases: db.prepare("update turns set lease_until = 0 where state = 'running'"),
    findOrphans:
      db.prepare(`select t.request_id, t.conversation_id, t.owner_id, t.api_key_id, t.agent_id, t.agent_version, t.attempt, t.run,
        t.fence, t.message, t.prompt_price, t.completion_price, t.hold, v.history_max_tokens
      from turns t join agent_versions v on v.agent_id = t.agent_id and v.version = t.agent_version
      where t.state = 'running' and t.lease_until <= ? order by t.attempt, t.created_at, t.request_id`),
    claimTurn: db.prepare('update turns set attempt = ?, fence = ?, lease_until = ? where request_id = ?'),
    findSteps: db.prepare('select step, part, kind, payload from journal where request_id = ? and run = ? order by step, part, kind'),
  }
}
