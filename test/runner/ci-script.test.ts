/** .ci/run in a folder of its own, with an npm that only notes what it is called with: every part runs, and the end names all that failed. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { TestContext } from 'node:test'

const root = join(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')
// Installed, as far as the script can see.
const tools = ['node', 'curl', 'python3', 'openssl', 'redis-server', 'nginx', 'pgbouncer', 'postgres', 'chromium', 'ls']

/** Runs the script. `failing`: the arguments with which npm fails. Returns the calls of npm in alphabetical order. */
function runScript(t: TestContext, failing: string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-test-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const name of ['.ci', 'bin', 'artifacts/test-costs']) mkdirSync(join(folder, name), { recursive: true })
  cpSync(join(root, '.ci/run'), join(folder, '.ci/run'))
  // Of an earlier run.
  writeFileSync(join(folder, 'artifacts/test-costs/failed.json'), '[]')
  const program = (name: string, text: string): void => {
    writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${text}\n`)
    chmodSync(join(folder, 'bin', name), 0o755)
  }
  for (const name of tools) program(name, 'exit 0')
  program(
    'npm',
    // Chaos goes on until the mutants run, which it never sees unless both run at the same time.
    `echo "$CI $*" >> calls
echo "$PATH" > path
case "$*" in
  *--list) test ! -e artifacts/test-costs/failed.json && echo "the failed tests";;
  *chaos*) for i in $(seq 600); do grep -q mutants calls && break; sleep 0.1; done; grep -q mutants calls && sleep 0.5 && echo "output of $*";;
esac
case "$*" in "run lint") echo "a line of the linter" >&2;; esac
case "$*" in ${failing.map((args) => `"${args}") exit 3;;`).join(' ')} esac`,
  )
  const env = { ...process.env, PATH: `${join(folder, 'bin')}:${process.env['PATH']}` }
  const { status, stdout, stderr } = spawnSync('bash', [join(folder, '.ci/run')], { env, encoding: 'utf8', cwd: tmpdir() })
  const calls = readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n').toSorted()
  const searched = readFileSync(join(folder, 'path'), 'utf8').trim().split(':')
  return { status, stdout, stderr, searched, calls: calls.filter((call) => call !== 'true --version') }
}

const everyCall = [
  'true ci',
  'true exec --call echo "Node $(node --version) for the checks"',
  'true run chaos -- --minutes 1 --store postgres',
  'true run chaos -- --minutes 1 --store sqlite',
  'true run format:check',
  'true run lint',
  'true run mutants -- --changed-since release --tenth today',
  'true run pack',
  'true run test:ci',
  'true run types',
  'true run unused',
  'true test',
]

void describe('ci: .ci/run', { concurrency: true }, () => {
  void test('runs every part, and prints the seconds of each', (t) => {
    const { status, stdout, stderr, calls } = runScript(t, [])
    assert.deepEqual({ status, stderr, calls }, { status: 0, stderr: '', calls: everyCall })
    const parts = [
      'install',
      'chaos-sqlite',
      'types',
      'lint',
      'format',
      'unused',
      'packages',
      'mutants',
      'chaos-postgres',
      'fast-tier',
      'ci-tier',
    ]
    const passed = [...stdout.matchAll(/^part: ([\w-]+) passed after \d+ s$/gm)].map(([, name]) => name!)
    assert.deepEqual([...new Set(passed)].toSorted(), parts.toSorted())
    assert.match(stdout, /output of run chaos -- --minutes 1 --store sqlite[^]*\nCI took \d+ s in all\n$/)
  })

  void test('goes on after parts that failed, names all of them and their tests at the end, and fails', (t) => {
    const { status, stdout, stderr, calls } = runScript(t, ['run lint', 'run chaos -- --minutes 1 --store postgres', 'test'])
    assert.equal(status, 1)
    assert.deepEqual(calls, [...everyCall, 'true run --silent test:again -- --list'].toSorted())
    const [head, ...rest] = stderr.trim().split('\n')
    assert.equal(head, 'failed:')
    assert.deepEqual(rest.filter((line) => !line.startsWith('    ')).toSorted(), [
      '  chaos-postgres',
      '  fast-tier',
      '  lint',
      'the failed tests',
    ])
    assert.equal(rest[rest.indexOf('  lint') + 1], '    a line of the linter')
    assert.equal(rest.at(-1), 'the failed tests')
    assert.match(stdout, /^part: types passed/m)
  })

  void test('looks for programs in /usr/sbin and /sbin, too, after everything else', (t) => {
    const { status, searched } = runScript(t, [])
    assert.deepEqual([status, searched.slice(-2)], [0, ['/usr/sbin', '/sbin']])
  })

  void test('stops if the packages cannot be installed, because nothing else can run then', (t) => {
    const { status, stderr, calls } = runScript(t, ['ci'])
    assert.deepEqual([status, calls], [1, ['true ci']])
    assert.match(stderr, /^failed: the installation/)
  })

  void test('runs the two commands of the README, and every part of npm run check', () => {
    const script = read('.ci/run')
    assert.match(read('README.md'), /\bnpm ci && npm test\b/)
    for (const command of ['npm ci', 'npm test']) assert.match(script, new RegExp(`^part [\\w-]+ ${command}$`, 'm'))
    const { check } = (JSON.parse(read('package.json')) as { scripts: { check: string } }).scripts
    const parts = check.split(' && ')
    assert.ok(parts.length > 3)
    for (const part of parts) assert.ok(script.includes(` ${part}\n`), part)
  })
})
