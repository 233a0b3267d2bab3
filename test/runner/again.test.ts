/** npm run test:again, with test/run.ts in a folder of its own: three files fail, one of them is fixed, two remain. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../..')
const fails = `import { test } from 'node:test'\ntest('a title', () => { throw new Error('no') })\n`
const passes = `import { test } from 'node:test'\ntest('a title', () => {})\n`

void test('test run: test:again runs the files that failed, until they pass', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-test-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const name of ['test/unit', 'test/mutants']) mkdirSync(join(folder, name), { recursive: true })
  for (const name of ['package.json', 'test/run.ts', 'test/runner']) {
    const isCode = (file: string): boolean => !file.endsWith('.test.ts')
    cpSync(join(root, name), join(folder, name), { recursive: true, filter: isCode })
  }
  for (const name of ['src', 'node_modules', 'test/support', 'test/mutants/git.ts', 'test/mutants/source-graph.ts'])
    symlinkSync(join(root, name), join(folder, name))
  const write = (text: string, ...names: string[]): void => names.forEach((name) => writeFileSync(join(folder, 'test', name), text))
  write(fails, 'alone.test.ts', 'unit/one.test.ts', 'unit/two.test.ts')
  write(passes, 'unit/three.test.ts')

  // Without what belongs to the run of this test.
  const env: NodeJS.ProcessEnv = { ...process.env, CI: 'false' }
  for (const name of ['NODE_TEST_CONTEXT', 'TEST_STORE', 'TEST_TIER', 'TEST_CONTRACT']) delete env[name]
  const run = (...args: string[]): Promise<{ status: unknown; files: string[] }> =>
    new Promise((done) => {
      execFile(process.execPath, [join(folder, 'test/run.ts'), ...args], { env, cwd: folder }, (error, stdout) => {
        const files = [...stdout.matchAll(/^(?:ℹ (?:passed|FAILED) )?(\w+ test\/[\w/-]+\.test\.ts)(?::.*)?$/gm)].map(([, file]) => file!)
        done({ status: error?.code ?? 0, files: [...new Set(files)].toSorted() })
      })
    })
  const filesOf = (...names: string[]): string[] => names.map((name) => `sqlite test/${name}.test.ts`)
  const failed = filesOf('alone', 'unit/one', 'unit/two')
  assert.equal((await run('.test.ts')).status, 1)
  assert.deepEqual(await run('--again', '--list'), { status: 0, files: failed })
  write(passes, 'unit/one.test.ts')
  assert.deepEqual(await run('--again'), { status: 1, files: failed })
  assert.deepEqual(await run('--again', '--list'), { status: 0, files: filesOf('alone', 'unit/two') })
})
