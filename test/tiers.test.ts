/**
 * The lists of test/runner/tiers.ts: each entry has a file, every test file runs somewhere, and what must be fast is. The areas of
 * test/runner/areas.ts, and their table in the decision (after an intended change: `node test/tiers.test.ts --update-golden`).
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { areaLines, areaOf, areaPrefixes, areaTable } from './runner/areas.ts'
import type { FileFigures } from './runner/costs.ts'
import { groupFiles } from './runner/shared-process.ts'
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

  void test('every file of test/spec is fast on SQLite, and on PostgreSQL in the ci tier at the latest, unless its rules hold before the store', () => {
    const spec = files.filter((file) => file.startsWith('test/spec/'))
    assert.ok(spec.length > 40)
    assert.deepEqual(
      spec.filter((file) => tierOf(file, 'sqlite') !== 'fast'),
      [],
    )
    assert.deepEqual(
      spec.filter(
        (file) => (tierOf(file, 'postgres') === 'deep') !== tierLists.beforeTheStore.some((start) => file.startsWith(`test/${start}`)),
      ),
      [],
    )
  })

  void test('a file runs in one tier per store, unless it does more in the later ones', () => {
    const often = files.flatMap((file) =>
      stores.filter((store) => tiers.filter((tier) => runsIn(tier, file, store)).length > 1).map(() => file),
    )
    assert.deepEqual(often.toSorted(), [
      'test/fuzz.test.ts',
      'test/fuzz/model-streams.test.ts',
      'test/race/crash.test.ts',
      'test/race/process-faults.test.ts',
      'test/race/resume.test.ts',
      'test/race/upkeep.test.ts',
      'test/simulation/simulation.test.ts',
      'test/store/usage-reconciles.test.ts',
    ])
  })

  void test('CI has time for its two tiers within 15 minutes', () => assert.ok(budgetSeconds.fast + budgetSeconds.ci <= 900))
})

void describe('test areas', () => {
  const groups = groupFiles(files).groups.map((group) => ({ ...group, process: `${group.name}.test.mjs` }))

  void test('every prefix of an area matches a file or a shared process, of which it is the first', () => {
    const names = [...files, ...groups.map(({ process }) => process)]
    const unused = areaPrefixes().filter(({ area, start }) => {
      const matching = names.filter((name) => name.replace(/^test\//, '').startsWith(start))
      return !matching.some((name) => areaOf(name) === area)
    })
    assert.deepEqual(unused, [])
  })

  void test('a shared process has the area of its files', () => {
    assert.ok(groups.length > 3)
    assert.deepEqual(
      groups.filter(({ process, files: of }) => !of.some((file) => areaOf(file) === areaOf(process))).map(({ name }) => name),
      [],
    )
  })

  void test('their budgets are those of the table in docs/decisions/0029-test-tiers.md', () => {
    const page = join(root, 'docs/decisions/0029-test-tiers.md')
    const text = readFileSync(page, 'utf8')
    const written = text.replace(/^\| area \|(?:.*\n\|)*.*$/m, () => areaTable())
    if (process.argv.includes('--update-golden')) writeFileSync(page, written)
    else assert.equal(text, written)
    assert.ok(written.includes(areaTable()))
  })

  void test('a whole run prints the figures of each area, with a warning if one is over its budget', () => {
    const figures = (file: string, cpuMs: number): FileFigures => ({
      file,
      cpuMs,
      store: 'sqlite',
      wallMs: 2000,
      processes: 1,
      databases: 1,
      tests: 3,
    })
    const of = [figures('test/spec/4-1-chat.test.ts', 1000), figures('specification-1.test.mjs', 500), figures('test/docs.test.ts', 1e9)]
    const [head, ...lines] = areaLines({ tier: 'fast', wallMs: 1, serverCpuMs: 4000, files: of })
    const cells = (name: string): string[] =>
      lines
        .find((line) => line.includes(`  ${name}`))!
        .trim()
        .split(/ +/)
    assert.match(head!, /^ +tests +files +wall s +CPU s +budget +area$/)
    assert.deepEqual(cells('specification').slice(0, 4), ['6', '2', '4.0', '1.5'])
    assert.deepEqual(cells('PostgreSQL and Redis').slice(0, 4), ['0', '0', '0.0', '4.0'])
    assert.deepEqual(
      lines.filter((line) => line.includes('warning')).map((line) => line.replace(/.*\d {2}/, '')),
      ['docs (warning: over its budget)'],
    )
    assert.deepEqual(areaLines({ tier: 'deep', wallMs: 1, serverCpuMs: 4000, files: of }), [])
  })
})
