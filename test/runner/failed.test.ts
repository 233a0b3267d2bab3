/** What npm run test:again runs: the files that failed when they last ran, by their own paths. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { failedLines, keepFailed, passesOf, readFailed } from './failed.ts'
import type { FileResult } from './failed.ts'
import { makeSharedFolder, writeSharedFile } from './shared-process.ts'

const lost = 'its process ended before it reported its tests'
const head = `import { describe, test } from 'node:test'\n`
const fails = `() => { throw new Error('no') }`
const texts: Record<string, string> = {
  'passes.test.mjs': `${head}test('passes', () => {})`,
  'fails.test.mjs': `${head}test('passes', () => {})\ndescribe('suite', () => void test('inner', ${fails}))\ntest('last', ${fails})`,
  'elsewhere.mjs': `${head}export const cases = () => void test('written elsewhere', ${fails})`,
  'imports.test.mjs': `import { cases } from './elsewhere.mjs'\ncases()`,
  'skips.test.mjs': `${head}test('needs a thing', { skip: 'no thing here' }, () => {})`,
  'breaks.test.mjs': `import './missing.mjs'`,
  'empty.test.mjs': '',
  'leaves.test.mjs': `${head}test('first', () => {})\ntest('second', async () => { await new Promise((done) => setTimeout(done, 50)); process.exit(0) })\ntest('third', () => {})`,
  'dies.test.mjs': `${head}test('first', () => {})\ntest('second', async () => { await new Promise((done) => setTimeout(done, 50)); process.exit(3) })`,
  'ends-badly.test.mjs': `${head}process.once('exit', () => { process.exitCode = 3 })\ntest('passes', () => {})`,
}

/** Runs the files, those of `shared` in one process, and returns the failed tests by file. */
async function failuresOf(
  t: TestContext,
  alone: string[],
  { shared = [], isStrict = false }: { shared?: string[]; isStrict?: boolean } = {},
): Promise<Record<string, string[]>> {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-test-'))
  const sharedFolder = makeSharedFolder()
  t.after(() => [folder, sharedFolder].forEach((one) => rmSync(one, { recursive: true, force: true })))
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, name), text)
  const started = alone.map((file) => join(folder, file))
  if (shared.length > 0) started.unshift(writeSharedFile(folder, sharedFolder, 'group', shared))
  const pass = { store: 'sqlite', tier: 'fast', files: [...shared, ...alone] }
  const program = `
    import { run } from 'node:test'
    import { PassResults } from '${pathToFileURL(join(import.meta.dirname, 'failed.ts')).href}'
    const results = new PassResults(${JSON.stringify({ isStrict, root: folder })})
    for await (const event of run({ files: ${JSON.stringify(started)}, concurrency: 4 })) results.see(event)
    console.log(JSON.stringify(results.read(${JSON.stringify(pass)})))`
  // A runner inside a test file would run nothing.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  writeFileSync(join(folder, 'run.mjs'), program)
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'run.mjs')], { env })
  const results = JSON.parse(stdout) as FileResult[]
  assert.ok(results.every(({ store, tier }) => store === 'sqlite' && tier === 'fast'))
  return Object.fromEntries(results.map(({ file, failed }) => [file, failed]))
}

void describe('test run: failed files', { concurrency: true }, () => {
  void test('each file has the titles of its failed tests, wherever they are written', async (t) => {
    assert.deepEqual(await failuresOf(t, ['passes.test.mjs', 'fails.test.mjs', 'imports.test.mjs', 'skips.test.mjs', 'empty.test.mjs']), {
      'passes.test.mjs': [],
      'fails.test.mjs': ['inner', 'last'],
      'imports.test.mjs': ['written elsewhere'],
      'skips.test.mjs': [],
      'empty.test.mjs': [],
    })
  })

  void test('a file that cannot be loaded, ends early or ends badly has failed', async (t) => {
    const failures = await failuresOf(t, ['breaks.test.mjs', 'leaves.test.mjs', 'ends-badly.test.mjs'])
    assert.match(failures['breaks.test.mjs']!.join(), /breaks\.test\.mjs$/)
    assert.deepEqual(failures['leaves.test.mjs'], [lost])
    assert.match(failures['ends-badly.test.mjs']!.join(), /ends-badly\.test\.mjs$/)
  })

  void test('a file in a shared process is recorded by its own path', async (t) => {
    const shared = ['passes.test.mjs', 'fails.test.mjs', 'imports.test.mjs', 'breaks.test.mjs']
    assert.deepEqual(await failuresOf(t, [], { shared }), {
      'passes.test.mjs': [],
      'fails.test.mjs': ['inner', 'last'],
      'imports.test.mjs': ['written elsewhere'],
      'breaks.test.mjs': ['breaks.test.mjs'],
    })
  })

  void test('when a shared process ends early, the files without a result have failed', async (t) => {
    const shared = ['fails.test.mjs', 'passes.test.mjs', 'leaves.test.mjs', 'skips.test.mjs']
    assert.deepEqual(await failuresOf(t, [], { shared }), {
      'fails.test.mjs': ['inner', 'last'],
      'passes.test.mjs': [],
      'leaves.test.mjs': [lost],
      'skips.test.mjs': [lost],
    })
    assert.deepEqual(await failuresOf(t, [], { shared: ['passes.test.mjs', 'dies.test.mjs'] }), {
      'passes.test.mjs': [],
      'dies.test.mjs': [lost],
    })
  })

  void test('when a shared process ends badly, any of its files may be the cause', async (t) => {
    assert.deepEqual(await failuresOf(t, ['skips.test.mjs'], { shared: ['passes.test.mjs', 'ends-badly.test.mjs'] }), {
      'passes.test.mjs': ['its shared process'],
      'ends-badly.test.mjs': ['its shared process'],
      'skips.test.mjs': [],
    })
  })

  void test('a skipped test is a failure in a strict run', async (t) => {
    assert.deepEqual(await failuresOf(t, ['skips.test.mjs'], { isStrict: true }), { 'skips.test.mjs': ['needs a thing (skipped)'] })
  })
})

void describe('test run: the list of failed files', () => {
  const file = 'test/runner/failed.test.ts'
  const other = 'test/tiers.test.ts'
  const failed = (of: Partial<FileResult>): FileResult => ({ store: 'sqlite', tier: 'fast', file, failed: ['a title'], ...of })

  void test('a file enters it when it fails, stays while others run, and leaves it when it passes', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'turnkeep-test-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const list = join(folder, 'new/failed.json')
    assert.deepEqual(readFailed(list), [])
    keepFailed([failed({}), failed({ store: 'postgres' }), failed({ file: other, failed: [] })], list)
    assert.deepEqual(readFailed(list), [failed({}), failed({ store: 'postgres' })])
    keepFailed([failed({ file: other, tier: 'ci' })], list)
    assert.deepEqual(readFailed(list), [failed({}), failed({ store: 'postgres' }), failed({ file: other, tier: 'ci' })])
    keepFailed([failed({ failed: [] })], list)
    assert.deepEqual(readFailed(list), [failed({ store: 'postgres' }), failed({ file: other, tier: 'ci' })])
    keepFailed([failed({ store: 'postgres', failed: ['another title'] })], list)
    assert.deepEqual(readFailed(list), [failed({ file: other, tier: 'ci' }), failed({ store: 'postgres', failed: ['another title'] })])
    keepFailed([failed({ store: 'postgres', failed: [] }), failed({ file: other, failed: [] })], list)
    assert.deepEqual(readFailed(list), [])
  })

  void test('a file that no longer exists is not in it', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'turnkeep-test-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const list = join(folder, 'failed.json')
    mkdirSync(folder, { recursive: true })
    keepFailed([failed({ file: 'test/data/removed.test.ts' }), failed({})], list)
    assert.deepEqual(readFailed(list), [failed({})])
  })

  void test('its files run again on the same store, at the same scale', () => {
    const list = [failed({ store: 'postgres' }), failed({ tier: 'ci' }), failed({ file: other }), failed({})]
    assert.deepEqual(passesOf(list), [
      { store: 'sqlite', tier: 'fast', files: [other, file] },
      { store: 'sqlite', tier: 'ci', files: [file] },
      { store: 'postgres', tier: 'fast', files: [file] },
    ])
    assert.deepEqual(failedLines([failed({ store: 'postgres' })]), [`postgres ${file}`, '    a title'])
  })
})
