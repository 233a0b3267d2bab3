/** Mutants of the admission transaction and its parameters: records, order, holds, busy conversations. */
import { edit } from './mutant.ts'
import type { Mutant } from './mutant.ts'

const suite = 'store/sqlite.test.ts'
const oneAnswer = 'spec/one-answer.test.ts'
const tooLong = 'order.validation: a message that is too long is refused after the stored reply of the same'

export const admissionMutants: Mutant[] = [
  {
    rule: 'order.admission',
    removes: 'a replay comes before the busy check',
    edits: [
      edit(
        '  const record = findLiveRecord(sql, now, item)\n',
        `  const record = findLiveRecord(sql, now, item)
  const other = sql.findConversation.get(item.apiKeyId, item.externalUserId)
  if (other && sql.findRunning.get(other.id!) && record?.state !== 'running') return { kind: 'conversation_busy' }\n`,
      ),
    ],
    caughtBy: { file: suite, title: 'order.admission: the record, then the agent, then the conversation, then the balance' },
  },
  {
    rule: 'order.admission',
    removes: "the record comes before the agent's state",
    edits: [
      edit(
        '  const record = findLiveRecord(sql, now, item)\n',
        `  const record = findLiveRecord(sql, now, item)
  if (sql.findAgent.get(null, item.agentId)?.enabled === 0n) return { kind: 'agent_disabled' }\n`,
      ),
    ],
    caughtBy: { file: suite, title: 'order.admission: the record, then the agent, then the conversation, then the balance' },
  },
  {
    rule: 'order.admission',
    removes: 'the agent comes before the conversation',
    edits: [
      edit(
        '  const agent = sql.findAgent.get(continued?.agent_version ?? null, item.agentId)\n',
        `  const early = sql.findConversation.get(item.apiKeyId, item.externalUserId)
  if (early && sql.findRunning.get(early.id!)) return { kind: 'conversation_busy' }
  const agent = sql.findAgent.get(continued?.agent_version ?? null, item.agentId)\n`,
      ),
    ],
    caughtBy: { file: suite, title: 'order.admission: the record, then the agent, then the conversation, then the balance' },
  },
  {
    rule: 'order.validation',
    removes: 'what was answered is answered again, also where the agent takes no message as long any more',
    edits: [
      edit(
        '  const record = findLiveRecord(sql, now, item)\n',
        `  const takes = sql.findAgent.get(null, item.agentId)?.max_message_length ?? 32_000n
  if (item.messageLength > takes) return { kind: 'message_too_long', longest: Number(takes) }
  const record = findLiveRecord(sql, now, item)\n`,
      ),
    ],
    caughtBy: { file: suite, title: tooLong },
  },
  {
    rule: 'order.validation',
    removes: 'a released turn runs again only where its message still fits',
    edits: [edit('if (item.messageLength > longest)', 'if (!isSame && item.messageLength > longest)')],
    caughtBy: { file: suite, title: tooLong },
  },
  {
    rule: 'order.validation',
    removes: 'a message that is too long is not a conflict',
    edits: [edit('if (item.messageLength > longest)', 'if ((!record || isSame) && item.messageLength > longest)')],
    caughtBy: { file: suite, title: tooLong },
  },
  {
    rule: 'order.validation',
    removes: 'a message that is too long is not an overload',
    edits: [edit('if (item.messageLength > longest)', 'if (item.mayRun && item.messageLength > longest)')],
    caughtBy: { file: suite, title: tooLong },
  },
  {
    rule: 'order.validation',
    removes: 'the agent that is gone leaves the usual length',
    edits: [edit(': defaultMaxMessageLength\n', ': Infinity\n', { at: 'order.validation-4' })],
    caughtBy: { file: suite, title: tooLong },
  },
  {
    rule: 'order.validation',
    removes: 'a length is counted in code points',
    edits: [edit('    count--\n    at++\n')],
    caughtBy: {
      file: 'spec/4-1-chat.test.ts',
      title: 'order.validation: a message may have as many code points as the agent currently allows',
    },
  },
  {
    rule: 'idempotency.fingerprint',
    removes: 'the lengths before the two fields',
    edits: [edit('  lengths.writeUInt32BE(user.length, 0)\n  lengths.writeUInt32BE(text.length, 4)\n')],
    caughtBy: {
      file: 'unit/fingerprint.test.ts',
      title: 'idempotency.fingerprint: lengths keep the two fields apart, and nothing is normalized',
    },
  },
  {
    rule: 'idempotency.fingerprint',
    removes: 'no normalisation: texts that look alike are one request',
    edits: [edit('Buffer.from(message)', "Buffer.from(message.normalize('NFC'))", { at: 'idempotency.fingerprint' })],
    caughtBy: {
      file: 'unit/fingerprint.test.ts',
      title: 'idempotency.fingerprint: lengths keep the two fields apart, and nothing is normalized',
    },
  },
  {
    rule: 'idempotency.fingerprint',
    removes: 'the end user is part of what makes a request the same',
    edits: [edit('[lengths, user, text]', '[lengths, text]')],
    caughtBy: { file: 'unit/fingerprint.test.ts', title: 'idempotency.fingerprint: equal texts have equal fingerprints' },
  },
  {
    rule: 'idempotency.conflict',
    removes: 'another body conflicts at all',
    edits: [
      edit('Buffer.from(item.fingerprint)', 'item.mayRun !== undefined || Buffer.from(item.fingerprint)', { at: 'idempotency.conflict' }),
    ],
    caughtBy: { file: oneAnswer, title: 'fault.key-with-two-bodies idempotency.conflict' },
  },
  {
    rule: 'idempotency.conflict',
    removes: 'the conflict is checked before the state',
    edits: [
      edit('Buffer.from(item.fingerprint)', "record.state === 'running' || Buffer.from(item.fingerprint)", { at: 'idempotency.conflict' }),
    ],
    caughtBy: {
      file: suite,
      title: 'idempotency.in-progress idempotency.conflict: a repeated key is in progress or conflicts while the first turn runs',
    },
  },
  {
    rule: 'turn.states',
    removes: 'a released record keeps its fingerprint',
    edits: [
      edit('Buffer.from(item.fingerprint)', "record.state === 'released' || Buffer.from(item.fingerprint)", { at: 'idempotency.conflict' }),
    ],
    caughtBy: { file: suite, title: 'turn.states: a released turn gives its hold back and runs again under its request_id' },
  },
  {
    rule: 'idempotency.replay',
    removes: 'a replay returns the first request ID',
    edits: [
      edit("return { kind: 'replay', reply }", "return { kind: 'replay', reply: { ...reply, requestId: reply.messageId } }", {
        at: 'idempotency.replay',
      }),
    ],
    caughtBy: { file: suite, title: 'billing.once idempotency.replay: settlement stores both messages and one charge' },
  },
  {
    rule: 'idempotency.replay',
    removes: 'a replay calls no model: it runs again under a new key',
    edits: [
      edit("    case 'completed':\n", "    case 'completed':\n      sql.clearKey.run(requestId)\n      return undefined\n", {
        at: 'idempotency.replay-2',
      }),
      edit('  const released = record\n', "  const released = record?.state === 'released' ? record : undefined\n", {
        at: 'idempotency.replay-3',
      }),
    ],
    caughtBy: {
      file: 'spec/4-2-stream.test.ts',
      title: 'idempotency.replay: a stream sends created, then completed with the stored result and no',
    },
  },
  {
    rule: 'idempotency.lifetime',
    removes: 'a record is kept for the whole 24 hours',
    edits: [edit('recordLifetimeMs = 24 *', 'recordLifetimeMs = 23 *', { at: 'idempotency.lifetime' })],
    caughtBy: {
      file: suite,
      title: 'idempotency.lifetime clock: a record is kept for 24 hours from the end of its turn and a running one never',
    },
  },
  {
    rule: 'idempotency.lifetime',
    removes: 'a record expires',
    edits: [edit('recordLifetimeMs = 24 *', 'recordLifetimeMs = 365 * 24 *', { at: 'idempotency.lifetime' })],
    caughtBy: {
      file: suite,
      title: 'idempotency.lifetime clock: a record is kept for 24 hours from the end of its turn and a running one never',
    },
  },
  {
    rule: 'idempotency.lifetime',
    removes: "the 24 hours are counted from the turn's end, not from its beginning",
    edits: [edit('        ended_at, erased_at', '        created_at as ended_at, erased_at', { at: 'idempotency.lifetime-2' })],
    caughtBy: {
      file: suite,
      title: 'idempotency.lifetime clock: a record is kept for 24 hours from the end of its turn and a running one never',
    },
  },
  {
    rule: 'idempotency.lifetime',
    removes: 'a running record never expires',
    edits: [
      edit('        ended_at, erased_at', '        coalesce(ended_at, created_at) as ended_at, erased_at', {
        at: 'idempotency.lifetime-2',
      }),
      edit("if (!record || record.state === 'running' || ", 'if (!record || '),
    ],
    caughtBy: {
      file: suite,
      title: 'idempotency.lifetime clock: a record is kept for 24 hours from the end of its turn and a running one never',
    },
  },
  {
    rule: 'idempotency.in-progress',
    removes: 'the same request waits while the first runs',
    edits: [edit("return { kind: 'idempotency_in_progress' }", 'return undefined')],
    caughtBy: {
      file: suite,
      title: 'idempotency.in-progress idempotency.conflict: a repeated key is in progress or conflicts while the first turn runs',
    },
  },
  {
    rule: 'conversation.busy',
    removes: 'the busy check',
    edits: [edit("  if (conversation && sql.findRunning.get(conversation.id!)) return { kind: 'conversation_busy' }\n")],
    caughtBy: { file: suite, title: 'conversation.busy: stores nothing for the rejected message and leaves its key usable' },
  },
  {
    rule: 'conversation.busy',
    removes: 'the busy check and its constraint',
    edits: [
      edit("  if (conversation && sql.findRunning.get(conversation.id!)) return { kind: 'conversation_busy' }\n"),
      edit("create unique index one_running_turn_per_conversation on turns (conversation_id) where state = 'running';\n", '', {
        within: 'src/store/sqlite/',
      }),
    ],
    caughtBy: { file: suite, title: 'conversation.busy: stores nothing for the rejected message and leaves its key usable' },
  },
  {
    rule: 'conversation.identity',
    removes: 'the API key is part of the identity',
    edits: [
      edit(
        "'select id, message_count, message_tokens from conversations where api_key_id = ? and external_user_id = ?'",
        "'select id, message_count, message_tokens from conversations where ? is not null and external_user_id = ?'",
      ),
    ],
    caughtBy: { file: suite, title: 'conversation.identity: one conversation per key and end user, no normalization' },
  },
  {
    rule: 'conversation.identity',
    removes: 'no trimming',
    edits: [
      edit(
        'sql.findConversation.get(item.apiKeyId, item.externalUserId)',
        'sql.findConversation.get(item.apiKeyId, item.externalUserId.trim())',
      ),
    ],
    caughtBy: { file: suite, title: 'conversation.identity: one conversation per key and end user, no normalization' },
  },
  {
    rule: 'balance_never_negative',
    removes: 'a hold is taken without looking at the balance',
    edits: [edit('where id = ? and balance - held - unpaid >= ?', 'where id = ? and ? is not null')],
    caughtBy: { file: suite, title: 'balance_never_negative: a balance for seven of a hundred admits exactly seven, item by item' },
  },
  {
    rule: 'balance_never_negative',
    removes: 'the balance is compared without what is already held',
    edits: [edit('where id = ? and balance - held - unpaid >= ?', 'where id = ? and balance - unpaid >= ?')],
    caughtBy: { file: suite, title: 'balance_never_negative: a balance for seven of a hundred admits exactly seven, item by item' },
  },
  {
    rule: 'billing.unpaid',
    removes: 'what turns without a reply used is not available',
    edits: [edit('where id = ? and balance - held - unpaid >= ?', 'where id = ? and balance - held >= ?')],
    caughtBy: { file: suite, title: 'billing.unpaid: what a turn without a reply used is reserved, never charged' },
  },
  {
    rule: 'billing.unpaid',
    removes: 'failures of the provider reserve nothing',
    edits: [
      edit(
        'kind === null || (!isOfProvider(kind) && callersCanCause[kind])',
        'kind === null || isOfProvider(kind) || callersCanCause[kind]',
      ),
    ],
    caughtBy: { file: suite, title: 'billing.unpaid: causes of the provider and of the service reserve nothing' },
  },
  {
    rule: 'billing.unpaid',
    removes: 'an adjustment reserves again what a credit has cleared',
    edits: [edit('return -amount < cleared ? amount : -cleared', 'return cleared - cleared')],
    caughtBy: { file: suite, title: 'billing.unpaid: an adjustment reserves again what a credit of the same amount has cleared' },
  },
  {
    rule: 'billing.unpaid',
    removes: 'a turn holds what an earlier one of its agent needed when the balance ran out',
    edits: [edit('max(bound, agent.min_hold as bigint)', 'bound')],
    caughtBy: { file: suite, title: 'billing.unpaid: after a turn ran out of balance, turns of its agent hold what it needed' },
  },
  {
    rule: 'billing.hold',
    removes: 'the history is in the bound',
    edits: [edit('Number(agent.fixed_tokens) + Number(window) +', 'Number(agent.fixed_tokens) +')],
    caughtBy: { file: suite, title: 'billing.hold: an admission holds the bound computed from stored numbers and leaves the' },
  },
  {
    rule: 'conversation.busy',
    removes: 'a refused admission holds nothing',
    edits: [
      edit("  if (conversation && sql.findRunning.get(conversation.id!)) return { kind: 'conversation_busy' }\n"),
      edit(
        "return { kind: 'insufficient_balance' }\n",
        "return { kind: 'insufficient_balance' }\n  if (conversation && sql.findRunning.get(conversation.id!)) return { kind: 'conversation_busy' }\n",
        { at: 'conversation.busy' },
      ),
    ],
    caughtBy: { file: suite, title: 'conversation.busy: stores nothing for the rejected message and leaves its key usable' },
  },
]
