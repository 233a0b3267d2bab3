/** Mutants of erasure: data that remains. */
import { edit } from './mutant.ts'
import type { Mutant } from './mutant.ts'

const erasureTest = 'spec/erasure.test.ts'
const gone = 'erase: history and replay are gone'

export const erasureMutants: Mutant[] = [
  {
    rule: 'erase',
    removes: 'a later erasure has a later time',
    edits: [edit("(integerOrNull(row!, 'newest') ?? 0) + 1)", "(integerOrNull(row!, 'newest') ?? 0) * 0)")],
    caughtBy: { file: 'store/sqlite.test.ts', title: 'erase: a later erasure has a later time' },
  },
  {
    rule: 'erase',
    removes: 'a replay of what was erased is 404',
    edits: [edit("  if (record.erased_at !== null) return { kind: 'erased' }\n")],
    caughtBy: { file: erasureTest, title: 'erase: a released and a failed turn lose their text' },
  },
  {
    rule: 'erase',
    removes: 'the messages go',
    edits: [edit("    messages += await sql.run('delete from messages where conversation_id = $1', id)\n")],
    caughtBy: { file: erasureTest, title: gone },
  },
  {
    rule: 'erase',
    removes: 'the next message opens a new conversation',
    edits: [edit('set external_user_id = null, message_count = 0,', 'set message_count = 0,')],
    caughtBy: { file: erasureTest, title: gone },
  },
  {
    rule: 'erase',
    removes: 'nothing is erased under a running turn',
    edits: [edit("    else if (idleMs === undefined) return { kind: 'busy' }\n", '    else found.push(id)\n')],
    caughtBy: { file: erasureTest, title: 'erase: 409 conflict while a turn runs' },
  },
  {
    rule: 'erase',
    removes: "the text leaves the store's files",
    edits: [edit("{ value: forget(this.#db, depth === 'vacuum' ? 'vacuum' : 'wal') }", "{ value: 'forgotten' }")],
    caughtBy: { file: erasureTest, title: 'erase: the bytes are gone from the database and its log' },
  },
]
