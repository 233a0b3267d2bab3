/** Mutants of a turn's end: settlement, charge, release, and what a caller gets when. */
import { edit } from './mutant.ts'
import type { Mutant } from './mutant.ts'

const suite = 'store/sqlite.test.ts'
const states = 'spec/turn-states.test.ts'
const unknown = 'unavailable.unknown billing.once: a settlement that cannot be stored is 503'

export const endingMutants: Mutant[] = [
  {
    rule: 'turn.states',
    removes: 'the fence in settle: a run that was claimed past still settles',
    edits: [
      edit('sql.findOwnRunning.get(requestId, fence)', '[1, 2, 3].map((any) => sql.findOwnRunning.get(requestId, any)).find(Boolean)'),
    ],
    caughtBy: { file: suite, title: 'turn.states: an orphan is claimed when its lease has expired, counted and fenced' },
  },
  {
    rule: 'turn.states',
    removes: 'the fence in fail',
    edits: [
      edit(
        'sql.findOwnRunning.get(item.requestId, item.fence)',
        '[1, 2, 3].map((any) => sql.findOwnRunning.get(item.requestId, any)).find(Boolean)',
        { at: 'turn.states' },
      ),
    ],
    caughtBy: { file: suite, title: 'turn.states: an orphan is claimed when its lease has expired, counted and fenced' },
  },
  {
    rule: 'billing.hold',
    removes: 'the fence in advance',
    edits: [
      edit(
        'sql.findOwnRunning.get(item.requestId, item.fence)',
        '[1, 2, 3].map((any) => sql.findOwnRunning.get(item.requestId, any)).find(Boolean)',
        { at: 'billing.hold' },
      ),
    ],
    caughtBy: { file: suite, title: 'billing.hold: advance journals a step and extends the hold, both or neither' },
  },
  {
    rule: 'one_charge_per_turn',
    removes: 'only a running turn is settled',
    edits: [edit("where t.request_id = ? and t.fence = ? and t.state = 'running'`", 'where t.request_id = ? and t.fence = ?`')],
    caughtBy: { file: suite, title: 'one_charge_per_turn: a settlement succeeds once, also twice in one batch' },
  },
  {
    rule: 'billing.once',
    removes: 'a charge is never above its hold',
    edits: [edit('const charged = full < hold ? full : hold', 'const charged = full')],
    caughtBy: { file: 'unit/ledger.test.ts', title: 'billing.once: a charge is never above its hold' },
  },
  {
    rule: 'billing.once',
    removes: 'a cost is rounded up',
    edits: [edit('(exact + tokensPerMillion - 1n) / tokensPerMillion', 'exact / tokensPerMillion', { at: 'billing.once' })],
    caughtBy: { file: 'unit/ledger.test.ts', title: 'billing.once: a cost is rounded up once, never by a whole unit more' },
  },
  {
    rule: 'billing.once',
    removes: 'what is written off is recorded in the ledger',
    edits: [edit('-item.charged, item.writtenOff,', '-item.charged, 0n,')],
    caughtBy: {
      file: 'spec/billing.test.ts',
      title: 'fault.model-usage-wrong billing.once: a provider that reports more than the hold is charged at the hold',
    },
  },
  {
    rule: 'billing.once',
    removes: 'the charge leaves the balance',
    edits: [edit('sql.payFromHold.run(item.charged, ', 'sql.payFromHold.run(0n, ', { at: 'billing.once-2' })],
    caughtBy: { file: suite, title: 'billing.once idempotency.replay: settlement stores both messages and one charge' },
  },
  {
    rule: 'billing.once',
    removes: 'the hold is given back at settlement',
    edits: [edit('set balance = balance - ?, held = held - ? where', 'set balance = balance - ?, held = held - 0 * ? where')],
    caughtBy: { file: suite, title: 'billing.once idempotency.replay: settlement stores both messages and one charge' },
  },
  {
    rule: 'billing.once',
    removes: 'a caller is answered after the settlement is durable',
    edits: [
      edit(
        '    const settlement = settlementOf(turn, generated, { ...replyEnd, newId })\n',
        `    const settlement = settlementOf(turn, generated, { ...replyEnd, newId })
    const early = { conversationId: turn.conversationId, messageId: settlement.assistantMessageId, createdAt: 0 }
    turn.finish({ kind: 'completed', reply: { ...settlement, ...early } })\n`,
      ),
    ],
    caughtBy: { file: 'race/crash.test.ts', title: unknown },
  },
  {
    rule: 'billing.once',
    removes: 'a settlement that is asked again has the same ids',
    edits: [edit('push({ ...settlement, fence })', 'push({ ...settlement, assistantMessageId: `msg_${Math.random()}`, fence })')],
    caughtBy: { file: 'unit/settlement.test.ts', title: 'billing.once: a repeated settlement is the same one' },
  },
  {
    rule: 'billing.once',
    removes: 'what was rolled back is not confirmed',
    edits: [
      edit(
        "      if (this.#db.isTransaction) this.#db.exec('rollback')\n      return false\n",
        "      if (this.#db.isTransaction) this.#db.exec('rollback')\n      return true\n",
      ),
    ],
    caughtBy: { file: 'race/crash.test.ts', title: unknown },
  },
  {
    rule: 'billing.unpaid',
    removes: 'reasoning of a turn without a reply counts',
    edits: [
      edit('if (bytes === 0) return\n    this.speaking()\n    this.generated(bytes)\n', 'if (bytes === 0) return\n    this.speaking()\n'),
    ],
    caughtBy: { file: 'spec/unpaid.test.ts', title: 'billing.unpaid: a model that generates only reasoning until the deadline' },
  },
  {
    rule: 'billing.unpaid',
    removes: 'a failed attempt counts',
    edits: [edit('    this.#failedBytes += this.#generatedBytes\n')],
    caughtBy: { file: 'spec/unpaid.test.ts', title: 'billing.unpaid: what a failed attempt reasoned counts' },
  },
  {
    rule: 'billing.usage-missing',
    removes: 'an estimate has the reasoning',
    edits: [edit('Math.min(maxOutputTokens, tokensOfBytes(generatedBytes))', '0')],
    caughtBy: { file: 'spec/billing.test.ts', title: 'billing.usage-missing: the estimate has the reasoning' },
  },
  {
    rule: 'billing.usage-missing',
    removes: 'a reply without usage is estimated: it counts as nothing',
    edits: [
      edit(
        'const estimate = estimateOf(asked, text, toolCalls, generatedBytes)',
        'const estimate = { ...estimateOf(asked, text, toolCalls, generatedBytes), promptTokens: 0, completionTokens: 0 }',
      ),
    ],
    caughtBy: { file: 'spec/billing.test.ts', title: 'billing.usage-missing: absent usage' },
  },
  {
    rule: 'billing.usage-missing',
    removes: 'an estimate is marked',
    edits: [edit('isEstimated: !isReported ||', 'isEstimated:')],
    caughtBy: { file: 'spec/billing.test.ts', title: 'billing.usage-missing: absent usage' },
  },
  {
    rule: 'billing.usage-missing',
    removes: 'what was reported counts, and only the rest is estimated',
    edits: [edit('if (!reported) return { usage: estimate, isEstimated: true }', 'return { usage: estimate, isEstimated: true }')],
    caughtBy: { file: 'unit/call-usage.test.ts', title: 'billing.usage-missing: of a complete reply' },
  },
  {
    rule: 'turn.cancel',
    removes: 'a cancelled reply is not charged for the failed attempts before it',
    edits: [
      edit(
        'this.#unfinished = this.#usageOfUnfinished(asked, this.#generatedBytes, reportsOf(this.#soFar))\n    this.failAttempt()',
        'this.failAttempt()\n    this.#unfinished = this.#usageOfUnfinished(asked, this.#failedBytes, this.#failedReports)',
      ),
    ],
    caughtBy: { file: 'unit/call-usage.test.ts', title: 'turn.cancel billing.unpaid: failed attempts count as unpaid' },
  },
  {
    rule: 'turn.cancel',
    removes: 'a cancel is charged for what the provider reported',
    edits: [edit('onReports: (soFar) => steps.readReports(soFar),', '')],
    caughtBy: { file: 'spec/token-kinds.test.ts', title: 'turn.cancel billing.token-kinds: a turn that is cancelled' },
  },
  {
    rule: 'turn.states',
    removes: 'a turn whose model is unavailable is released, not failed for good',
    edits: [
      edit("fail(turn, 'released', 'service_unavailable', result)", "fail(turn, 'failed', 'service_unavailable', result)", {
        at: 'turn.states-2',
      }),
    ],
    caughtBy: {
      file: states,
      title: "fault.model-unavailable turn.states: released: the model's side failed; no charge, no hold, no history",
    },
  },
  {
    rule: 'turn.states',
    removes: 'a reply that cannot be used is final',
    edits: [edit("return fail(turn, 'failed', 'internal_error', result)", "return fail(turn, 'released', 'internal_error', result)")],
    caughtBy: { file: states, title: 'fault.model-reply-empty turn.states: failed: no text after one more try is final' },
  },
  {
    rule: 'turn.states',
    removes: 'a request that the model side refuses is not sent again',
    edits: [edit("error.kind !== 'unavailable' || ", '')],
    caughtBy: { file: 'unit/retry.test.ts', title: 'turn.states: a refused request' },
  },
  {
    rule: 'turn.states',
    removes: "a released turn's text stays out of the history",
    edits: [
      edit(
        '  sql.releaseHold.run(hold - charged, reserved, turn.owner_id!)\n',
        `  sql.releaseHold.run(hold - charged, reserved, turn.owner_id!)
  const id = turn.request_id as string
  const at = Number(sql.findConversationById.get(turn.conversation_id!)!.message_count)
  sql.insertMessage.run('msg_u' + id, turn.conversation_id!, at + 1, 'user', turn.message!, turn.message_tokens!, id, 0)
  sql.insertMessage.run('msg_a' + id, turn.conversation_id!, at + 2, 'assistant', '', 0, id, 0)
  sql.growConversation.run(turn.message_tokens!, 0, turn.conversation_id!)\n`,
      ),
    ],
    caughtBy: {
      file: states,
      title: "fault.model-unavailable turn.states: released: the model's side failed; no charge, no hold, no history",
    },
  },
  {
    rule: 'turn.states',
    removes: 'a retry of a released turn runs under its request id',
    edits: [
      edit('    return undefined\n', '    sql.clearKey.run(requestId)\n      return undefined\n', { at: 'turn.states-3' }),
      edit('  const released = record\n', '  const released = undefined as Row | undefined\n', { at: 'idempotency.replay-3' }),
    ],
    caughtBy: {
      file: states,
      title: "fault.model-unavailable turn.states: released: the model's side failed; no charge, no hold, no history",
    },
  },
  {
    rule: 'turn.states',
    removes: 'an extension that does not fit ends the run',
    edits: [edit("return outcome?.kind === 'advanced'", 'return true')],
    caughtBy: { file: states, title: 'turn.states: released: an extension of the hold that does not fit is' },
  },
  {
    rule: 'billing.hold',
    removes: 'a further round extends the hold',
    edits: [edit('if (more > 0n) {', 'if (more > 10n ** 18n) {')],
    caughtBy: { file: suite, title: 'billing.hold: advance journals a step and extends the hold, both or neither' },
  },
  {
    rule: 'billing.hold',
    removes: 'an extension of the hold fits the balance',
    edits: [edit('sql.takeHold.run(more, turn.owner_id!, more)', 'sql.takeHold.run(more, turn.owner_id!, 0n)')],
    caughtBy: { file: suite, title: 'billing.hold: a batch of advances succeeds and fails item by item' },
  },
  {
    rule: 'retry.continues',
    removes: 'a run that continues keeps its version',
    edits: [edit('continued?.agent_version ?? null', 'null')],
    caughtBy: { file: suite, title: 'retry.continues: a finished side effect keeps version, price' },
  },
  {
    rule: 'retry.continues',
    removes: 'only a finished side effect makes a retry continue',
    edits: [edit('if (item.finishedSideEffects && turn', 'if (turn')],
    caughtBy: { file: suite, title: "retry.continues: without a finished side effect the retry starts over on the agent's" },
  },
  {
    rule: 'retry.continues',
    removes: 'a retry is handed the journal from the run that it continues, not from the first',
    edits: [edit('readJournal(sql, requestId, continued.continues_from!)', 'readJournal(sql, requestId, 1)')],
    caughtBy: { file: suite, title: 'retry.continues: the journal counts from the first run with a finished side effect' },
  },
  {
    rule: 'retry.continues',
    removes: 'recovery is handed the journal of the runs before, too',
    edits: [edit('orphan.continues_from ?? orphan.run!', 'orphan.run!', { at: 'retry.continues' })],
    caughtBy: { file: suite, title: 'retry.continues: the journal counts from the first run with a finished side effect' },
  },
  {
    rule: 'retry.continues',
    removes: 'a finished call that an earlier run has stored is stored once',
    edits: [edit('const firstRun = turn.continues_from ?? turn.run!', 'const firstRun = turn.run!', { at: 'retry.continues-2' })],
    caughtBy: { file: suite, title: 'retry.continues: the journal counts from the first run with a finished side effect' },
  },
  {
    rule: 'retry.continues',
    removes: 'a journal is kept longer than the record that a retry needs',
    edits: [edit('and t.ended_at <= $2 order', "and (t.state <> 'running' or t.ended_at <= $2) order")],
    caughtBy: { file: suite, title: 'retry.continues: a journal lasts as long as a retry may need it' },
  },
  {
    rule: 'unavailable.unknown',
    removes: 'a full process says service_unavailable',
    edits: [
      edit(
        "rejected++\n    return { kind: 'refused', code: 'service_unavailable' }",
        "rejected++\n    return { kind: 'refused', code: 'internal_error' }",
      ),
    ],
    caughtBy: { file: states, title: 'unavailable.unknown: a full process answers 503 and still replays; TURNKEEP_MAX_TURNS' },
  },
  {
    rule: 'unavailable.unknown',
    removes: 'a caller gets an error if a settlement cannot be stored',
    edits: [
      edit(
        "    turn.finish({ kind: 'failed', code: 'service_unavailable', state: null })\n  }\n\n  async function generate",
        "    turn.finish({ kind: 'failed', code: 'internal_error' })\n  }\n\n  async function generate",
      ),
    ],
    caughtBy: { file: 'race/crash.test.ts', title: unknown },
  },
  {
    rule: 'turn.errors',
    removes: 'a run without a reply is stored as an error',
    edits: [edit('  if (end.causeKind !== null) sql.insertError.run(turn.request_id!, turn.run!, end.causeKind, now)\n')],
    caughtBy: { file: 'spec/usage.test.ts', title: 'turn.errors: every run without a reply is one error with its cause' },
  },
  {
    rule: 'turn.errors',
    removes: 'a run without a reply is counted by its cause in the metrics',
    edits: [edit('          if (ending.causeKind) errors.labels(ending.causeKind).inc()\n')],
    caughtBy: { file: 'spec/usage.test.ts', title: 'turn.errors: every run without a reply is one error with its cause' },
  },
  {
    rule: 'billing.usage-impossible',
    removes: 'token counts that a provider cannot have used are limited',
    edits: [edit('answer.usage && believedUsage(answer.usage, bound)', 'answer.usage')],
    caughtBy: {
      file: 'spec/billing.test.ts',
      title: 'billing.usage-impossible: absurd counts of a provider are in no report, charge or metric',
    },
  },
  {
    rule: 'log.cause-kind',
    removes: 'the words of a provider stay out of the log',
    edits: [edit('const { cause, causeKind, logCause = cause } = why', 'const { cause, causeKind } = why\n    const logCause = cause')],
    caughtBy: {
      file: 'spec/failure-causes.test.ts',
      title: 'log.cause-kind: a model that answers with status 401 is logged as provider_401',
    },
  },
]
