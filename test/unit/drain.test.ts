/** The wait of a drain: for running turns and running admissions, and never beyond its limit. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { finishRunning } from '../../src/turn/drain.ts'
import { LiveTurn } from '../../src/turn/live-turn.ts'
import type { AdmittedTurn, JournalEntry } from '../../src/store/turn-records.ts'

const deadlines = { turnMs: 60_000, answerMs: 60_000 }

function liveTurn(requestId: string): LiveTurn {
  return new LiveTurn({ requestId, journal: [] as JournalEntry[] } as AdmittedTurn, deadlines)
}

void test('fault.sigterm: a drain waits for a turn whose admission was running when it started, and for the turn itself', async () => {
  const live = new Map<string, LiveTurn>()
  let underWay = 1
  let drained = false
  const done = finishRunning(live, () => underWay, 60_000).then(() => (drained = true))
  const turn = liveTurn('late')
  live.set('late', turn)
  underWay = 0
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(drained, false)
  turn.finish({ kind: 'failed', code: 'internal_error', state: 'failed' })
  live.delete('late')
  await done
})

void test('fault.sigterm-past-drain: a drain ends at its limit, whatever still runs or is about to', async () => {
  const turn = liveTurn('long')
  await finishRunning(new Map([['long', turn]]), () => 0, 30)
  await finishRunning(new Map(), () => 1, 30)
  assert.equal(turn.ended, false)
  turn.finish({ kind: 'failed', code: 'internal_error', state: 'failed' })
})

void test('fault.sigterm: when nothing runs, a drain ends immediately', async () => {
  await finishRunning(new Map(), () => 0, 60_000)
})
