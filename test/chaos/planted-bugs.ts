/**
 * Bugs that are planted one at a time into a copy of the source, to see whether a run of the harness finds them by itself, without a hint.
 * There is at least one for each part of the service. As data; planted.ts runs them. Edits have the form of test/mutants/mutant.ts.
 */
import { edit } from '../mutants/mutant.ts'
import type { Edit } from '../mutants/mutant.ts'

export type PlantedBug = {
  name: string
  part:
    | 'admission'
    | 'recovery'
    | 'fencing'
    | 'holds'
    | 'batching'
    | 'expiry'
    | 'limiter'
    | 'journal'
    | 'streams'
    | 'history'
    | 'tenancy'
    | 'settlement'
    | 'spend limits'
    | 'cancel'
    | 'background'
    | 'feedback'
    | 'webhooks'
    | 'operators'
  /** What holds no more, as a short phrase without a full stop. */
  removes: string
  edits: Edit[]
  caughtBy: CaughtBy
}

/** Who must find it, and by which of its checks, one or another. `minutes`: a rare meeting of two faults needs more than the usual ones. */
export type CaughtBy =
  | { harness: 'chaos'; store: 'sqlite' | 'postgres'; faults?: string; minutes?: number; checks: string[] }
  | { harness: 'simulation'; checks: string[] }

export const plantedBugs: PlantedBug[] = [
  {
    name: 'limit-checked-outside-the-transaction',
    part: 'spend limits',
    removes: 'what is spent is read by the transaction that admits',
    edits: [
      edit('used: row.used as bigint }\n', 'used: readBefore(row) }\n'),
      edit(
        'export function findExceeded(',
        `const reads = new Map<bigint, bigint>()
/** What a process knows that asked before the last admission. */
function readBefore(row: Row): bigint {
  const before = reads.get(row.id as bigint) ?? 0n
  reads.set(row.id as bigint, row.used as bigint)
  return before < (row.used as bigint) ? before : (row.used as bigint)
}

export function findExceeded(`,
        { at: 'limit-checked-outside-the-transaction' },
      ),
      edit(',\n  constraint spent_within_limit check (spent + held + unpaid <= max_amount)\n', '\n', { within: 'src/store/sqlite/' }),
    ],
    caughtBy: { harness: 'simulation', checks: ['limit', 'I21'] },
  },
  {
    name: 'spend-window-reset-again',
    part: 'spend limits',
    removes: 'a window keeps what was spent in it, as two processes that each reset it would',
    edits: [edit('update spending set held = held + ?, max_amount', 'update spending set spent = earlier, held = held + ?, max_amount')],
    caughtBy: { harness: 'simulation', checks: ['spending', 'I21'] },
  },
  {
    name: 'limit-that-releases-nothing',
    part: 'spend limits',
    removes: 'what a turn held comes back to its windows when it ends without a reply',
    edits: [edit('sql.releaseSpending.run(charged, hold, reserved,', 'sql.releaseSpending.run(charged, 0n, reserved,')],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'verify', checks: ['spend-limit', 'verify'] },
  },
  {
    name: 'limit-that-nothing-checks',
    part: 'spend limits',
    removes: 'a hold fits its limits, and the constraint that says so',
    edits: [
      edit('used + hold > amount', 'used + hold > amount * 1000n'),
      edit(',\n  constraint spent_within_limit check (spent + held + unpaid <= max_amount)\n', '\n', { within: 'src/store/sqlite/' }),
    ],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'verify', checks: ['spend-limit', 'verify'] },
  },
  {
    name: 'limit-that-counts-twice',
    part: 'spend limits',
    removes: 'a charge counts once in each window',
    edits: [
      edit('sql.settleSpending.run(item.charged, turn.hold!,', 'sql.settleSpending.run(2n * item.charged, turn.hold!,', {
        at: 'limit-that-counts-twice',
      }),
      edit(',\n  constraint spent_within_limit check (spent + held + unpaid <= max_amount)\n', '\n', { within: 'src/store/sqlite/' }),
    ],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'verify', checks: ['spend-limit', 'verify'] },
  },
  {
    name: 'refused-with-room-left',
    part: 'spend limits',
    removes: 'a limit refuses only what does not fit',
    edits: [edit('used + hold > amount', 'used + 4n * hold > amount')],
    caughtBy: { harness: 'simulation', checks: ['limit'] },
  },
  {
    name: 'settled-past-the-fence',
    part: 'fencing',
    removes: 'the fence of every write of a turn',
    edits: [
      edit(
        "where t.request_id = ? and t.fence = ? and t.state = 'running'`)",
        "where t.request_id = ? and ? > 0 and t.state = 'running'`)",
      ),
    ],
    caughtBy: { harness: 'simulation', checks: ['fence'] },
  },
  {
    name: 'attempts-without-end',
    part: 'recovery',
    removes: 'a claim counts as an attempt',
    edits: [edit('sql.claimTurn.run(attempt + 1, ', 'sql.claimTurn.run(attempt, ')],
    caughtBy: { harness: 'simulation', checks: ['rows', 'attempts'] },
  },
  {
    name: 'hold-kept-by-a-released-turn',
    part: 'holds',
    removes: 'the hold is given back where a turn ends without a reply',
    edits: [edit('  sql.releaseHold.run(hold - charged, reserved, turn.owner_id!)\n')],
    caughtBy: { harness: 'simulation', checks: ['I3', 'holds'] },
  },
  {
    name: 'unpaid-work-forgotten',
    part: 'holds',
    removes: 'what a turn without a reply used stays reserved',
    edits: [
      edit('sql.releaseHold.run(hold - charged, reserved, turn.owner_id!)', 'sql.releaseHold.run(hold - charged, 0n, turn.owner_id!)'),
    ],
    caughtBy: { harness: 'simulation', checks: ['I17', 'unpaid'] },
  },
  {
    name: 'expiry-by-the-clock-of-the-process',
    part: 'expiry',
    removes: "a record expires by the store's clock, and not by that of the process that asks",
    edits: [
      edit('      idempotencyKey,\n      fingerprint', '      idempotencyKey,\n      ...{ processNow: Date.now() },\n      fingerprint', {
        at: 'expiry-by-the-clock-of-the-process',
      }),
      edit('const record = findLiveRecord(sql, now, item)', 'const record = findLiveRecord(sql, item.processNow, item)'),
    ],
    caughtBy: { harness: 'simulation', checks: ['idempotency', 'runs'] },
  },
  {
    name: 'delta-before-durability',
    part: 'admission',
    removes: 'nothing leaves towards the caller before the admission is durable',
    edits: [edit('        one.onEarly?.(outcome)\n', '        one.onEarly?.(outcome)\n        one.resolve(outcome)\n')],
    caughtBy: { harness: 'simulation', checks: ['durable-first'] },
  },
  {
    name: 'tool-before-durability',
    part: 'admission',
    removes: 'no journal entry and no tool call before the admission is durable',
    edits: [edit('    if (!(await turn.durable)) return undefined\n')],
    caughtBy: { harness: 'simulation', checks: ['durable-first'] },
  },
  {
    name: 'run-of-a-lost-admission',
    part: 'admission',
    removes: 'a run counts only if the transaction that reported it has committed',
    edits: [edit('this.#hasEnded || final !== this.#reported', 'this.#hasEnded || !final')],
    caughtBy: { harness: 'simulation', checks: ['charge', 'history', 'one-model-call', 'fence', 'journal'] },
  },
  {
    name: 'answered-before-the-commit',
    part: 'settlement',
    removes: 'a reply is returned after its commit',
    edits: [
      edit(
        '    const reply = await writes.settle(turn, settlement)\n',
        "    turn.finish({ kind: 'completed', reply: { ...settlement, conversationId: turn.conversationId, messageId: settlement.assistantMessageId, createdAt: 0 } })\n    const reply = await writes.settle(turn, settlement)\n",
      ),
    ],
    caughtBy: { harness: 'simulation', checks: ['reply-stored'] },
  },
  {
    name: 'call-that-is-not-journaled',
    part: 'journal',
    removes: 'a call with side effects is journaled as started before it is made',
    edits: [edit('...started.map(({ part }) => startedEntry(step, part))', '')],
    caughtBy: { harness: 'simulation', checks: ['side-effects'] },
  },
  {
    name: 'unknown-call-made-again',
    part: 'journal',
    removes: 'a turn with a call whose outcome is unknown is never run again',
    edits: [edit("    if (turn.callUnknown) return { kind: 'unusable', cause: outcomeUnknown, causeKind: 'tool_outcome_unknown' }\n")],
    caughtBy: { harness: 'simulation', checks: ['side-effects'] },
  },
  {
    name: 'retry-that-forgets-what-it-did',
    part: 'journal',
    removes: 'a retry of a released run with finished side effects goes on from its journal',
    edits: [edit('    if (item.finishedSideEffects && turn.continues_from === null) sql.continueFrom.run(turn.run!, item.requestId)\n')],
    caughtBy: { harness: 'simulation', checks: ['journal', 'side-effects'] },
  },
  {
    name: 'claims-its-own',
    part: 'recovery',
    removes: 'a process does not claim what it runs itself',
    edits: [edit('    if (own.has(requestId)) continue\n')],
    caughtBy: { harness: 'simulation', checks: ['claim'] },
  },
  {
    name: 'rolled-back-but-confirmed',
    part: 'batching',
    removes: 'what was rolled back is not confirmed',
    edits: [
      edit(
        "      if (this.#db.isTransaction) this.#db.exec('rollback')\n      return false\n",
        "      if (this.#db.isTransaction) this.#db.exec('rollback')\n      return true\n",
      ),
    ],
    caughtBy: { harness: 'simulation', checks: ['rows'] },
  },
  {
    name: 'conversation-that-does-not-count',
    part: 'history',
    removes: 'a conversation counts what is stored in it',
    edits: [edit('  sql.growConversation.run(userTokens + BigInt(contentTokens), now, conversationId)\n')],
    caughtBy: { harness: 'simulation', checks: ['I7', 'history', 'fault-of-ours'] },
  },
  {
    name: 'leases-that-are-not-renewed',
    part: 'recovery',
    removes: 'leases are renewed',
    edits: [edit('    if (turns.length > 0) await renewAll(turns)\n')],
    caughtBy: { harness: 'simulation', checks: ['renewals', 'liveness'] },
  },
  {
    name: 'charged-twice-by-a-zombie',
    part: 'fencing',
    removes: 'fence, state and unique charge in the settlement of PostgreSQL',
    edits: [
      edit(
        'trace bytea)\n      join turns t on t.request_id = i.request_id and t.fence = i.fence and t.lease_until is not null\n',
        'trace bytea)\n      join turns t on t.request_id = i.request_id\n',
      ),
      edit('create unique index one_charge_per_turn', 'create index one_charge_per_turn', { within: 'src/store/postgres/' }),
      edit('create unique index one_message_per_role_and_turn', 'create index one_message_per_role_and_turn', {
        within: 'src/store/postgres/',
      }),
    ],
    caughtBy: { harness: 'chaos', store: 'postgres', faults: 'stop', minutes: 2, checks: ['verify', 'H2'] },
  },
  {
    name: 'orphans-left-at-the-start',
    part: 'recovery',
    removes: 'a start recovers the turns of the previous process: leases of the dead process last an hour',
    edits: [
      edit('  turnPath.endAllLeases()\n'),
      edit('const orphans = sql.findOrphans.all(leaseNow)', 'const orphans = sql.findOrphans.all(leaseNow - 3_600_000)'),
    ],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'kill', checks: ['H9', 'verify'] },
  },
  {
    name: 'hold-kept-after-a-failure',
    part: 'holds',
    removes: 'a turn that is released or failed gives its hold back',
    edits: [edit('  sql.releaseHold.run(hold - charged, reserved, turn.owner_id!)\n  if (', '  if (')],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'verify', checks: ['verify'] },
  },
  {
    name: 'spent-beyond-the-balance',
    part: 'holds',
    removes: 'a hold fits the balance, and the constraint that says so',
    edits: [
      edit('where id = ? and balance - held - unpaid >= ?', 'where id = ? and ? is not null'),
      edit(' check (balance >= 0)', ' check (balance > -9000000000000000)', { within: 'src/store/sqlite/' }),
      edit('check (held >= 0 and held <= balance)', 'check (held >= 0)', { within: 'src/store/sqlite/' }),
    ],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'verify', checks: ['verify', 'money'] },
  },
  {
    name: 'confirmed-before-the-commit',
    part: 'settlement',
    removes: 'a caller is answered after the settlement is durable',
    edits: [
      edit(
        '    const settlement = settlementOf(turn, generated, { ...replyEnd, newId })\n',
        `    const settlement = settlementOf(turn, generated, { ...replyEnd, newId })
    const early = { conversationId: turn.conversationId, messageId: settlement.assistantMessageId, createdAt: Date.now() }
    turn.finish({ kind: 'completed', reply: { ...settlement, ...early } })\n`,
      ),
    ],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'failpoint,kill', checks: ['H1', 'H2'] },
  },
  {
    name: 'batch-rolled-back-but-confirmed',
    part: 'batching',
    removes: 'a batch that was rolled back is not confirmed',
    edits: [
      edit(
        "if (this.#db.isTransaction) this.#db.exec('rollback')\n      return false\n",
        "if (this.#db.isTransaction) this.#db.exec('rollback')\n      return true\n",
      ),
    ],
    // Two minutes: only a failed commit of a settlement shows it, and half a minute has few of them.
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'failpoint', minutes: 2, checks: ['H1', 'H2', 'H9', 'verify'] },
  },
  {
    name: 'answers-of-a-batch-mixed-up',
    part: 'batching',
    removes: "each item of a batch gets its own item's outcome",
    edits: [
      edit('const outcome = outcomes[index]!', 'const outcome = outcomes[batch.length - 1 - index]!', {
        at: 'answers-of-a-batch-mixed-up',
      }),
    ],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'verify', checks: ['H1', 'H2', 'H12'] },
  },
  {
    name: 'record-that-expires-in-two-seconds',
    part: 'expiry',
    removes: 'a record is kept for 24 hours',
    edits: [edit('recordLifetimeMs = 24 * 60 * 60 * 1000', 'recordLifetimeMs = 2 * 1000', { at: 'idempotency.lifetime' })],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'verify', checks: ['H1', 'H2', 'H3'] },
  },
  {
    name: 'another-body-under-the-same-key',
    part: 'admission',
    removes: 'another body conflicts',
    edits: [
      edit('Buffer.from(item.fingerprint)', 'item.mayRun !== undefined || Buffer.from(item.fingerprint)', { at: 'idempotency.conflict' }),
    ],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'verify', checks: ['H1', 'own'] },
  },
  {
    name: 'two-turns-of-one-conversation',
    part: 'admission',
    removes: 'the busy check and its constraint',
    edits: [
      edit("  if (conversation && sql.findRunning.get(conversation.id!)) return { kind: 'conversation_busy' }\n"),
      edit("create unique index one_running_turn_per_conversation on turns (conversation_id) where state = 'running';\n", '', {
        within: 'src/store/sqlite/',
      }),
    ],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'verify', checks: ['H10', 'verify', 'H2'] },
  },
  {
    name: 'limiter-that-falls-back-to-memory',
    part: 'limiter',
    removes: 'without Redis nothing passes',
    edits: [
      edit(
        '    async spend({ apiKeyId, limit, windowSeconds }) {\n',
        `    async spend({ apiKeyId, limit, windowSeconds }) {
      if (redis.status !== 'ready') return outcomeOf(true, { limit, spent: 1, endsAtMs: Date.now() + 1000, endsInMs: 1000 })\n`,
        { at: 'limiter-that-falls-back-to-memory' },
      ),
    ],
    caughtBy: { harness: 'chaos', store: 'postgres', faults: 'redis-kill,redis-freeze', checks: ['H7', 'H6'] },
  },
  {
    name: 'limiter-that-each-process-has-for-itself',
    part: 'limiter',
    removes: 'all processes count in one window',
    edits: [edit("const keyPrefix = 'turnkeep:window:'", 'const keyPrefix = `turnkeep:window:${process.pid}:`')],
    caughtBy: { harness: 'chaos', store: 'postgres', faults: 'verify', checks: ['H6'] },
  },
  {
    name: 'tool-called-again-after-a-crash',
    part: 'journal',
    removes: 'a call with side effects is journaled before it is made',
    edits: [
      edit(
        'const started = open.filter(({ refusal, sideEffects }) => sideEffects && refusal === undefined)',
        'const started = open.filter(() => open.length > 1e9)',
      ),
    ],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'failpoint,kill', minutes: 2, checks: ['tools'] },
  },
  {
    name: 'recovery-that-reads-no-journal',
    part: 'journal',
    removes: 'recovery goes on from the journal',
    edits: [edit('new Steps(request.journal, request.stepsBefore)', 'new Steps([], request.stepsBefore)')],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'failpoint,kill', checks: ['tools'] },
  },
  {
    name: 'delta-lost-in-a-full-tick',
    part: 'streams',
    removes: 'deltas of one tick leave together',
    edits: [edit('    this.#pending += next\n', '    this.#pending = next\n')],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'verify', checks: ['H4'] },
  },
  {
    name: 'model-asked-again-after-a-delta',
    part: 'streams',
    removes: 'once a piece has left, nothing is generated again',
    edits: [edit('mayRetry: () => !steps.hasSaid,', 'mayRetry: () => true,')],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'verify', checks: ['H4', 'H3', 'calm', 'own', 'money'] },
  },
  {
    name: 'replay-with-a-new-time',
    part: 'streams',
    removes: 'a replay is what settlement stored, byte for byte',
    edits: [edit('createdAt: Number(row.created_at)', 'createdAt: Date.now()')],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'verify', checks: ['H1'] },
  },
  {
    name: 'prompt-without-the-last-exchange',
    part: 'history',
    removes: 'the newest exchanges come first into the window',
    edits: [edit('    ...parts.history,\n', '    ...parts.history.slice(0, -2),\n')],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'verify', checks: ['H10'] },
  },
  {
    name: 'conversations-shared-between-keys',
    part: 'tenancy',
    removes: 'the API key is part of a conversation’s identity',
    edits: [
      edit(
        'from conversations where api_key_id = ? and external_user_id = ?',
        'from conversations where ? is not null and external_user_id = ?',
      ),
      edit('create unique index one_conversation_per_end_user', 'create index one_conversation_per_end_user', {
        within: 'src/store/sqlite/',
      }),
    ],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'verify', checks: ['H12', 'verify', 'H10'] },
  },
  {
    name: 'revoked-key-that-still-opens',
    part: 'tenancy',
    removes: 'a revoked key is refused within a second',
    edits: [
      edit('const maxAgeMs = 1_000', 'const maxAgeMs = 3_600_000', { at: 'revoked-key-that-still-opens' }),
      edit('  store.onChange(keys.clear)\n'),
    ],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'verify', checks: ['operator'] },
  },
  {
    name: 'continued-without-comparing',
    part: 'streams',
    removes: 'a stream starts over where another attempt has another text',
    edits: [edit('if (crc32(this.#text.slice(0, offset)) !== reader.position.checksum)', 'if (reader.position.checksum < 0)')],
    caughtBy: { harness: 'simulation', checks: ['follow'] },
  },
  {
    name: 'cancelled-turn-that-asks-the-model',
    part: 'recovery',
    removes: 'a turn that is recovered after its cancel was requested calls no model',
    edits: [edit("    if (turn.admitted.cancelRequested) turn.stop('cancel')\n")],
    caughtBy: { harness: 'simulation', checks: ['one-model-call', 'history'] },
  },
  {
    name: 'cancel-of-an-earlier-run',
    part: 'admission',
    removes: 'a retry of a released turn is not cancelled by a request for its earlier run',
    edits: [edit('        cancel_requested_at = null, traceparent = ?, counts_in = ?\n', '        traceparent = ?, counts_in = ?\n')],
    caughtBy: { harness: 'simulation', checks: ['cancel'] },
  },
  {
    name: 'cached-tokens-charged-twice',
    part: 'settlement',
    removes: 'a cached token is charged at its own price alone, and not at the prompt price as well',
    edits: [
      edit(
        'promptTokens - cachedPromptTokens - cacheWriteTokens) * promptPerMillion +',
        'promptTokens - cacheWriteTokens) * promptPerMillion +',
      ),
    ],
    caughtBy: { harness: 'simulation', checks: ['charge', 'I5'] },
  },
  {
    name: 'tool-charged-again-on-recovery',
    part: 'settlement',
    removes: 'a finished tool call is charged once, also if recovery got it from the journal',
    edits: [
      edit(
        'const toolCalls = BigInt(toolCallsPrice)',
        "const toolCalls = BigInt(admitted.journal.reduce((sum, { kind, payload }) => sum + (kind === 'tool_finished' ? ((JSON.parse(payload) as { price?: number }).price ?? 0) : 0), toolCallsPrice))",
        { at: 'billing.tool-price' },
      ),
    ],
    caughtBy: { harness: 'simulation', checks: ['charge'] },
  },
  {
    name: 'net-prompt-taken-as-gross',
    part: 'settlement',
    removes: "the prompt of Anthropic includes its cache, although the API's count does not",
    edits: [edit('this.#promptExcludesCache ? base + cachedPromptTokens + cacheWriteTokens : base', 'base')],
    caughtBy: { harness: 'simulation', checks: ['charge'] },
  },
  {
    name: 'cancel-lost-with-its-process',
    part: 'cancel',
    removes: 'a cancel that was requested is known to the process that recovers the turn',
    edits: [edit('cancelRequested: orphan.cancel_requested_at !== null', 'cancelRequested: false')],
    caughtBy: { harness: 'simulation', checks: ['one-model-call', 'history', 'cancel'] },
  },
  {
    name: 'cancelled-turn-that-is-charged',
    part: 'cancel',
    removes: 'a cancelled turn is not charged',
    edits: [
      edit(
        '  sql.releaseHold.run(hold - charged, reserved, turn.owner_id!)\n',
        `  if (end.state === 'cancelled') {
    sql.insertCharge.run(\`led_\${String(turn.request_id)}\`, turn.owner_id!, -hold, 0n, turn.request_id!, now)
    sql.payFromHold.run(hold, hold, turn.owner_id!)
  } else sql.releaseHold.run(hold - charged, reserved, turn.owner_id!)\n`,
      ),
    ],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'verify', checks: ['money', 'verify'] },
  },
  {
    name: 'partial-reply-that-costs-nothing',
    part: 'cancel',
    removes: 'the text of a cancelled turn is charged',
    edits: [
      edit(
        '    ...charge(usage, toolCalls, admitted.price, admitted.hold),\n',
        '    ...(incomplete ? { charged: 0n, writtenOff: 0n } : charge(usage, toolCalls, admitted.price, admitted.hold)),\n',
      ),
    ],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'verify', checks: ['money'] },
  },
  {
    name: 'cancel-that-stops-every-turn',
    part: 'cancel',
    removes: 'a cancel stops the one turn that it names',
    edits: [edit('      if (running) running.cancel(run)\n', "      if (running) for (const turn of live.values()) turn.stop('cancel')\n")],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'verify', checks: ['cancel', 'process'] },
  },
  {
    name: 'delta-repeated-on-the-next-connection',
    part: 'streams',
    removes: 'a continued stream starts where the last one ended',
    edits: [edit('this.#text.slice(offset))\n  }', 'this.#text.slice(Math.max(0, offset - 1)))\n  }')],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'verify', checks: ['resume'] },
  },
  {
    name: 'reset-that-is-not-sent',
    part: 'streams',
    removes: 'a caller learns that the text starts over',
    edits: [edit('onReset: () => closeOnError(() => stream.reset())', 'onReset: () => undefined')],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'failpoint,kill', checks: ['resume'] },
  },
  {
    name: 'accepted-before-the-admission',
    part: 'background',
    removes: 'a turn is accepted when it is admitted',
    edits: [
      edit(
        '    const started = await turns.begin(turnRequest(request))\n',
        `    const beginning = turns.begin(turnRequest(request))
    const early = { requestId: request.id, conversationId: \`conv_\${'0'.repeat(26)}\` } as RunningTurn
    if (prefersAsync(request.raw)) return sendAccepted(request, reply, early)
    const started = await beginning\n`,
      ),
    ],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'verify', checks: ['background', 'H1'] },
  },
  {
    name: 'first-feedback-that-stays',
    part: 'feedback',
    removes: 'the last feedback counts',
    edits: [
      edit(
        'where feedback.rating <> excluded.rating or feedback.comment is distinct from excluded.comment or feedback.tags <> excluded.tags`',
        'where feedback.rating = excluded.rating`',
      ),
    ],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'verify', checks: ['feedback'] },
  },
  {
    name: 'event-outside-the-transaction',
    part: 'webhooks',
    removes: 'an event is recorded by the transaction that it reports',
    edits: [
      edit(
        "  recordEnd(sql, turn, { state: 'completed', charge: item }, now)\n",
        "  setTimeout(() => recordEnd(sql, turn, { state: 'completed', charge: item }, now), 20)\n",
      ),
    ],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'failpoint,kill', checks: ['webhooks', 'verify'] },
  },
  {
    name: 'delivered-before-the-answer',
    part: 'webhooks',
    removes: 'a delivery is stored as delivered after the endpoint has accepted it',
    edits: [
      edit(
        '    slots(1)\n',
        "    slots(1)\n    ended.push({ eventId, webhookId, fence, result: { kind: 'delivered' }, status: 200, error: null })\n    await storeResults()\n",
        { at: 'delivered-before-the-answer' },
      ),
    ],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'verify', checks: ['webhooks'] },
  },
  {
    name: 'new-id-on-a-retry',
    part: 'webhooks',
    removes: 'an event has the same ID in every attempt',
    edits: [
      edit(
        'sendEvent(webhook, event).catch',
        'sendEvent(webhook, delivery.attempt > 1 ? { ...event, id: `${event.id}_${delivery.attempt}` } : event).catch',
      ),
    ],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'verify', checks: ['webhooks'] },
  },
  {
    name: 'claim-without-a-lease',
    part: 'webhooks',
    removes: 'a delivery that is being sent is not claimed again',
    edits: [edit('      now + leaseMs,\n', '      now,\n', { at: 'claim-without-a-lease' })],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'verify', checks: ['webhooks'] },
  },
  {
    name: 'link-that-is-not-used-up',
    part: 'operators',
    removes: 'of two who accept an invitation, one succeeds',
    edits: [
      edit(
        "`delete from sign_in_secrets where digest = $1 and purpose = 'invitation' and expires_at > $2 returning operator_id`",
        "`select operator_id from sign_in_secrets where digest = $1 and purpose = 'invitation' and expires_at > $2`",
      ),
    ],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'verify', checks: ['access'] },
  },
  {
    name: 'token-that-a-process-remembers',
    part: 'operators',
    removes: 'a revoked token is refused by every process from then on',
    edits: [
      edit(
        '    const { found } = await lookUps.push(token)\n',
        `    if (remembered.has(token)) return remembered.get(token)!
    setTimeout(() => remembered.delete(token), 5000)
    const { found } = await lookUps.push(token)
    if (found) remembered.set(token, found.principal)\n`,
      ),
      edit('type Known = Pick<', 'const remembered = new Map<string, Principal>()\ntype Known = Pick<', {
        at: 'token-that-a-process-remembers',
      }),
    ],
    caughtBy: { harness: 'chaos', store: 'sqlite', faults: 'verify', checks: ['access'] },
  },
]
