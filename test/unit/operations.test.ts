/** The operations of the store, which are declared in many files and merged by name: no name is declared twice, and none is left out. */
import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { reads } from '../../src/store/queries/reads.ts'
import { writes } from '../../src/store/queries/writes.ts'

const folder = join(import.meta.dirname, '../../src/store/queries')

/** The names in all exports such as `ownerReads`, of every file but the one that merges them. */
async function declared(kind: 'Reads' | 'Writes'): Promise<string[]> {
  const names: string[] = []
  for (const file of globSync('**/*.ts', { cwd: folder })) {
    if (file === 'reads.ts' || file === 'writes.ts') continue
    const exports = (await import(pathToFileURL(join(folder, file)).href)) as Record<string, unknown>
    for (const [name, value] of Object.entries(exports)) if (name.endsWith(kind)) names.push(...Object.keys(value as object))
  }
  return names
}

test('store: every read that a file declares has a name of its own, and is one of the reads', async () => {
  const names = await declared('Reads')
  assert.ok(names.length > 50)
  assert.deepEqual(names.toSorted(), Object.keys(reads).toSorted())
})

test('store: every write that a file declares has a name of its own, and is one of the writes', async () => {
  const names = await declared('Writes')
  assert.ok(names.length > 40)
  assert.deepEqual(names.toSorted(), Object.keys(writes).toSorted())
})
