/** Which mutants run: those of changed rules, a rotating tenth of the others, a shard. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import { changedSince, newestRelease, recentCommit, textAt } from './git.ts'
import type { Mutant } from './mutant.ts'
import { mutants } from './mutants.ts'
import { isSameCode } from './tokens.ts'
import { parseTenth, select, shardOf, slowestFirst } from './selection.ts'
import type { Files } from './selection.ts'
import { nameOf } from './verdict-cache.ts'

/** The mutant's only edit stands for the file that it edits. */
function mutantOf(rule: string, removes: string, edited: string, file: string): Mutant {
  return { rule, removes, edits: [{ find: edited, replace: '' }], caughtBy: { file, title: rule } }
}

const few = [
  mutantOf('order.a', 'one', 'src/a.ts', 'a.test.ts'),
  mutantOf('order.a', 'two', 'src/shared.ts', 'a.test.ts'),
  mutantOf('order.b', 'one', 'src/b.ts', 'b.test.ts'),
  mutantOf('order.c', 'one', 'src/shared.ts', 'c.test.ts'),
]
const filesOf = ({ edits }: Mutant): string[] => edits.map(({ find }) => find)
const noLists: Files = { filesOf, listOf: () => assert.fail('no list has changed') }
const chosenOf = (changed: string[], { listOf } = noLists): string[] => select(few, { changed }, { filesOf, listOf }).map(nameOf)

describe('mutants: --changed-since', () => {
  const cases: { title: string; changed: string[]; chosen: string[] }[] = [
    { title: 'nothing where no file of a rule changed', changed: ['README.md', 'src/other.ts'], chosen: [] },
    { title: 'all mutants of a rule if one of them edits a changed file', changed: ['src/a.ts'], chosen: ['order.a: one', 'order.a: two'] },
    {
      title: 'every rule that a changed file belongs to',
      changed: ['src/shared.ts'],
      chosen: ['order.a: one', 'order.a: two', 'order.c: one'],
    },
    { title: 'the rules of a changed test', changed: ['test/b.test.ts'], chosen: ['order.b: one'] },
  ]
  for (const { title, changed, chosen } of cases) test(`takes ${title}`, () => assert.deepEqual(chosenOf(changed), chosen))

  test('takes the rules of a changed list of mutants', () => {
    const texts: Record<string, string> = { 'test/mutants/some-mutants.ts': "rule: 'order.b'," }
    assert.deepEqual(chosenOf(['test/mutants/some-mutants.ts', 'test/mutants/run.ts'], { filesOf, listOf: (file) => texts[file]! }), [
      'order.b: one',
    ])
  })

  test('takes the rotating tenth of the others beside them', () => {
    for (let tenth = 0; tenth < 10; tenth += 1) {
      const others = select(few, { tenth }, noLists).filter(({ rule }) => rule !== 'order.b')
      const chosen = select(few, { changed: ['src/b.ts'], tenth }, noLists)
      assert.deepEqual(
        chosen.filter(({ rule }) => rule !== 'order.b'),
        others,
      )
      assert.ok(chosen.includes(few[2]!))
    }
  })
})

describe('mutants: --tenth and --shard', () => {
  test('ten tenths cover every mutant once, and none is empty', () => {
    const tenths = Array.from({ length: 10 }, (_, tenth) => select(mutants, { tenth }, noLists))
    assert.deepEqual(tenths.flat().map(nameOf).toSorted(), mutants.map(nameOf).toSorted())
    assert.ok(tenths.every((tenth) => tenth.length > 0))
  })

  test('a mutant stays in its tenth when others are added', () => {
    for (let tenth = 0; tenth < 10; tenth += 1) {
      const among = select([...mutants, ...few], { tenth }, noLists).filter((mutant) => !few.includes(mutant))
      assert.deepEqual(among, select(mutants, { tenth }, noLists))
    }
  })

  test('"today" covers all tenths in any ten days in a row, also over New Year', () => {
    const start = Date.UTC(2026, 11, 27, 23, 59)
    const tenths = Array.from({ length: 10 }, (_, day) => parseTenth('today', start + day * 86_400_000))
    assert.deepEqual(tenths.toSorted(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    assert.equal(parseTenth('7', start), 7)
    for (const wrong of ['10', '-1', '', 'x', '1.5']) assert.throws(() => parseTenth(wrong, start), /--tenth takes/)
  })

  test('everything is taken if neither changes nor a tenth are asked for', () => assert.equal(select(mutants, {}, noLists), mutants))

  test('shards cover every mutant once and differ by one at most', () => {
    const shards = ['1/3', '2/3', '3/3'].map((text) => shardOf(mutants, text))
    assert.deepEqual(shards.flat().map(nameOf).toSorted(), mutants.map(nameOf).toSorted())
    const sizes = shards.map(({ length }) => length)
    assert.ok(Math.max(...sizes) - Math.min(...sizes) <= 1, String(sizes))
    for (const wrong of ['0/3', '4/3', '1', '1/0', 'a/b', '1/3/5']) assert.throws(() => shardOf(mutants, wrong), /--shard takes/)
  })
})

test('mutants: the slowest test file runs first, its mutants one after another, and one never run counts as slow', () => {
  const seconds = new Map([
    ['order.a: one', 1],
    ['order.a: two', 5],
    ['order.b: one', 3],
  ])
  assert.deepEqual(slowestFirst(few, seconds).map(nameOf), ['order.c: one', 'order.a: two', 'order.a: one', 'order.b: one'])
})

describe('mutants: what git says changed', () => {
  test('the newest release is the highest version that HEAD contains', (t) => {
    const { root, git } = repository(t)
    assert.equal(newestRelease(root), undefined)
    for (const tag of ['v0.9.0', 'v0.10.0', 'v0.10.0-rc.1', 'w1']) git('tag', tag)
    git('checkout', '-q', '-b', 'later')
    git('commit', '-q', '--allow-empty', '-m', 'later')
    git('tag', 'v1.0.0')
    assert.equal(newestRelease(root), 'v1.0.0')
    git('checkout', '-q', 'main')
    assert.equal(newestRelease(root), 'v0.10.0')
  })

  test('outside a repository there is no release and no commit', (t) => {
    const folder = folderOf(t)
    assert.deepEqual([newestRelease(folder), recentCommit(folder)], [undefined, undefined])
  })

  test('before the first release the changes of the last 30 commits count, or all that a shallow clone has', (t) => {
    const { root, git } = repository(t)
    const first = headOf(root)
    assert.equal(recentCommit(root), first)
    for (let count = 0; count < 29; count += 1) git('commit', '-q', '--allow-empty', '-m', 'more')
    assert.equal(recentCommit(root), first)
    git('commit', '-q', '--allow-empty', '-m', 'one more')
    assert.notEqual(recentCommit(root), first)
  })

  test('changed files are those committed since, edited, moved and new, without ignored ones', (t) => {
    const { root, git, write } = repository(t)
    for (const name of ['same.ts', 'edited.ts', 'moved.ts', 'committed.ts']) write(name, name)
    write('.gitignore', 'ignored.ts')
    git('add', '.')
    git('commit', '-q', '-m', 'files')
    git('tag', 'v1')
    write('committed.ts', 'changed')
    git('commit', '-q', '-a', '-m', 'change')
    git('mv', 'moved.ts', 'target.ts')
    write('edited.ts', 'changed')
    write('new file.ts', 'new')
    write('ignored.ts', 'new')
    assert.deepEqual(changedSince(root, 'v1').toSorted(), ['committed.ts', 'edited.ts', 'moved.ts', 'new file.ts', 'target.ts'])
    assert.throws(() => changedSince(root, 'v2'), /git cannot list the changes since v2/)
    assert.deepEqual([textAt(root, 'v1', 'edited.ts'), textAt(root, 'v1', 'new file.ts')], ['edited.ts', undefined])
  })

  test('a file whose layout or comments changed has the same code', () => {
    const before = "// one\nconst a = call(b, 'c d') // two\n"
    assert.ok(isSameCode('a.ts', before, "const a = call(\n  b,\n  'c d',\n)\n"))
    for (const now of [before.replace('b', 'e'), before.replace('c d', 'c, d'), `${before}more()\n`])
      assert.ok(!isSameCode('a.ts', before, now))
    assert.ok(isSameCode('a.sql', 'select 1; -- one\n', '-- two\nselect\n  1;\n'))
    assert.ok(!isSameCode('a.md', 'one', 'one '))
  })
})

const headOf = (root: string): string => spawnSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).stdout.trim()

type Repository = { root: string; git(...args: string[]): void; write(name: string, text: string): void }

function repository(t: TestContext): Repository {
  const root = folderOf(t)
  const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com', '-c', 'commit.gpgsign=false', '-c', 'tag.gpgsign=false']
  const git = (...args: string[]): void => {
    const { status, stderr } = spawnSync('git', [...identity, ...args], { cwd: root, encoding: 'utf8' })
    assert.equal(status, 0, stderr)
  }
  git('init', '-q', '-b', 'main')
  git('commit', '-q', '--allow-empty', '-m', 'first')
  return { root, git, write: (name, text) => writeFileSync(join(root, name), text) }
}

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-test-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
