/**
 * Migrates an embedded store to PostgreSQL: copies everything into an empty database and then reads all of it back to prove that it
 * arrived. A copy that was killed continues where it stopped when it is run again. It succeeds only if counts, sums, every row and every
 * invariant match; until then no server starts on the copy. The source is never changed.
 */
import { checkCopy } from './postgres/copy/check.ts'
import type { Difference } from './postgres/copy/check.ts'
import { CopyRefused, openCopySource } from './postgres/copy/source.ts'
import type { CopySource } from './postgres/copy/source.ts'
import { keyText, readSums } from './postgres/copy/tables.ts'
import type { Digest, Table } from './postgres/copy/tables.ts'
import { openCopyTarget } from './postgres/copy/target.ts'
import type { CopyTarget } from './postgres/copy/target.ts'
import type { Row } from './sql.ts'

export { CopyRefused } from './postgres/copy/source.ts'

/** `rows` of `of`, in all tables together, are finished in this phase. */
export type CopyProgress = { phase: 'reading' | 'copying' | 'checking'; table: string; rows: number; of: number }

export type CopyOptions = {
  /** The data folder. */
  folder: string
  url: string
  onProgress(progress: CopyProgress): void
}

export type CopyReport = {
  /** `before`: this copy was finished earlier, and nothing was done now. */
  kind: 'done' | 'before' | 'different'
  tables: ({ name: string } & Digest)[]
  /** Rows that an interrupted earlier run had already copied. */
  found: number
  sums: Record<string, string>
  /** The number of invariants checked on the copy. Violated ones are in `differences`. */
  invariants: number
  differences: Difference[]
}

// Per commit: large enough that the flush of the disk does not matter, small enough that a killed copy loses little work.
const rowsEach = 2_000
const charactersEach = 4_000_000

/** Throws CopyRefused and SchemaRefused (one line for the operator), FolderInUse, StoreUnavailable. */
export async function copyToPostgres({ folder, url, onProgress }: CopyOptions): Promise<CopyReport> {
  const source = await openCopySource(folder)
  try {
    const of = source.tables.reduce((sum, table) => sum + source.count(table), 0)
    const counting = (phase: CopyProgress['phase']) => {
      let rows = 0
      return (table: string, more: number) => onProgress({ phase, table, rows: (rows += more), of })
    }
    const sums = await readSums(source.sql)
    await refuseBroken(source)
    const reading = counting('reading')
    const digests = new Map(source.tables.map((table) => [table.name, source.digest(table, (rows) => reading(table.name, rows))]))
    const target = await openCopyTarget(url, source.tables)
    try {
      const tables = [...digests].map(([name, digest]) => ({ name, ...digest }))
      const report = { tables, sums, differences: [] }
      const started = await takeUp(target, digests)
      if (started.finished) return { kind: 'before', found: of, invariants: 0, ...report }
      let before = 0
      for (const table of source.tables) {
        await copyTable(source, target, table, (rows) => onProgress({ phase: 'copying', table: table.name, rows: before + rows, of }))
        before += digests.get(table.name)!.rows
      }
      await target.settle()
      const checking = counting('checking')
      const { invariants, differences } = await checkCopy(url, { tables: source.tables, digests, sums }, checking)
      if (differences.length === 0) await target.finish()
      return { kind: differences.length === 0 ? 'done' : 'different', found: started.found, ...report, invariants, differences }
    } finally {
      await target.close()
    }
  } finally {
    source.close()
  }
}

async function refuseBroken(source: CopySource): Promise<void> {
  const broken = (await source.verify()).filter(({ rows }) => rows.length > 0).map(({ name }) => name)
  if (broken.length > 0)
    throw new CopyRefused(`the source database violates invariants (${broken.join(', ')}): \`turnkeep verify\` shows the rows`)
}

/** Starts, or continues an earlier run if the source has not changed at all. */
async function takeUp(target: CopyTarget, digests: Map<string, Digest>): Promise<{ finished: boolean; found: number }> {
  const progress = await target.progress()
  if (!progress) {
    await target.begin(digests)
    return { finished: false, found: 0 }
  }
  const { tables, finishedAt } = progress
  const finished = finishedAt !== null
  const names = new Set([...tables.keys(), ...digests.keys()])
  const changed = [...names].filter((name) => tables.get(name)?.sha256 !== digests.get(name)?.sha256)
  if (changed.length > 0 && finished) {
    throw new CopyRefused(
      `another copy into this database was finished on ${new Date(finishedAt).toISOString()}: create an empty one, and copy into that`,
    )
  }
  if (changed.length > 0) {
    throw new CopyRefused(
      `this folder has changed since the copy started (${changed.join(', ')}): a server was started on it in between, or it is another ` +
        'folder. Drop the database, create it again, and run this command again',
    )
  }
  if (!finished) await target.refuseServers()
  return { finished, found: [...tables.values()].reduce((sum, { copied }) => sum + copied, 0) }
}

async function copyTable(source: CopySource, target: CopyTarget, table: Table, tell: (rows: number) => void): Promise<void> {
  for (;;) {
    const { copied, lastKey } = await target.progressOf(table)
    tell(copied)
    let after = lastKey
    let rows = copied
    let alone = true
    for (const batch of batches(source.rows(table, after))) {
      const to = keyText(table, batch.at(-1)!)
      alone = await target.insert(table, batch, { after, to })
      if (!alone) break
      after = to
      rows += batch.length
      tell(rows)
    }
    // The last commit of a killed run may arrive after its progress was read, so read it again.
    if (alone) return
  }
}

function* batches(rows: Iterable<Row>): Generator<Row[]> {
  let batch: Row[] = []
  let characters = 0
  for (const row of rows) {
    batch.push(row)
    // Bytes are transferred as two characters each.
    for (const value of Object.values(row))
      characters += typeof value === 'string' ? value.length : value instanceof Uint8Array ? 2 * value.length : 0
    if (batch.length < rowsEach && characters < charactersEach) continue
    yield batch
    batch = []
    characters = 0
  }
  if (batch.length > 0) yield batch
}
