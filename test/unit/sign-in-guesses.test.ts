/** `operator.guesses` with a moved clock: how long a guess waits, what the guesses of others change, and how much is stored. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSignInGuesses } from '../../src/http/console/sign-in-guesses.ts'
import type { Guess } from '../../src/http/console/sign-in-guesses.ts'

function guessing() {
  const clock = { now: 5_000 }
  const guesses = createSignInGuesses(() => clock.now)
  const from = (account: string, address: string, knownBrowser?: string): Guess => ({ account, address, knownBrowser })
  /** Seconds to wait; 0 for a wrong guess that was counted. */
  const wrong = (guess: Guess): number => {
    const started = guesses.start(guess)
    return 'waitSeconds' in started ? started.waitSeconds : 0
  }
  const right = (guess: Guess): boolean => {
    const started = guesses.start(guess)
    if ('waitSeconds' in started) return false
    started.right()
    return true
  }
  const address = (index: number): string => `10.0.${index >> 8}.${index & 255}`
  return { clock, from, wrong, right, address }
}

void test('operator.guesses: after ten wrong passwords of an account, from whatever addresses, the next waits 1, 2, 4, … and at most 60 seconds', () => {
  const { clock, from, wrong, address } = guessing()
  for (let index = 0; index < 10; index++) assert.equal(wrong(from('ada', address(index))), 0)
  const waits: number[] = []
  for (let index = 10; index < 20; index++) {
    const seconds = wrong(from('ada', address(index)))
    waits.push(seconds)
    clock.now += seconds * 1000 - 1
    assert.equal(wrong(from('ada', address(index))), 1, 'a millisecond early')
    clock.now += 1
    assert.equal(wrong(from('ada', address(index))), 0)
  }
  assert.deepEqual(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60, 60])
  assert.equal(wrong(from('grace', address(1))), 0, 'another account')
})

void test('operator.guesses: the right password is accepted after the wait, however many wrong ones there were; no account stays locked', () => {
  const { clock, from, wrong, right, address } = guessing()
  for (let index = 0; index < 1000; index++) {
    wrong(from('ada', address(index)))
    clock.now += 60_000
  }
  assert.equal(right(from('ada', '192.0.2.1')), true)
})

void test('operator.guesses: a browser that is known to the account waits for none of the guesses of others, not even at its own address', () => {
  const { from, wrong, right, address } = guessing()
  for (let index = 0; index < 10; index++) wrong(from('ada', address(index)))
  for (let index = 0; index < 30; index++) wrong(from(`account ${index}`, '192.0.2.1'))
  assert.equal(right(from('ada', '192.0.2.1')), false)
  for (let time = 0; time < 50; time++) assert.equal(right(from('ada', '192.0.2.1', 'browser 1')), true)
  for (let time = 0; time < 10; time++) assert.equal(wrong(from('ada', '192.0.2.1', 'browser 1')), 0)
  assert.equal(wrong(from('ada', '192.0.2.1', 'browser 1')), 1, 'its own wrong ones count')
  assert.equal(right(from('ada', '192.0.2.1', 'browser 2')), true)
})

void test('operator.guesses: after 30 wrong passwords of an address, for whatever accounts, the next waits at most 10 seconds', () => {
  const { clock, from, wrong } = guessing()
  for (let index = 0; index < 30; index++) assert.equal(wrong(from(`account ${index}`, `2001:db8:1:2::${index}`)), 0)
  let wait = 0
  for (let index = 30; index < 40; index++) {
    wait = wrong(from(`account ${index}`, '2001:db8:1:2:ffff::1'))
    clock.now += wait * 1000
    assert.equal(wrong(from(`account ${index}`, '2001:db8:1:2:ffff::1')), 0)
  }
  assert.equal(wait, 10)
  assert.equal(wrong(from('account 1', '2001:db8:1:3::1')), 0)
})

void test('operator.guesses: guesses at the same time count before they are checked, and a right one is taken back', () => {
  const { clock, from, wrong, right } = guessing()
  for (let index = 0; index < 9; index++) wrong(from('ada', '192.0.2.1'))
  for (let time = 0; time < 5; time++) assert.equal(right(from('ada', '192.0.2.1')), true, 'it does not start a wait')
  assert.equal(wrong(from('ada', '192.0.2.1')), 0)
  assert.equal(wrong(from('ada', '192.0.2.1')), 1)
  clock.now += 60 * 60 * 1000
  for (let index = 0; index < 10; index++) assert.equal(wrong(from('ada', '192.0.2.1')), 0, 'forgotten an hour after the last')
})

void test('operator.guesses: many accounts do not exhaust memory: the one with the oldest guess is forgotten', () => {
  const { from, wrong, address } = guessing()
  for (let index = 0; index < 10; index++) wrong(from('ada', address(index)))
  for (let index = 0; index < 4095; index++) wrong(from(`account ${index}`, address(index % 4000)))
  assert.equal(wrong(from('ada', '192.0.2.1')), 1)
  wrong(from('one more', '192.0.2.2'))
  assert.equal(wrong(from('ada', '192.0.2.3')), 0)
})
