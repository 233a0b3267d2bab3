/** The options of `npm run simulate`: help, and bad options, without a stack trace. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { readOptions } from './options.ts'

const program = join(import.meta.dirname, 'run.ts')

function simulate(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', program, ...args], {
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

void test('npm run simulate: --help shows every option and ends with 0', () => {
  const { status, stdout, stderr } = simulate('--help')
  assert.deepEqual([status, stderr], [0, ''])
  for (const option of ['--minutes', '--seed', '--path', '--no-shrink', '--json', '--help']) assert.ok(stdout.includes(option), option)
})

void test('npm run simulate: bad options end with 2 and one line that says why', () => {
  const bad: [string[], string][] = [
    [['--sead', '1'], "Unknown option '--sead'"],
    [['--seed', '-1'], "Option '--seed' argument is ambiguous"],
    [['--minutes', '0'], '--minutes must be a number above 0, not 0'],
    [['--minutes='], '--minutes must be a number above 0, not '],
    [['--seed', '1.5'], '--seed must be a whole number, not 1.5'],
    [['--path', '0:1'], '--path needs --seed, which its failed run printed beside it'],
  ]
  for (const [args, why] of bad) assert.throws(() => readOptions(args), { message: why }, args.join(' '))
  const expected = { status: 2, stdout: '', stderr: "Unknown option '--sead'. Run npm run simulate -- --help.\n" }
  assert.deepEqual(simulate('--sead', '1'), expected)
})

void test('npm run simulate: options have defaults, and a failed run is repeated from its seed and path', () => {
  const defaults = { help: false, minutes: 30, seed: undefined, path: undefined, jsonFile: undefined, shrink: true }
  assert.deepEqual(readOptions([]), defaults)
  const again = readOptions(['--seed', '7', '--path', '0:1', '--minutes', '0.5', '--no-shrink', '--json', 'x.json'])
  assert.deepEqual(again, { ...defaults, seed: 7, path: '0:1', minutes: 0.5, shrink: false, jsonFile: 'x.json' })
})
