/** `session.guesses` with a moved clock: when an address is accepted again, what counts as one address, and how much is stored. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGuessLimit } from '../../src/http/console/guess-limit.ts'

const minute = 60_000

function limited() {
  const clock = { now: 1_000 }
  const guesses = createGuessLimit(() => clock.now)
  const guess = (address: string, times: number): void => {
    for (let time = 0; time < times; time++) guesses.wrong(address)
  }
  return { clock, guesses, guess }
}

void test('session.guesses: the tenth wrong token blocks an address until five minutes after the first; then the count restarts', () => {
  const { clock, guesses, guess } = limited()
  guess('192.0.2.1', 1)
  clock.now += minute
  guess('192.0.2.1', 8)
  assert.equal(guesses.waitSeconds('192.0.2.1'), undefined)
  guess('192.0.2.1', 1)
  assert.equal(guesses.waitSeconds('192.0.2.1'), 240)
  clock.now += 4 * minute - 1
  assert.equal(guesses.waitSeconds('192.0.2.1'), 1)
  clock.now += 1
  assert.equal(guesses.waitSeconds('192.0.2.1'), undefined)
  guess('192.0.2.1', 9)
  assert.equal(guesses.waitSeconds('192.0.2.1'), undefined)
  guess('192.0.2.1', 1)
  assert.equal(guesses.waitSeconds('192.0.2.1'), 300)
})

void test('session.guesses: a right token clears the count of its own address alone', () => {
  const { guesses, guess } = limited()
  guess('192.0.2.1', 9)
  guess('192.0.2.2', 10)
  guesses.right('192.0.2.1')
  guess('192.0.2.1', 9)
  assert.deepEqual([guesses.waitSeconds('192.0.2.1'), guesses.waitSeconds('192.0.2.2')], [undefined, 300])
})

void test('session.guesses: IPv6 counts by network prefix and not by address; IPv4-mapped addresses count as IPv4', () => {
  const { guesses, guess } = limited()
  const line = ['2001:db8:1:2::1', '2001:db8:1:2:ffff::', '2001:db8:1:2:a:b:c:d', '2001:db8:1:2::192.0.2.9']
  for (const address of [...line, ...line, ...line.slice(0, 2)]) guess(address, 1)
  for (const address of [...line, '2001:db8:1:2:9::9']) assert.equal(guesses.waitSeconds(address), 300, address)
  for (const address of ['2001:db8:1:3::1', '2001:db8:1::2', '::1', '192.0.2.9']) assert.equal(guesses.waitSeconds(address), undefined)
  guess('::ffff:192.0.2.9', 10)
  assert.equal(guesses.waitSeconds('192.0.2.9'), 300)
})

void test('session.guesses: many addresses do not exhaust memory: the oldest is forgotten', () => {
  const { guesses, guess } = limited()
  guess('192.0.2.1', 10)
  for (let index = 0; index < 4095; index++) guess(`10.0.${index >> 8}.${index & 255}`, 1)
  assert.equal(guesses.waitSeconds('192.0.2.1'), 300)
  guess('198.51.100.1', 10)
  assert.deepEqual([guesses.waitSeconds('192.0.2.1'), guesses.waitSeconds('198.51.100.1')], [undefined, 300])
})
