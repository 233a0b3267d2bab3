/** The SQL interface of both backends, as the statements of queries/ use it. */

export type SqlValue = string | number | bigint | null | Uint8Array
export type Row = Record<string, SqlValue>

/**
 * One transaction of a backend, with `$1` parameters. Integers are returned as bigint on SQLite and may be numbers on PostgreSQL: convert
 * with Number().
 */
export interface Sql {
  all(text: string, ...values: SqlValue[]): Promise<Row[]>
  /** Returns the number of changed rows. */
  run(text: string, ...values: SqlValue[]): Promise<number>
  /** The store's clock, epoch milliseconds. */
  now(): Promise<number>
  readonly engine: 'sqlite' | 'postgres'
}
