/**
 * Thousands of rows, written directly into a database that no server uses: copies of rows that the service wrote, with other names and
 * times. With SQL, because a real turn takes milliseconds.
 */
import type { DatabaseSync } from 'node:sqlite'

/** SQL that makes an ID of fixed length from a number, so that IDs have the order of their numbers. */
export const padded = (prefix: string, number: string): string => `'${prefix}' || substr(cast(10000000 + ${number} as text), 2)`

type Copies = {
  times: number
  /** SQL by column, in which `s` is the row that is copied and `n.i` the number of the copy, from 0. Other columns are as in the row. */
  changes: Record<string, string>
  /** Which rows are copied. */
  where?: string
}

export function copyRows(db: DatabaseSync, table: string, { times, changes, where = 'true' }: Copies): void {
  const names = db
    .prepare('select name from pragma_table_info(?)')
    .all(table)
    .map(({ name }) => String(name))
  db.exec(`insert into ${table} (${names.join(', ')})
    select ${names.map((name) => changes[name] ?? `s.${name}`).join(', ')}
    from (select * from ${table} where ${where}) as s,
      (with recursive numbers (i) as (select 0 union all select i + 1 from numbers where i < ${times - 1}) select i from numbers) as n`)
}
