/** Mutants of the audit log: changes and readings without an entry, and entries that contain too much or too little. */
import { edit } from './mutant.ts'
import type { Mutant } from './mutant.ts'

const changes = 'spec/audit.test.ts'
const reads = 'spec/audit-reads.test.ts'
const everyRoute = 'audit.reads: every route of the description whose answer contains a text'
const noSecret = { file: 'spec/audit-private.test.ts', title: 'audit audit.changes: no entry of any write contains a secret' }

const trials = 'spec/audit-trials.test.ts'
const trialTitle = 'audit.trials: a trial of a tool and a message in the playground are in the log with their author'

export const auditMutants: Mutant[] = [
  {
    rule: 'audit',
    removes: 'every change has its entry',
    edits: [edit('  if (!author || !audit) return', "  if (!author || !audit || name === 'rotateApiKey') return")],
    caughtBy: { file: changes, title: 'audit: every change has one entry with its field names and request id' },
  },
  {
    rule: 'audit',
    removes: 'the erasure of limits has its entry',
    edits: [edit("            ...when(outcome.limitsOf, 'erase', 'end_user_limits', outcome.limitsOf ?? ''),\n")],
    caughtBy: { file: 'spec/spend-limits.test.ts', title: 'billing.spend-limit erase audit: limits of an end user without a conversation' },
  },
  {
    rule: 'audit',
    removes: 'no entry is ever changed',
    edits: [
      edit("create trigger audit_is_append_only_update before update on audit begin select raise(abort, 'audit_is_append_only'); end;\n"),
    ],
    caughtBy: { file: 'store/sqlite.test.ts', title: 'sqlite: invalid states are rejected by a constraint, whoever writes' },
  },
  {
    rule: 'audit',
    removes: 'entries of another author are not listed',
    edits: [edit('    author_id: filter.authorId,\n', '', { at: 'audit' })],
    caughtBy: { file: changes, title: 'audit: filters by author, verb, noun, subject and time' },
  },
  {
    rule: 'audit.changes',
    removes: 'the values before a change are read before it',
    edits: [
      edit('  const earlier = await before?.(sql, args, author)\n'),
      edit(
        '  const result = await run(sql, ...args)\n',
        '  const result = await run(sql, ...args)\n  const earlier = await before?.(sql, args, author)\n',
      ),
    ],
    caughtBy: { file: changes, title: 'audit.changes: an entry has the values before and after' },
  },
  {
    rule: 'audit.changes',
    removes: 'the name of an end user is not shown',
    edits: [edit("audit: 'withheld',", "audit: 'shown',")],
    caughtBy: noSecret,
  },
  {
    rule: 'audit.changes',
    removes: 'the path of a webhook is not shown',
    edits: [edit('withheld(value)', 'String(value)', { at: 'audit.changes' })],
    caughtBy: noSecret,
  },
  {
    rule: 'audit.changes',
    removes: 'the query of a provider is not shown',
    edits: [edit('`${url.origin}${url.pathname}`', 'address', { at: 'audit.changes-2' })],
    caughtBy: noSecret,
  },
  {
    rule: 'audit.changes',
    removes: 'the fields of a tool are not shown',
    edits: [edit('apiName(field)}`, withheld(value)]', 'apiName(field)}`, value as Shown]')],
    caughtBy: noSecret,
  },
  {
    rule: 'audit.changes',
    removes: 'long texts are cut',
    edits: [edit('const end = start + maxShownText', 'const end = text.length')],
    caughtBy: { file: changes, title: 'audit.changes: of long texts, at most 500 characters' },
  },
  {
    rule: 'audit.reads',
    removes: 'the messages of a conversation are texts',
    edits: [
      edit(
        'readings: (page, { conversationId }) => readingIf(page && page.items.length > 0,',
        'readings: (_, { conversationId }) => readingIf(false,',
        { at: 'audit.reads' },
      ),
    ],
    caughtBy: { file: reads, title: everyRoute },
  },
  {
    rule: 'audit.reads',
    removes: 'the stream of a turn is recorded',
    edits: [edit('      await request.admin.recordTurnReading(requestId)\n', '', { at: 'audit.reads-2' })],
    caughtBy: { file: reads, title: everyRoute },
  },
  {
    rule: 'audit.reads',
    removes: 'the entry is stored before the text is returned',
    edits: [edit('await record(actor, one)\n    return result', 'void record(actor, one).catch(() => undefined)\n    return result')],
    caughtBy: { file: reads, title: 'audit.reads: if the entry cannot be stored, the response is an error without a text' },
  },
  {
    rule: 'audit.reads',
    removes: 'two readings at once are one entry',
    edits: [edit('(isRecent ? [] : [reading])', '(isRecent && false ? [] : [reading])')],
    caughtBy: { file: 'store/sqlite.test.ts', title: 'audit.reads: readings of one author and subject at the same time are one entry' },
  },
  {
    rule: 'audit.trials',
    removes: 'a trial of a tool is recorded',
    edits: [edit('      await store.write.recordTrial({ agentId, tool })\n')],
    caughtBy: { file: trials, title: trialTitle },
  },
  {
    rule: 'audit.trials',
    removes: 'a test of an MCP server that is not saved is recorded before it is called',
    edits: [edit('      await store.write.recordTrial({ agentId, tool: definition.name })\n')],
    caughtBy: { file: trials, title: 'audit.trials: if the entry cannot be stored, no tool is called and no message is sent' },
  },
  {
    rule: 'audit.trials',
    removes: 'a message in the playground is recorded',
    edits: [edit('            await store.write.recordTrial({ agentId, tool: null })\n', '', { at: 'audit.trials' })],
    caughtBy: { file: trials, title: trialTitle },
  },
  {
    rule: 'audit.trials',
    removes: 'a preview is recorded',
    edits: [edit('      await store.write.recordTrial({ agentId, tool: null })\n', '', { at: 'audit.trials-2' })],
    caughtBy: { file: 'spec/previews.test.ts', title: 'audit.trials: who runs a preview is in the log, and who reads the history in it' },
  },
  {
    rule: 'audit.trials',
    removes: 'the entry is stored before the tool is called',
    edits: [
      edit('await store.write.recordTrial({ agentId, tool })', 'void store.write.recordTrial({ agentId, tool }).catch(() => undefined)'),
    ],
    caughtBy: { file: trials, title: 'audit.trials: if the entry cannot be stored, no tool is called and no message is sent' },
  },
  {
    rule: 'audit.reads',
    removes: 'after 15 minutes, a reading has another entry',
    edits: [edit('15 * 60 * 1000', '60 * 60 * 1000', { at: 'audit.reads-3' })],
    caughtBy: { file: reads, title: 'audit.reads: readings of one author and subject within 15 minutes are one entry, also ten at once' },
  },
]
