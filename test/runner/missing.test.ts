/** What npm test says about programs that are not installed. */
import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { missingLines, missingPrograms, programs, skippedLines } from './missing.ts'
import type { Program } from './missing.ts'

const program = (of: Partial<Program>): Program => ({
  name: 'A',
  isMissing: () => true,
  word: /nothing says this/,
  isOfStore: false,
  apt: 'a-server',
  brew: 'a',
  ...of,
})
const passOf = (...files: string[]) => ({ store: 'sqlite', tier: 'fast', files }) as const
const root = join(import.meta.dirname, '../..')
const here = 'test/runner/missing.test.ts'

void test('test run: a program is missing if it is not installed and a file of the run uses it', () => {
  const named = (known: Program[], store: 'sqlite' | 'postgres' = 'sqlite') =>
    missingPrograms([{ ...passOf(here), store }], known).map(({ name }) => name)
  const used = program({ name: 'B', word: /sqlite/ })
  assert.deepEqual(named([program({ word: /not\x20here/ }), used, program({ ...used, isMissing: () => false })]), ['B'])
  assert.deepEqual(named([program({ word: /not\x20here/, isOfStore: true })], 'postgres'), ['A'])
  assert.deepEqual(named([program({ word: /not\x20here/, isOfStore: true })]), [])
  assert.deepEqual(named([program({ word: /not\x20here/ })], 'postgres'), [])
})

void test('test run: the first line says what is missing and how to install it, the last one how many tests were skipped', () => {
  const missing = [program({}), program({ name: 'B', apt: 'b c', brew: 'd' })]
  assert.deepEqual(missingLines(missing), [
    'missing here: A, B. The tests that need them are skipped. To install: sudo apt-get install -y a-server b c (Debian, Ubuntu) or brew install a d (macOS)',
  ])
  assert.deepEqual(
    skippedLines(missing, ['one: no A here; install it', 'two: no B here; install it', 'three: no C here', 'A and B: of Linux']),
    ['2 tests or whole files were skipped because these are missing: A, B'],
  )
  assert.deepEqual([missingLines([]), skippedLines(missing, [])], [[], []])
})

void test('test run: the text of every file in test/browser shows that it needs Chromium', () => {
  const absent = programs.map((one) => ({ ...one, isMissing: () => true }))
  const files = globSync('test/browser/*.test.ts', { cwd: root })
  assert.ok(files.length > 10)
  assert.deepEqual(
    files.filter((file) => !missingPrograms([passOf(file)], absent).some(({ name }) => name === 'Chromium')),
    [],
  )
})

void test('test run: a program that is not in PATH is missing', (t) => {
  const { PATH, TEST_REDIS_URL } = process.env
  t.after(() => Object.assign(process.env, { PATH, ...(TEST_REDIS_URL === undefined ? {} : { TEST_REDIS_URL }) }))
  process.env['PATH'] = ''
  delete process.env['TEST_REDIS_URL']
  assert.ok(missingPrograms([passOf('test/unit/redis-window.test.ts')]).some(({ name }) => name === 'Redis'))
})
