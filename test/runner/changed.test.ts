/** npm test -- --changed: which files run, in which order, and what is said about the others. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import { isCommit } from '../mutants/git.ts'
import { affectedBy } from './changed.ts'
import { readOptions } from './options.ts'

const texts: Record<string, string> = {
  'package-lock.json': '{}',
  'notes.txt': 'nothing reads this',
  'docs/rules.md': 'rules',
  'bin/program.js': "import '../src/app.ts'",
  'src/deep.ts': '',
  'src/middle.ts': "import './deep.ts'",
  'src/types.ts': '',
  'src/app.ts': "import './middle.ts'\nimport type { One } from './types.ts'",
  'src/other.ts': '',
  'packages/client/src/client.ts': '',
  'packages/console/src/app.tsx': '',
  'test/support/start.ts': "import '../../src/app.ts'",
  'test/support/browser.ts': 'export const builtConsole = join(a, b)',
  'test/far.test.ts': "import './support/start.ts'",
  'test/near.test.ts': "import '../src/deep.ts'",
  'test/between.test.ts': "import '../src/middle.ts'",
  'test/program.test.ts': "join(root, 'bin/program.js')",
  'test/alone.test.ts': '',
  'test/other.test.ts': "import '../src/other.ts'",
  'test/reads.test.ts': "read('docs/rules.md')",
  'test/browser.test.ts': "import './support/browser.ts'",
  'test/example.test.ts': "import '@turnkeep/client'",
}
const lists = { 'test/lists.test.ts': "globSync('**/*.ts')" }
const files = Object.keys({ ...texts, ...lists })
  .filter((file) => file.endsWith('.test.ts'))
  .toSorted()

type Repository = { root: string; write(name: string, text: string): void; git(...args: string[]): void }

function repository(t: TestContext, extra: Record<string, string> = {}): Repository {
  const root = mkdtempSync(join(tmpdir(), 'turnkeep-test-'))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  const write = (name: string, text: string): void => {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), text)
  }
  const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com', '-c', 'commit.gpgsign=false']
  const git = (...args: string[]): void => {
    const { status, stderr } = spawnSync('git', [...identity, ...args], { cwd: root, encoding: 'utf8' })
    assert.equal(status, 0, stderr)
  }
  for (const [name, text] of Object.entries({ ...texts, ...extra })) write(name, text)
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('commit', '-q', '-m', 'first')
  return { root, write, git }
}

const passOf = (of: string[]) => ({ store: 'sqlite', tier: 'fast', files: of }) as const
const chosen = (root: string, ref = 'HEAD', of = files.filter((file) => !Object.hasOwn(lists, file))) => {
  const { passes, lines } = affectedBy(root, ref, [passOf(of), { ...passOf([]), store: 'postgres' }])
  assert.ok(passes.length <= 1, 'a pass without files is left out')
  return { files: passes[0]?.files ?? [], lines }
}

void describe('test run: --changed', () => {
  void test('runs the files from which paths lead to the change, the nearest first, and says what it leaves out', (t) => {
    const { root, write } = repository(t)
    write('src/deep.ts', 'changed')
    assert.deepEqual(chosen(root), {
      files: ['test/near.test.ts', 'test/between.test.ts', 'test/far.test.ts', 'test/program.test.ts'],
      lines: [
        'changed since HEAD: 1 file',
        '4 of 9 test files run, the nearest to the change first',
        '5 of 9 test files are left out: no path in them, or in the files they name, leads to a changed file. CI runs all of them.',
      ],
    })
  })

  const cases: { title: string; file: string; runs: string[]; silent?: boolean }[] = [
    { title: 'a changed test runs itself', file: 'test/other.test.ts', runs: ['test/other.test.ts'] },
    { title: 'a new test runs itself', file: 'test/new.test.ts', runs: ['test/new.test.ts'] },
    { title: 'a type import leads nowhere', file: 'src/types.ts', runs: [], silent: true },
    { title: 'a path from the root of the repository counts', file: 'docs/rules.md', runs: ['test/reads.test.ts'] },
    {
      title: 'the console reaches the tests in a browser, which use it as built',
      file: 'packages/console/src/app.tsx',
      runs: ['test/browser.test.ts'],
    },
    {
      title: 'the client reaches the tests that import the package',
      file: 'packages/client/src/client.ts',
      runs: ['test/example.test.ts'],
    },
    { title: 'a file that no test reaches is named', file: 'notes.txt', runs: [], silent: true },
  ]
  for (const { title, file, runs, silent = false } of cases) {
    void test(title, (t) => {
      const { root, write } = repository(t)
      write(file, 'changed')
      const result = chosen(root, 'HEAD', [...files.filter((one) => !Object.hasOwn(lists, one)), ...(file.includes('new') ? [file] : [])])
      assert.deepEqual(result.files, runs)
      assert.deepEqual(
        result.lines.filter((line) => line.startsWith('no path in a test leads to')),
        silent ? [`no path in a test leads to ${file}`] : [],
      )
    })
  }

  void test('a test that lists files by a pattern runs after every change, and after those that a path leads from', (t) => {
    const { root, write } = repository(t, lists)
    assert.deepEqual(chosen(root, 'HEAD', files), { files: [], lines: ['changed since HEAD: 0 files'] })
    write('src/other.ts', 'changed')
    assert.deepEqual(chosen(root, 'HEAD', files).files, ['test/other.test.ts', 'test/lists.test.ts'])
  })

  void test('new dependencies run every test, and the run says that it leaves out none', (t) => {
    const { root, write } = repository(t)
    write('package-lock.json', '{ }')
    write('src/other.ts', 'changed')
    const { files: all, lines } = chosen(root)
    assert.equal(all[0], 'test/other.test.ts')
    assert.equal(all.length, 9)
    assert.deepEqual(lines, ['changed since HEAD: 2 files', 'the change can affect all 9 test files: all of them run, the nearest first'])
  })

  void test('counts from where the branch parted from the named one', (t) => {
    const { root, write, git } = repository(t)
    git('checkout', '-q', '-b', 'work')
    write('src/other.ts', 'changed')
    git('commit', '-q', '-a', '-m', 'on the branch')
    git('checkout', '-q', 'main')
    write('docs/rules.md', 'changed')
    git('commit', '-q', '-a', '-m', 'on main')
    git('checkout', '-q', 'work')
    assert.deepEqual(chosen(root, 'main').files, ['test/other.test.ts'])
    assert.deepEqual(chosen(root).files, [])
    assert.throws(() => chosen(root, 'unknown'), /git cannot list the changes since unknown/)
    assert.deepEqual([isCommit(root, 'main'), isCommit(root, 'test')], [true, false])
  })
})

void describe('test run: arguments', () => {
  const isMain = (name: string): boolean => name === 'main'
  const read = (...args: string[]) => {
    const { changed, tier, parts } = readOptions(args, isMain)
    return { changed, tier, parts }
  }

  void test('--changed takes a commit, and without one compares with HEAD', () => {
    assert.deepEqual(read(), { changed: undefined, tier: undefined, parts: [] })
    assert.deepEqual(read('--changed'), { changed: 'HEAD', tier: undefined, parts: [] })
    assert.deepEqual(read('--changed', 'main'), { changed: 'main', tier: undefined, parts: [] })
    assert.deepEqual(read('--changed=v1', '--tier', 'ci'), { changed: 'v1', tier: 'ci', parts: [] })
    assert.deepEqual(read('--changed', '--tier', 'ci'), { changed: 'HEAD', tier: 'ci', parts: [] })
  })

  void test('what is not a commit is a part of file names', () => {
    assert.deepEqual(read('--changed', 'store/', 'main'), { changed: 'HEAD', tier: undefined, parts: ['store/', 'main'] })
    assert.deepEqual(read('main', '--changed'), { changed: 'HEAD', tier: undefined, parts: ['main'] })
  })

  void test('an unknown argument is refused with the known ones', () => {
    assert.throws(() => read('--chnaged'), /'--chnaged'.*npm test takes --tier, --changed/)
    assert.throws(() => read('--tier', 'slow'), /--tier is fast, ci, deep, not slow/)
  })
})
