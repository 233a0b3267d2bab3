/** When a mutant's cached verdict is reused: its key covers everything that decides it, and only red verdicts are stored. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import { edit } from './mutant.ts'
import type { Mutant } from './mutant.ts'
import { nameOf, VerdictCache } from './verdict-cache.ts'
import { VerdictKeys } from './verdict-key.ts'

const mutant: Mutant = {
  rule: 'order.sum',
  removes: 'the sum',
  edits: [edit('a + b', 'a - b')],
  caughtBy: { file: 'sum.test.ts', title: 'order.sum adds' },
}

const files = {
  'src/sum.ts': "import { check } from './check.ts'\nexport const sum = (a, b) => check(a + b)\n",
  'src/check.ts': "export const check = (n) => n\nexport const start = () => new Worker(new URL('./thread.ts', import.meta.url))\n",
  'src/thread.ts': "const folder = new URL('./migrations/', import.meta.url)\nconst { late } = await import('./late.ts')\n",
  'src/late.ts': "export const late = './'\n",
  'src/migrations/0001.sql': 'create table t (a);\n',
  'src/types.ts': 'export type Sum = number\n',
  'src/other.ts': 'export const other = 1\n',
  'bin/program.js': "await import('../src/started.ts')\n",
  'src/started.ts': 'export {}\n',
  'docs/errors/a.md': 'a\n',
  'docs/unrelated.md': 'unrelated\n',
  'test/sum.test.ts': [
    "import { sum } from '../src/sum.ts'",
    "import type {\n  Sum,\n} from '../src/types.ts'",
    "import { rows } from './support/rows.ts'",
    "const program = new URL('../bin/program.js', import.meta.url)",
    'const page = new URL(`../docs/errors/${name}.md`, import.meta.url)',
    "const word = 'mutants'",
    "const table = join(import.meta.dirname, 'data/table.json')\n",
  ].join('\n'),
  'test/support/rows.ts': 'export const rows = []\n',
  'test/data/table.json': '[]\n',
  'test/unrelated.test.ts': 'export {}\n',
  'test/mutants/judge.ts': 'judge\n',
  'test/mutants/mutant.ts': 'mutant\n',
  'test/mutants/places.ts': 'places\n',
  'test/mutants/tokens.ts': 'tokens\n',
  'test/mutants/trees.ts': 'trees\n',
  'test/mutants/trial.ts': 'trial\n',
  'test/mutants/sum-mutants.ts': 'list\n',
  'package-lock.json': '{}\n',
}

type Changes = Partial<Record<keyof typeof files, string>>
type Conditions = { node: string; environment: NodeJS.ProcessEnv }

const usual: Conditions = { node: 'v24.0.0', environment: {} }

/** Returns the mutant's key in a repository that differs by these files. */
function keyIn(t: TestContext, changes: Changes = {}, wanted: Mutant = mutant, conditions = usual): string {
  const key = new VerdictKeys(rootOf(t, changes), conditions).keyOf(wanted)
  assert.ok(key !== undefined)
  return key
}

function rootOf(t: TestContext, changes: Changes = {}): string {
  const root = folderOf(t)
  for (const [file, text] of Object.entries({ ...files, ...changes })) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), text)
  }
  return root
}

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-test-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

describe('mutants: the key of a cached verdict', () => {
  const deciding: [keyof typeof files, string][] = [
    ['src/sum.ts', 'an edited file'],
    ['test/sum.test.ts', 'the test'],
    ['test/support/rows.ts', "the test's import"],
    ['src/check.ts', "the edited file's import"],
    ['src/thread.ts', 'a worker thread that it starts'],
    ['src/late.ts', 'a module that the thread imports late'],
    ['src/migrations/0001.sql', 'a file of a folder that the thread reads'],
    ['bin/program.js', 'a program that the test starts'],
    ['src/started.ts', 'a module of that program'],
    ['docs/errors/a.md', 'a file of a folder whose files the test names by an expression'],
    ['test/data/table.json', 'a file that the test joins to its own folder'],
    ['test/mutants/judge.ts', 'the code that judges'],
    ['test/mutants/mutant.ts', 'the code that plants'],
    ['test/mutants/places.ts', 'the code that finds a place'],
    ['test/mutants/tokens.ts', 'the code that reads the source'],
    ['test/mutants/trees.ts', 'the code that copies the source'],
    ['test/mutants/trial.ts', 'the code that runs the test'],
    ['package-lock.json', 'the lockfile'],
  ]
  for (const [file, what] of deciding) {
    test(`changes with ${what}`, (t) => assert.notEqual(keyIn(t, { [file]: `${files[file]}// changed\n` }), keyIn(t)))
  }

  const unrelated = ['src/other.ts', 'src/types.ts', 'docs/unrelated.md', 'test/unrelated.test.ts', 'test/mutants/sum-mutants.ts'] as const
  for (const file of unrelated) {
    test(`does not change with ${file}`, (t) => assert.equal(keyIn(t, { [file]: `${files[file]}// changed\n` }), keyIn(t)))
  }

  test("changes with each part of the mutant's definition", (t) => {
    const others: Mutant[] = [
      { ...mutant, rule: 'order.other' },
      { ...mutant, edits: [edit('a + b', 'b - a')] },
      { ...mutant, edits: [...mutant.edits, edit('(n) => n', '(n) => -n')] },
      { ...mutant, caughtBy: { ...mutant.caughtBy, title: 'order.sum' } },
      { ...mutant, caughtBy: { ...mutant.caughtBy, file: 'unrelated.test.ts' } },
      { ...mutant, symptom: 'hang' },
    ]
    const keys = [mutant, ...others].map((one) => keyIn(t, {}, one))
    assert.equal(new Set(keys).size, keys.length)
  })

  test('changes with an edited file that the test does not name', (t) => {
    const elsewhere = { ...mutant, edits: [edit('other = 1', 'other = 2')] }
    assert.notEqual(keyIn(t, { 'src/other.ts': 'export let other = 1\n' }, elsewhere), keyIn(t, {}, elsewhere))
  })

  test('covers what a planted import reaches', (t) => {
    const importing = { ...mutant, edits: [edit("from './check.ts'", "from './other.ts'")] }
    assert.notEqual(keyIn(t, { 'src/other.ts': 'export const check = (n) => -n\n' }, importing), keyIn(t, {}, importing))
  })

  test('does not exist for a mutant that does not fit the source', (t) => {
    const stale = { ...mutant, edits: [edit('a * b', 'a + b')] }
    assert.equal(new VerdictKeys(rootOf(t), usual).keyOf(stale), undefined)
  })

  test('changes with the Node version and with the variables that choose how tests run', (t) => {
    const conditions = [usual, { ...usual, node: 'v24.0.1' }, { ...usual, environment: { TEST_STORE: 'postgres' } }]
    assert.equal(new Set(conditions.map((one) => keyIn(t, {}, mutant, one))).size, conditions.length)
  })
})

describe('mutants: the cache of verdicts', () => {
  const key = 'a'.repeat(64)

  test('finds what was stored, in a later run too, and leaves no other file', (t) => {
    const folder = join(folderOf(t), 'cache')
    new VerdictCache(folder).addRed(key, mutant, 1.5)
    assert.equal(new VerdictCache(folder).find(key), 1.5)
    assert.equal(new VerdictCache(folder).find('b'.repeat(64)), undefined)
    assert.deepEqual(readdirSync(folder), [`${key}.json`])
  })

  test('does not use an entry that is not whole', (t) => {
    const folder = folderOf(t)
    for (const text of ['', '{"seconds":', '{}', 'null', '"red"']) {
      writeFileSync(join(folder, `${key}.json`), text)
      assert.equal(new VerdictCache(folder).find(key), undefined, text)
      assert.equal(new VerdictCache(folder).durations().size, 0, text)
    }
  })

  test('deletes entries that were not used for 30 days and nothing else', (t) => {
    const folder = folderOf(t)
    const cache = new VerdictCache(folder)
    const daysAgo = (days: number): Date => new Date(Date.now() - days * 86_400_000)
    const [unused, found, recent] = ['b', 'c', 'd'].map((digit) => digit.repeat(64)) as [string, string, string]
    for (const one of [unused, found, recent]) cache.addRed(one, mutant, 1)
    mkdirSync(join(folder, 'compiled'))
    for (const name of [`${unused}.json`, `${found}.json`, 'compiled']) utimesSync(join(folder, name), daysAgo(31), daysAgo(31))
    utimesSync(join(folder, `${recent}.json`), daysAgo(29), daysAgo(29))
    cache.find(found)
    cache.prune()
    assert.deepEqual(readdirSync(folder).toSorted(), [`${found}.json`, 'compiled', `${recent}.json`])
  })

  test('knows how long a mutant took last, whatever changed since', (t) => {
    const folder = folderOf(t)
    const cache = new VerdictCache(folder)
    cache.addRed(key, mutant, 1)
    cache.addRed('b'.repeat(64), mutant, 2)
    utimesSync(join(folder, `${key}.json`), 0, 0)
    assert.deepEqual(cache.durations(), new Map([[nameOf(mutant), 2]]))
  })
})
