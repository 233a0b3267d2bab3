/**
 * What is known of one read or write outside the turn path, said once, beside its SQL: its function, how it is restricted (`operator.scope`),
 * what the audit log says of it (`audit`, `audit.reads`), which queue it waits in or which caches it changes, and its failpoints. reads.ts and
 * writes.ts have them all by name. The admin API can call only what is declared with `read` and `write`. `serviceRead` and `serviceWrite` are
 * for what only the server itself uses.
 */
import type { FailpointName } from '../../failpoints.ts'
import type { Sql } from '../sql.ts'
import type { Author, NewAuditEntry, Reading } from './audit.ts'
import type { Rule } from './scope.ts'

/**
 * Those in different queues never wait for each other. `key`: the look-up of API keys, for which every request waits. `search`: some
 * milliseconds of work, as for searches of knowledge bases, large replies and pages of messages. `report`: may scan millions of rows.
 */
export type Queue = 'key' | 'look-up' | 'search' | 'report'

type Run = (sql: Sql, ...args: never[]) => unknown
type ArgsOf<Of extends Run> = Of extends (sql: Sql, ...args: infer Args) => unknown ? Args : never
type ResultOf<Of extends Run> = Awaited<ReturnType<Of>>

export type Read<Of extends Run = Run> = { run: Of; queue: Queue }

export type AdminRead<Of extends Run = Run> = Read<Of> & {
  scope: Rule<ArgsOf<Of>, ResultOf<Of>>
  /**
   * Which texts of end users a result has: messages, replies, steps of turns and comments. Names of end users and the causes of failures do
   * not count. Null: it never has any.
   */
  readings: ((result: ResultOf<Of>, ...args: ArgsOf<Of>) => Reading[]) | null
}

/** A read of the admin API. By default, it is a look-up. */
export const read = <Of extends Run>(
  run: Of,
  about: Pick<AdminRead<Of>, 'scope' | 'readings'> & { queue?: Exclude<Queue, 'look-up'> },
): AdminRead<Of> => ({ queue: 'look-up', ...about, run })

export const serviceRead = <Of extends Run>(run: Of, queue: Queue = 'look-up'): Read<Of> => ({ run, queue })

export type Write<Of extends Run = Run, Before = unknown> = {
  run: Of
  /** Reads what the audit entries need from before the write, within its transaction. Only called for a write by an author. */
  before?: (sql: Sql, args: ArgsOf<Of>, author: Author) => Promise<Before>
  /** The audit entries of a write by an author, empty if nothing changed. Null: never in the audit log. */
  audit: ((result: ResultOf<Of>, args: ArgsOf<Of>, before: Before) => NewAuditEntry[]) | null
  /** Whether it changes what processes cache: agents, keys, providers and what a search finds. */
  changesCaches: boolean
  failpoints: [beforeCommit: FailpointName, afterCommit: FailpointName]
}

export type AdminWrite<Of extends Run = Run, Before = unknown> = Write<Of, Before> & { scope: Rule<ArgsOf<Of>, ResultOf<Of>> }

type About<Whole extends { failpoints: unknown }> = Omit<Whole, 'run' | 'failpoints'> & Partial<Pick<Whole, 'failpoints'>>

const failpoints: Write['failpoints'] = ['write.before-commit', 'write.after-commit']

/** A write of the admin API. */
export const write = <Of extends Run, Before>(run: Of, about: About<AdminWrite<Of, Before>>): AdminWrite<Of, Before> => ({
  failpoints,
  ...about,
  run,
})

export const serviceWrite = <Of extends Run, Before>(run: Of, about: About<Write<Of, Before>>): Write<Of, Before> => ({
  failpoints,
  ...about,
  run,
})

/** The functions of operations by name. An editor finds the declaration of each behind its name. */
export type Runs<Operations> = { [Name in keyof Operations]: Operations[Name] extends { run: infer Of } ? Of : never }

type AdminNames<Operations> = {
  [Name in keyof Operations]: Operations[Name] extends { scope: unknown } ? Name : never
}[keyof Operations]

/** Those that the admin API can call. */
export type OfAdmin<Operations> = Pick<Operations, AdminNames<Operations>>

/** Leaves out what was declared without a scope. */
export const ofAdmin = <Operations extends Record<string, object>>(operations: Operations): OfAdmin<Operations> =>
  Object.fromEntries(Object.entries(operations).filter(([, operation]) => 'scope' in operation)) as OfAdmin<Operations>
