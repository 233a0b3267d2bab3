/**
 * Runs every failpoint of docs/failpoints.md with every action it allows, in real servers under a load that reaches all of them. Each
 * failpoint must log that it acts. Whatever it does to its process or its connection, every key must have one answer in the end, and the
 * ledger must be correct.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { failpointDrops, failpointNames, failpointStores } from '../../src/failpoints.ts'
import type { FailpointName } from '../../src/failpoints.ts'
import { missing } from '../support/tool-process-runs.ts'
import type { StoreKind } from '../support/tool-process-runs.ts'
import { walkProcessRuns } from '../support/walked-process-runs.ts'
import type { ProcessRun, Walk } from '../support/walked-process-runs.ts'

const all = Object.keys(failpointNames) as FailpointName[]
/** PostgreSQL behaves differently only in its commits and at its start. The other points are in code that does not depend on the store. */
const ownOf: Record<StoreKind, (name: FailpointName) => boolean> = {
  sqlite: () => true,
  postgres: (name) => /commit|^start\.|^admit\./.test(name),
}
const pointsOf = (store: StoreKind): FailpointName[] =>
  all.filter((name) => (failpointStores[name] ?? store) === store && ownOf[store](name))
const droppedOn = (store: StoreKind): FailpointName[] =>
  pointsOf(store).filter((name) => failpointDrops[name] !== undefined && (store === 'postgres') === (failpointDrops[name] === 'database'))

/** A throw at these points ends the process (a start or a drain fails), so each has a separate process run. */
const endsLife = (name: FailpointName): boolean => /^(start|drain)\./.test(name)
const isAfterCommit = (name: FailpointName): boolean => name.endsWith('.after-commit')
const armed = (names: FailpointName[], action: string): string => names.map((name) => `${name}=${action}@1`).join(';')

function assertActed({ acted, pid, shown }: ProcessRun, names: FailpointName[], action: string): void {
  const said = acted.filter((line) => line.action === action && line.hit === 1 && line.pid === pid).map(({ failpoint }) => failpoint)
  assert.deepEqual(said.toSorted(), names.toSorted(), shown)
}

async function killAtEach(walk: Walk, names: FailpointName[]): Promise<void> {
  for (const name of names) {
    const processRun = await walk.live(`${name}=kill`)
    assert.equal(processRun.signal, 'SIGKILL', `${name} was not come to\n${processRun.shown}`)
    assertActed(processRun, [name], 'kill')
  }
  await walk.end()
}

async function throwAtEach(walk: Walk, names: FailpointName[]): Promise<void> {
  for (const name of names.filter(endsLife)) {
    const processRun = await walk.live(`${name}=throw`)
    assert.equal(processRun.code, 1, processRun.shown)
    assertActed(processRun, [name], 'throw')
  }
  // A throw before a commit can prevent the load from reaching later points, so these have separate process runs.
  const others = names.filter((name) => !endsLife(name))
  for (const half of [others.filter((name) => !isAfterCommit(name)), others.filter(isAfterCommit)]) {
    const processRun = await walk.live(armed(half, 'throw'))
    assert.equal(processRun.code, 0, `none of them ends the process\n${processRun.shown}`)
    assertActed(processRun, half, 'throw')
  }
  await walk.end()
}

async function together(walk: Walk, names: FailpointName[], action: string): Promise<void> {
  const processRun = await walk.live(armed(names, action))
  assert.equal(processRun.code, 0, processRun.shown)
  assertActed(processRun, names, action.split(':')[0]!)
  await walk.end()
}

const killFaults =
  'fault.kill-before-admission fault.kill-before-model fault.kill-mid-stream fault.kill-before-settlement fault.kill-after-settlement fault.cancel-then-kill'
// Concurrent servers, each with its own load.
const chains: Record<StoreKind, number> = { sqlite: 4, postgres: 2 }
// On a busy machine, about seventy process runs take longer than other tests. The deadline of the whole file is slightly later.
const limitMs = 590_000

/** Tests every point on one store. */
export function walkEveryFailpoint(store: StoreKind): void {
  const names = pointsOf(store)
  void describe(`every failpoint on ${store}`, { concurrency: 4, timeout: limitMs, skip: missing(store) }, () => {
    for (let chain = 0; chain < chains[store]; chain++) {
      const own = names.filter((_, index) => index % chains[store] === chain)
      void test(`${killFaults} turn.states: kill -9, part ${chain + 1}: ${own.join(', ')}`, async (t) =>
        killAtEach(await walkProcessRuns(t, store), own))
    }
    void test('unavailable.unknown billing.once: an error at each loses nothing, and only a start or a drain that fails ends the process', async (t) =>
      throwAtEach(await walkProcessRuns(t, store), names))
    void test('billing.once: a delay at each', async (t) => together(await walkProcessRuns(t, store), names, 'delay:20'))
    const faults =
      store === 'sqlite'
        ? 'fault.caller-gone-before-text fault.caller-gone-mid-reply fault.model-stream-truncated stream.after-delta'
        : 'fault.postgres-connection-lost fault.commit-reply-lost'
    void test(`${faults} billing.once: a connection dropped at each that has one`, async (t) =>
      together(await walkProcessRuns(t, store), droppedOn(store), 'drop'))
  })
}
