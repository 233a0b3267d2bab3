/** `stream.resume`: a listener that joins anywhere gets exactly the rest of the text, whichever attempt wrote it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { until } from '../support/until.ts'
import type { AdmittedTurn, JournalEntry } from '../../src/store/turn-records.ts'
import { LiveTurn } from '../../src/turn/live-turn.ts'
import { textStart, TurnText } from '../../src/turn/turn-text.ts'
import type { TextPosition } from '../../src/turn/turn-text.ts'

/** A client that keeps what it is shown, as a page does, and the position of the last event. */
class Shown {
  text: string
  position: TextPosition
  resets = 0

  constructor(text = '', position = textStart) {
    this.text = text
    this.position = position
  }

  onText(text: string, position: TextPosition): void {
    assert.notEqual(text, '')
    this.text += text
    this.position = position
  }

  onReset(): void {
    this.text = ''
    this.position = textStart
    this.resets++
  }
}

// Few letters, so that two attempts often start with the same text; and characters of every length in UTF-8 and UTF-16.
const delta = fc.string({ unit: fc.constantFrom('a', 'b', 'ä', '€', '😀'), minLength: 1, maxLength: 3 })
const deltas = fc.array(delta, { maxLength: 8 })

void test('stream.resume: a client that reconnects after any event, to any attempt, is shown the text of the reply once', () => {
  fc.assert(
    fc.property(deltas, deltas, fc.nat(), fc.nat(), fc.boolean(), (first, second, cut, join, ends) => {
      const before = new TurnText()
      const seen = new Shown()
      const leave = before.listen(seen)
      const received = first.slice(0, cut % (first.length + 1))
      for (const text of received) before.append(text)
      leave()
      for (const text of first.slice(received.length)) before.append(text)
      assert.equal(seen.text, received.join(''))

      const after = new TurnText()
      const joins = join % (second.length + 1)
      for (const text of second.slice(0, joins)) after.append(text)
      const resumed = new Shown(seen.text, seen.position)
      after.listen(resumed, seen.position)
      for (const text of second.slice(joins)) after.append(text)
      const reply = second.join('')
      if (ends) after.complete(reply)
      const isSame = reply.startsWith(seen.text)
      if (ends || reply.length >= seen.text.length) assert.equal(resumed.text, reply)
      // Until it has ended, an attempt with less text may still turn out to be the same.
      else assert.equal(resumed.text, seen.text)
      assert.equal(resumed.resets, isSame || (!ends && reply.length < seen.text.length) ? 0 : 1)
    }),
    { numRuns: 2000 },
  )
})

void test('stream.resume: many listeners get the same text, and one that has left gets none', () => {
  const text = new TurnText()
  const [early, late, gone] = [new Shown(), new Shown(), new Shown()]
  text.listen(early)
  const leave = text.listen(gone)
  text.append('one ')
  leave()
  text.listen(late)
  text.append('two')
  assert.deepEqual([early.text, late.text, gone.text], ['one two', 'one two', 'one '])
  assert.deepEqual(early.position, late.position)
})

void test('stream.resume: another attempt with the same text shows nothing again, and one with another text starts over once', () => {
  const text = new TurnText()
  const shown = new Shown()
  text.listen(shown)
  text.append('It rains')
  text.startOver()
  text.append('It ')
  assert.equal(shown.text, 'It rains')
  text.append('rains in Oslo')
  assert.deepEqual([shown.text, shown.resets], ['It rains in Oslo', 0])
  text.startOver()
  text.append('It snows in Oslo, and more')
  assert.deepEqual([shown.text, shown.resets], ['It snows in Oslo, and more', 1])
})

const tick = (): Promise<void> => new Promise(setImmediate)

void test('stream.resume overload.follows: many listeners get the same text as one, whatever happens between two rounds', async () => {
  const steps = fc.array(
    fc.oneof(
      delta.map((text) => ({ text })),
      fc.constantFrom('tick' as const, 'join' as const, 'leave' as const, 'start over' as const),
    ),
    { maxLength: 12 },
  )
  await fc.assert(
    fc.asyncProperty(steps, delta, fc.boolean(), async (all, last, ends) => {
      const text = new TurnText()
      const seen = Array.from({ length: 60 }, () => new Shown())
      const leave = seen.map((one) => text.listen(one))
      let reply = ''
      for (const step of all) {
        if (step === 'tick') await tick()
        else if (step === 'join') {
          seen.push(new Shown())
          text.listen(seen.at(-1)!)
        } else if (step === 'leave') {
          seen.shift()
          leave.shift()!()
        } else if (step === 'start over') {
          text.startOver()
          reply = ''
        } else {
          text.append(step.text)
          reply += step.text
        }
      }
      if (ends) text.complete(reply + last)
      else {
        text.append(last)
        text.catchUp()
      }
      const longest = Math.max(...seen.map((one) => one.text.length))
      // Without an end, a shorter second attempt may still turn out to be the same.
      for (const one of seen) if (ends || longest <= reply.length + last.length) assert.equal(one.text, reply + last)
    }),
    { numRuns: 200 },
  )
})

void test('overload.follows: many listeners are served in parts, and what comes during a round is one text of the next one', async () => {
  const text = new TurnText()
  const all = Array.from({ length: 60 }, () => new Shown())
  const calls: number[] = Array(60).fill(0)
  for (const [at, one] of all.entries())
    text.listen({ onText: (...given) => void (calls[at]!++, one.onText(...given)), onReset: () => one.onReset() })
  text.append('a')
  assert.equal(all.filter((one) => one.text === 'a').length, 25)
  for (let count = 0; count < 50; count++) {
    text.append('b')
    if (count % 10 === 0) await tick()
  }
  const whole = `a${'b'.repeat(50)}`
  await until('all have the text', () => all.every((one) => one.text === whole))
  assert.ok(
    calls.every((count) => count <= 6),
    calls.join(' '),
  )
  // A few are served at once.
  const few = new TurnText()
  const shown = new Shown()
  few.listen(shown)
  few.append('a')
  few.append('b')
  assert.equal(shown.text, 'ab')
})

void test('overload.follows: many listeners of a turn that fails have all of its text before the end', async () => {
  const turn = new LiveTurn({ journal: [] as JournalEntry[] } as AdmittedTurn, { turnMs: 1_000_000, answerMs: 1_000_000 })
  const all = Array.from({ length: 60 }, () => new Shown())
  for (const one of all) turn.listen(one)
  turn.deliver('a')
  turn.deliver('b')
  turn.finish({ kind: 'failed', code: 'service_unavailable', state: null })
  await turn.end
  assert.deepEqual(
    all.map((one) => one.text),
    Array.from({ length: 60 }, () => 'ab'),
  )
})
