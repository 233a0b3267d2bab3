/** The options of `npm run simulate`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readOptions } from './options.ts'

void test('npm run simulate: bad options are refused with one line that says why', () => {
  const bad: [string[], string][] = [
    [['--sead', '1'], "Unknown option '--sead'"],
    [['--seed', '-1'], "Option '--seed' argument is ambiguous"],
    [['--minutes', '0'], '--minutes must be a number above 0, not 0'],
    [['--minutes='], '--minutes must be a number above 0, not '],
    [['--seed', '1.5'], '--seed must be a whole number, not 1.5'],
    [['--path', '0:1'], '--path needs --seed, which its failed run printed beside it'],
  ]
  for (const [args, why] of bad) assert.throws(() => readOptions(args), { message: why }, args.join(' '))
})

void test('npm run simulate: options have defaults, and a failed run is repeated from its seed and path', () => {
  const defaults = { minutes: 30, seed: undefined, path: undefined, jsonFile: undefined, shrink: true }
  assert.deepEqual(readOptions([]), defaults)
  const again = readOptions(['--seed', '7', '--path', '0:1', '--minutes', '0.5', '--no-shrink', '--json', 'x.json'])
  assert.deepEqual(again, { ...defaults, seed: 7, path: '0:1', minutes: 0.5, shrink: false, jsonFile: 'x.json' })
})
