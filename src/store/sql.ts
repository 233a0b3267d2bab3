/** The SQL of both backends, as the statements of queries/ use it. */

export type SqlValue = string | number | bigint | null | Uint8Array
export type Row = Record<string, SqlValue>

/** One transaction of a backend. `$1` parameters; integers come back as bigint on SQLite and may be number on PostgreSQL: map with Number(). */
export interface Sql {
  all(text: string, ...values: SqlValue[]): Promise<Row[]>
  /** Answers the number of rows changed. */
  run(text: string, ...values: SqlValue[]): Promise<number>
  /** The store's clock, epoch milliseconds. */
  now(): Promise<number>
  readonly engine: 'sqlite' | 'postgres'
}
