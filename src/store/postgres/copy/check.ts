/** The proof of a copy: reads everything back from the database in one snapshot and compares it with the source. Read-only. */
import { verify } from '../../queries/invariants.ts'
import type { Sql } from '../../sql.ts'
import { afterKey, createDigest, keyText, keyValues, lineOf, readSums } from './tables.ts'
import type { Digest, Table } from './tables.ts'
import { readPostgresSnapshot } from '../snapshot.ts'

/** `what`: a table, a sum, or an invariant that the copy violates. */
export type Difference = { what: string; source: string; copy: string }

export type Expected = { tables: Table[]; digests: ReadonlyMap<string, Digest>; sums: Readonly<Record<string, string>> }

// 64 MB at once for rows with the longest messages; half a megabyte for typical ones.
const rowsEach = 1_000
// A part of a document's content is half a megabyte as text.
const partsEach = 20

export async function checkCopy(
  url: string,
  { tables, digests, sums }: Expected,
  onRows: (table: string, rows: number) => void,
): Promise<{ invariants: number; differences: Difference[] }> {
  return readPostgresSnapshot(url, async (sql) => {
    const differences: Difference[] = []
    for (const table of tables) {
      const source = digests.get(table.name)!
      const copy = await digestTable(sql, table, (rows) => onRows(table.name, rows))
      if (copy.rows !== source.rows || copy.sha256 !== source.sha256)
        differences.push({ what: `table ${table.name}`, source: described(source), copy: described(copy) })
    }
    for (const [name, sum] of Object.entries(await readSums(sql)))
      if (sum !== sums[name]) differences.push({ what: `sum of ${name}`, source: String(sums[name]), copy: sum })
    const verdicts = await verify(sql)
    for (const { name, rows } of verdicts)
      if (rows.length > 0) differences.push({ what: `invariant ${name}`, source: 'holds', copy: `${rows.length} rows break it` })
    return { invariants: verdicts.length, differences }
  })
}

async function digestTable(sql: Sql, table: Table, onRows: (rows: number) => void): Promise<Digest> {
  const digest = createDigest()
  const keys = table.key.map(({ name }) => name).join(', ')
  const most = table.name === 'content_parts' ? partsEach : rowsEach
  for (let after: string | null = null; ;) {
    const text = `select ${keys}, ${lineOf(table, 'postgres')} as line from ${table.name} ${afterKey(table, 'postgres', after !== null)} limit ${most}`
    const rows = await sql.all(text, ...(after === null ? [] : keyValues(table, after)))
    for (const { line } of rows) digest.add(line as string)
    onRows(rows.length)
    if (rows.length < most) return digest.end()
    after = keyText(table, rows.at(-1)!)
  }
}

const described = ({ rows, sha256 }: Digest): string => `${rows} rows, SHA-256 ${sha256}`
