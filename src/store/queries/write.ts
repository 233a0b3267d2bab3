/** What is known of one write outside the turn path: its function, its audit entries, its caches and its failpoints. writes.ts has them all. */
import type { FailpointName } from '../../failpoints.ts'
import type { Sql } from '../sql.ts'
import type { Author, NewAuditEntry } from './audit.ts'

export type Write<Args extends unknown[], Result, Before> = {
  run: (sql: Sql, ...args: Args) => Result
  /** Reads what the audit entries need from before the write, within its transaction. Only called for a write by an author. */
  before?: (sql: Sql, args: Args, author: Author) => Promise<Before>
  /** The audit entries of a write by an author, empty if nothing changed. Null: never in the audit log. */
  audit: ((result: Awaited<Result>, args: Args, before: Before) => NewAuditEntry[]) | null
  /** Whether it changes what processes cache: agents, keys, providers and what a search finds. */
  changesCaches: boolean
  failpoints: [beforeCommit: FailpointName, afterCommit: FailpointName]
}
type About<Args extends unknown[], Result, Before> = Omit<Write<Args, Result, Before>, 'run' | 'failpoints'> &
  Partial<Pick<Write<Args, Result, Before>, 'failpoints'>>

export const write = <Args extends unknown[], Result, Before>(
  run: (sql: Sql, ...args: Args) => Result,
  about: About<Args, Result, Before>,
): Write<Args, Result, Before> => ({ failpoints: ['write.before-commit', 'write.after-commit'], ...about, run })

/** `[entry]` without fields, if something was done. */
export const when = (done: unknown, verb: string, noun: string, subjectId: string): NewAuditEntry[] =>
  done ? [{ verb, noun, subjectId }] : []
