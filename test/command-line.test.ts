/** The commands of developers: help, and bad options without a stack trace, before anything starts. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '..')
const commands = {
  bench: ['--only', '--continue', '--stored-turns', '--peers', '--write'],
  chaos: ['--minutes', '--store', '--processes', '--faults', '--replay', '--tree'],
  simulate: ['--minutes', '--seed', '--path', '--no-shrink', '--json'],
}
const programs = { bench: 'bench/run.ts', chaos: 'test/chaos/run.ts', simulate: 'test/simulation/run.ts' }

for (const [name, options] of Object.entries(commands)) {
  const run = (...args: string[]): [number | null, string, string] => {
    const program = join(root, programs[name as keyof typeof programs])
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', program, ...args], {
      encoding: 'utf8',
    })
    return [status, stdout, stderr]
  }

  void test(`npm run ${name}: --help shows the options and ends with 0`, () => {
    const [status, stdout, stderr] = run('--help')
    assert.deepEqual([status, stderr], [0, ''])
    assert.ok(stdout.startsWith(`Usage: npm run ${name} -- [options]`), stdout)
    for (const option of [...options, '--help']) assert.ok(stdout.includes(option), option)
  })

  void test(`npm run ${name}: a bad option ends with 2 and one line that says what to do`, () => {
    assert.deepEqual(run('--sead', '1'), [2, '', `Unknown option '--sead'. Run npm run ${name} -- --help.\n`])
  })
}
