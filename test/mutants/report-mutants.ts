/** Mutants of reports and end users: figures that do not add up, and data of the wrong end user. */
import { edit } from './mutant.ts'
import type { Mutant } from './mutant.ts'

const searchTest = 'store/conversation-search.test.ts'
const reportTest = 'spec/reports.test.ts'
const endUserTest = 'spec/end-users.test.ts'
const divided = { file: reportTest, title: 'billing.reports: a month is divided by any groups' }

export const reportMutants: Mutant[] = [
  {
    rule: 'billing.reports',
    removes: 'a page that is read from conversations has what was written off',
    edits: [edit('coalesce(t.written_off, 0) as written_off', '0 as written_off')],
    caughtBy: { file: 'store/end-user-lines.test.ts', title: 'sqlite: billing.reports: lines of end users are the same' },
  },
  {
    rule: 'billing.reports',
    removes: 'a page that is read from conversations has a line for each conversation of an erased end user',
    edits: [edit("case when c.external_user_id is null then c.id else '' end as k5", "case when c.id is null then c.id else '' end as k5")],
    caughtBy: { file: 'store/end-user-lines.test.ts', title: 'sqlite: billing.reports: lines of end users are the same' },
  },
  {
    rule: 'billing.reports',
    removes: 'the end of a period is not part of it',
    edits: [edit('${ended} < ${values.add(to)}`', '${ended} <= ${values.add(to)}`', { at: 'billing.reports' })],
    caughtBy: { file: reportTest, title: 'billing.reports: a line includes the turn that ends at its first millisecond' },
  },
  {
    rule: 'billing.reports',
    removes: 'erased end users stay separate lines',
    edits: [edit("by('end_user') && `case when c.external_user_id is null then c.id else '' end`,", 'false,')],
    caughtBy: { file: reportTest, title: 'billing.reports: an invoice of a past month stays the same' },
  },
  {
    rule: 'billing.reports',
    removes: 'a page continues after the last line',
    edits: [edit("compareKey('>', after, values)", "compareKey('>=', after, values)", { at: 'billing.reports-2' })],
    caughtBy: divided,
  },
  {
    rule: 'conversation.search',
    removes: 'a page examines a limited amount',
    edits: [edit('<= maxWork ||', '<= maxWork * 99 ||', { at: 'conversation.search' })],
    caughtBy: { file: searchTest, title: 'conversation.search: a page examines a limited amount' },
  },
  {
    rule: 'conversation.search',
    removes: 'a conversation that is larger than what a page examines is examined alone',
    edits: [edit(' || (index === 0 && before === wanted.before)', '')],
    caughtBy: { file: searchTest, title: 'conversation.search: a page examines a limited amount' },
  },
  {
    rule: 'conversation.search',
    removes: 'the message of a turn without a reply is searched',
    edits: [edit("${matchesText(sql.engine, 't.message', pattern)} or ", '')],
    caughtBy: { file: searchTest, title: 'conversation.search: a text is found in messages, replies' },
  },
  {
    rule: 'conversation.search',
    removes: 'no character is a wildcard',
    edits: [edit('/[*?[]/.test(character)', 'false')],
    caughtBy: { file: searchTest, title: 'conversation.search: upper and lower case of every script match' },
  },
  {
    rule: 'conversation.search',
    removes: 'letters match in upper and lower case',
    edits: [edit('character.toLowerCase(), character.toUpperCase()', 'character')],
    caughtBy: { file: searchTest, title: 'conversation.search: upper and lower case of every script match' },
  },
  {
    rule: 'conversation.search',
    removes: 'texts need the permission conversations',
    edits: [edit('text !== undefined || excerpts !== undefined', 'false')],
    caughtBy: {
      file: 'spec/conversation-search.test.ts',
      title: 'conversation.search audit.reads: texts need the permission conversations',
    },
  },
  {
    rule: 'audit.reads',
    removes: 'a search in texts is recorded',
    edits: [edit('(text !== undefined || excerpts)', 'excerpts')],
    caughtBy: {
      file: 'spec/conversation-search.test.ts',
      title: 'conversation.search audit.reads: texts need the permission conversations',
    },
  },
  {
    rule: 'export.csv',
    removes: 'formulas are marked',
    edits: [edit("/^['=+\\-@", "/^['")],
    caughtBy: { file: reportTest, title: 'export.csv: what a spreadsheet would run is marked' },
  },
  {
    rule: 'export.csv',
    removes: 'the subject of an audit entry is marked',
    edits: [edit('asText(entry.subjectId)', 'entry.subjectId', { at: 'export.csv' })],
    caughtBy: { file: 'spec/audit.test.ts', title: 'export.csv: the ID of a passkey that a spreadsheet would run' },
  },
  {
    rule: 'export.csv',
    removes: 'a text that starts with an apostrophe is marked, too',
    edits: [edit("/^['=+\\-@", '/^[=+\\-@')],
    caughtBy: { file: reportTest, title: 'export.csv: what a spreadsheet would run is marked' },
  },
  {
    rule: 'end-users',
    removes: 'only the turns of the agent count',
    edits: [edit(' and t.agent_id = ${values.add(agentId)} and c.id', ' and c.id')],
    caughtBy: { file: endUserTest, title: 'end-users: are listed by spend or last activity' },
  },
  {
    rule: 'end-users',
    removes: 'the detail is of all keys of the agent',
    edits: [edit("and c.external_user_id = $2'", "and c.external_user_id = $2 and k.playground = 1'", { at: 'end-users' })],
    caughtBy: {
      file: endUserTest,
      title: 'end-users: the list and the detail have spend and feedback, and the detail the conversation of each key',
    },
  },
  {
    rule: 'end-users.export',
    removes: 'each turn is exported once',
    edits: [edit('t.request_id > $2', 't.request_id >= $2')],
    caughtBy: { file: endUserTest, title: 'end-users.export: more than one page of messages and turns is exported once' },
  },
  {
    rule: 'end-users.export',
    removes: 'the message of a turn without a reply is exported',
    edits: [edit("case when t.state = 'completed' then null else t.message end", 'cast(null as text)')],
    caughtBy: { file: endUserTest, title: 'end-users.export: has every text and figure of the end user' },
  },
]
