/** The lists of test/runner/tiers.ts: each entry has a file, every test file runs somewhere, and what must be fast is. */
import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { budgetSeconds, runsIn, runsOnBoth, stores, tierLists, tierOf, tiers } from './runner/tiers.ts'

const root = join(import.meta.dirname, '..')
const files = globSync(['test/**/*.test.ts', 'packages/*/test/**/*.test.ts'], { cwd: root })

void describe('test tiers', () => {
  void test('every entry of the lists matches a file', () => {
    const unused = Object.entries(tierLists).flatMap(([list, entries]) =>
      entries.filter((entry) => !files.some((file) => file.startsWith(`test/${entry}`))).map((entry) => `${list}: ${entry}`),
    )
    assert.deepEqual(unused, [])
  })

  void test('every file has a tier on SQLite, and on PostgreSQL exactly if it runs on both', () => {
    assert.ok(files.length > 200)
    assert.deepEqual(
      files.filter((file) => tierOf(file, 'sqlite') === undefined || (tierOf(file, 'postgres') !== undefined) !== runsOnBoth(file)),
      [],
    )
  })

  void test('every file of test/spec is fast on SQLite, and on PostgreSQL in the ci tier at the latest', () => {
    const spec = files.filter((file) => file.startsWith('test/spec/'))
    assert.ok(spec.length > 40)
    assert.deepEqual(
      spec.filter((file) => tierOf(file, 'sqlite') !== 'fast' || tierOf(file, 'postgres') === 'deep'),
      [],
    )
  })

  void test('a file runs in one tier per store, unless it does more in the later ones', () => {
    const often = files.flatMap((file) =>
      stores.filter((store) => tiers.filter((tier) => runsIn(tier, file, store)).length > 1).map(() => file),
    )
    assert.deepEqual(often.toSorted(), [
      'test/fuzz.test.ts',
      'test/race/crash.test.ts',
      'test/race/process-faults.test.ts',
      'test/race/resume.test.ts',
      'test/race/upkeep.test.ts',
      'test/simulation/simulation.test.ts',
    ])
  })

  void test('CI has time for its two tiers within 15 minutes', () => assert.ok(budgetSeconds.fast + budgetSeconds.ci <= 900))
})
