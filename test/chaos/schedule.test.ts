/** The plan of a chaos run: what the seed determines, what every plan contains, how a run is repeated, and what is reported of processes that ended. */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { createFailpoints, misplacedFailpoint } from '../../src/failpoints.ts'
import { makeFolder } from '../support/test-app.ts'
import { openHistory } from './history.ts'
import type { HistoryEvent } from './history.ts'
import { BadOptions } from '../support/command-line.ts'
import { readOptions } from './options.ts'
import { explainEnd } from './supervised-server.ts'
import type { End, ProcessRun } from './supervised-server.ts'
import { createRandom } from './random.ts'
import { kinds, kindsFor, planSchedule, planVisits, pointsOf, specOf } from './schedule.ts'
import type { ChaosOptions, PlannedFault, StoreKind } from './schedule.ts'
import { isSound, orphanWaits } from './table.ts'
import { explainLine, watchLogs } from './log-watch.ts'
import type { Finding } from './log-watch.ts'

const stores: StoreKind[] = ['sqlite', 'postgres']
const seeds = [1, 7, 42, 4_294_967_295]

function optionsOf(store: StoreKind, seed: number, minutes = 3): ChaosOptions {
  return { seed, minutes, store, processes: store === 'sqlite' ? 1 : 3, callers: 24, faults: kindsFor({ store, minutes }) }
}

const inLane = (plan: PlannedFault[], lane: string): PlannedFault[] => plan.filter((fault) => fault.lane === lane)

void test('one seed gives one schedule, and another seed another', () => {
  for (const store of stores) {
    const plans = seeds.map((seed) => JSON.stringify(planSchedule(optionsOf(store, seed))))
    assert.deepEqual(
      seeds.map((seed) => JSON.stringify(planSchedule(optionsOf(store, seed)))),
      plans,
    )
    assert.equal(new Set(plans).size, seeds.length)
  }
})

void test('a schedule visits every failpoint of its store once before it draws, and every kind of fault', () => {
  for (const store of stores)
    for (const seed of seeds) {
      const plan = planSchedule(optionsOf(store, seed))
      const armed = inLane(plan, 'lives').flatMap(({ points }) => points.map(({ name }) => name))
      const points = pointsOf(store)
      assert.ok(points.length > 40)
      assert.deepEqual(armed.slice(0, points.length).toSorted(), points, 'each once, and none twice before')
      const names = new Set(plan.map(({ name }) => name))
      assert.deepEqual([...names].toSorted(), kindsFor(optionsOf(store, seed)).toSorted())
    }
})

void test('the order in which failpoints are visited is drawn', () => {
  const orders = seeds.map((seed) => planSchedule(optionsOf('sqlite', seed)).flatMap(({ points }) => points.map(({ name }) => name)))
  assert.equal(new Set(orders.map((order) => order.slice(0, 10).join())).size, seeds.length)
  // Nor do those of one life stand side by side in the table.
  const supervisedServers = new Map(pointsOf('sqlite').map((name, at) => [name, at]))
  const [first] = planVisits(pointsOf('sqlite'), createRandom(1), optionsOf('sqlite', 1))
  const at = first!.points.map(({ name }) => supervisedServers.get(name)!)
  assert.ok(Math.max(...at) - Math.min(...at) >= at.length)
})

void test('what a schedule arms is what the server takes, on this store; one point of a life at most kills', () => {
  for (const store of stores)
    for (const { points } of seeds.flatMap((seed) => planSchedule(optionsOf(store, seed)))) {
      const spec = specOf(points)
      assert.equal(createFailpoints(spec).spec, spec)
      assert.equal(misplacedFailpoint(spec, store), undefined)
      assert.ok(points.filter(({ action }) => action === 'kill').length <= 1, spec)
    }
})

void test('a schedule is long enough for its time, kills often, and leaves calm that both lanes share', () => {
  for (const store of stores) {
    const plan = planSchedule(optionsOf(store, 5, 20))
    for (const lane of ['lives', 'beside']) {
      const least = inLane(plan, lane).reduce(
        (sum, { restMs, lastsMs, name }) => sum + restMs + (kinds[name].lane === 'lives' ? 300 : lastsMs),
        0,
      )
      assert.ok(least >= 20 * 60_000, `${lane}: ${least} ms`)
    }
    const processRuns = inLane(plan, 'lives')
    assert.ok(processRuns.filter(({ name }) => name === 'kill' || name === 'failpoint').length > processRuns.length / 2)
    // Renewed after 4 s.
    assert.ok(processRuns.filter(({ quiet, restMs }) => quiet && restMs > 4000).length > 20)
  }
})

void test('points that were armed in vain act at their first hit, in lives in which nothing kills', () => {
  const points = pointsOf('sqlite')
  const again = planVisits(points, createRandom(3), optionsOf('sqlite', 3), { again: true })
  const armed = again.flatMap((visit) => visit.points)
  assert.deepEqual(armed.map(({ name }) => name).toSorted(), points)
  assert.ok(armed.every(({ action, atHit }) => action !== 'kill' && atHit === 1))
})

void test('only the kinds that are asked for come', () => {
  const plan = planSchedule({ ...optionsOf('postgres', 9), faults: ['kill', 'redis-kill'] })
  assert.deepEqual([...new Set(plan.map(({ name }) => name))].toSorted(), ['kill', 'redis-kill'])
})

void test('a replay takes seed, options and schedule from the first line of a history', async (t) => {
  const folder = await makeFolder()
  t.after(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'history.jsonl')
  const history = openHistory(file)
  const options = optionsOf('postgres', 11)
  // As no seed would plan it, so that it can only come from the file.
  const schedule = planSchedule(options).toReversed()
  history.write({ kind: 'begin', at: 0, seed: 11, options, schedule })
  history.write({ kind: 'end', at: 1 })
  await history.close()
  const { plan, ...read } = readOptions(['--replay', file], {})
  assert.deepEqual(plan, schedule)
  for (const [name, value] of Object.entries(options)) assert.deepEqual(read[name as keyof ChaosOptions], value)
})

void test('wrong options are refused, and kinds of fault that are not possible on this machine are reported', () => {
  const bad = [
    ['--store', 'mysql'],
    ['--minutes', '-1'],
    ['--minutes', 'x'],
    ['--seed', '1.5'],
    ['--processes', '2'],
    ['--faults', 'redis-kill'],
    ['--faults', 'nothing'],
    ['--replay', '/nowhere'],
    ['--tree', '/nowhere'],
    ['--nothing', '1'],
  ]
  for (const args of bad) assert.throws(() => readOptions(args, {}), BadOptions, args.join(' '))
  assert.deepEqual(readOptions([], { disk: 'no root' }).impossible, [{ name: 'disk', why: 'no root', asked: false }])
  assert.equal(readOptions([], { disk: 'no root' }).faults.includes('disk'), false)
  const asked = readOptions(['--faults', 'disk,kill'], { disk: 'no root' })
  assert.deepEqual([asked.faults, asked.impossible], [['kill'], [{ name: 'disk', why: 'no root', asked: true }]])
})

void test('a run with a violation, with a failpoint that never acted, or without a fault that was asked for, is not sound', () => {
  const faults = [{ name: 'kill' as const, faults: ['fault.kill-before-admission'], count: 1 }]
  const sound = { violations: [], neverActed: [], impossible: [], counts: { turns: 1 }, faults }
  assert.equal(isSound(sound), true)
  assert.equal(isSound({ ...sound, neverActed: ['model.delta'] }), false)
  assert.equal(isSound({ ...sound, counts: { turns: 0 } }), false, 'without a response')
  assert.equal(isSound({ ...sound, counts: {} }), false, 'the load never began')
  assert.equal(isSound({ ...sound, faults: [{ ...faults[0]!, count: 0 }] }), false, 'nothing was broken')
  assert.equal(isSound({ ...sound, violations: [{ check: 'H1', what: 'two bodies', events: [], shown: [] }] }), false)
  assert.equal(isSound({ ...sound, impossible: [{ name: 'disk', why: 'no root', asked: true }] }), false)
  assert.equal(isSound({ ...sound, impossible: [{ name: 'disk', why: 'no root', asked: false }] }), true)
})

void test('an unexplained end of a process is reported', () => {
  const processRun = (fields: Partial<ProcessRun> = {}): Pick<ProcessRun, 'ending' | 'acted' | 'listens'> => ({
    ending: undefined,
    acted: new Map(),
    listens: true,
    ...fields,
  })
  const killed: End = { code: null, signal: 'SIGKILL' }
  const code = (value: number): End => ({ code: value, signal: null })
  const acted = (name: string, action: string): Map<string, string> => new Map([[name, action]])
  const explained: [Parameters<typeof processRun>[0], End, boolean][] = [
    [{ ending: 'kill' }, killed, false],
    [{ acted: acted('model.delta', 'kill') }, killed, false],
    [{ ending: 'order' }, code(1), false],
    [{ ending: 'order' }, { code: null, signal: 'SIGABRT' }, false],
    [{ ending: 'drain' }, code(0), false],
    [{ ending: 'twice' }, code(1), false],
    [{ ending: 'drain', acted: acted('drain.give-up', 'throw') }, code(1), false],
    [{ listens: false }, code(2), true],
    [{ listens: false, acted: acted('start.after-migrations', 'throw') }, code(1), false],
  ]
  const unexplained: [Parameters<typeof processRun>[0], End, boolean][] = [
    [{}, killed, true],
    [{}, code(0), true],
    [{}, code(1), true],
    [{ acted: acted('renew.before', 'throw') }, code(1), false],
    [{ acted: acted('model.delta', 'throw') }, killed, false],
    [{ ending: 'drain' }, code(1), true],
    [{ ending: 'drain', acted: acted('give-up.before-commit', 'throw') }, code(1), false],
    // It was killed because it never came to its end.
    [{ ending: 'drain' }, killed, false],
    [{ ending: 'order' }, code(0), false],
    [{ listens: false }, code(2), false],
    [{ listens: true }, code(2), true],
    [{ listens: false }, { code: null, signal: 'SIGSEGV' }, true],
  ]
  for (const [fields, end, troubled] of explained) assert.ok(explainEnd(processRun(fields), end, troubled), JSON.stringify([fields, end]))
  for (const [fields, end, troubled] of unexplained)
    assert.equal(explainEnd(processRun(fields), end, troubled), undefined, JSON.stringify([fields, end]))
})

void test('an error in the log of a server is reported unless a fault of the run explains it', () => {
  const line = (text: string, level = 'error') => ({ level, msg: 'could not admit turn: internal error', at: 0, text })
  const processRun = (fields: Partial<ProcessRun> = {}): Pick<ProcessRun, 'ending' | 'acted'> => ({
    ending: undefined,
    acted: new Map(),
    ...fields,
  })
  const thrown = line('{"err":{"type":"FailpointThrown","message":"failpoint admit.before-commit"}}')
  const typeError = line('{"err":{"type":"TypeError","message":"x is undefined"}}')
  const threw = { acted: new Map([['admit.before-commit', 'throw']]) }
  assert.ok(explainLine(processRun(threw), thrown, false))
  assert.equal(explainLine(processRun(), thrown, false), undefined, 'no point threw in this life')
  assert.equal(explainLine(processRun(threw), typeError, false), undefined)
  assert.equal(explainLine(processRun(), typeError, true), undefined)
  const away = line('{"err":{"type":"StoreUnavailable","message":"database or disk is full"}}')
  assert.ok(explainLine(processRun(), away, true))
  assert.equal(explainLine(processRun(), away, false), undefined)
  assert.ok(explainLine(processRun({ ending: 'order' }), line('{}', 'fatal'), false))
  assert.equal(explainLine(processRun(), line('{}', 'fatal'), true), undefined)
})

void test('a broken invariant is reported with every row, as verify shows it', () => {
  const logWatch = watchLogs(openHistory())
  const rows = Array.from({ length: 12 }, (_, n) => ({ owner_id: `own_${n}`, balance: BigInt(n), held: 0n }))
  logWatch.broken({ id: 'I2', name: 'balance-never-negative', sentence: 'Balance and held are never negative.', rows })
  const [{ check, what }] = logWatch.violations as [Finding]
  const [head, ...shown] = what.split('\n')
  assert.match(`${check} ${head}`, /^verify BROKEN {2}I2 {3}balance-never-negative +Balance and held are never negative\.$/)
  assert.deepEqual(
    shown,
    rows.map(({ owner_id, balance }) => `        {"owner_id":"${owner_id}","balance":"${balance}","held":"0"}`),
  )
})

void test('an orphan waits from the kill of its process to the final answer to its key', () => {
  const call = { kind: 'call', key: 'plain', user: 'u', idempotencyKey: 'k', transport: 'chat', message: 'm' } as const
  const answer = { kind: 'answer', headAt: null, headers: {}, body: null, events: null } as const
  const kill = { kind: 'process', what: 'killed', code: null, signal: 'SIGKILL', why: 'kill' } as const
  const final = { key: 'plain', idempotencyKey: 'k', message: 'm', openedAt: 100, finalAt: 1500, end: 'reply', met: ['broken'] }
  const events: HistoryEvent[] = [
    { ...call, call: 1, at: 100, supervised: 0 },
    // The connection breaks a moment before the process is known to be gone.
    { ...answer, call: 1, at: 200, status: null, end: 'broken' },
    { ...kill, at: 205, supervised: 0 },
    // Broken without a kill.
    { ...call, idempotencyKey: 'other', call: 2, at: 150, supervised: 1 },
    { ...answer, call: 2, at: 210, status: null, end: 'broken' },
  ]
  const finals = [final, { ...final, idempotencyKey: 'other', finalAt: 3000 }]
  assert.deepEqual(orphanWaits(events, finals), [{ ms: 1300, disturbed: false }])
  const twice = [...events, { ...kill, at: 900, supervised: 2 }]
  assert.deepEqual(orphanWaits(twice, finals), [{ ms: 1300, disturbed: true }])
  assert.deepEqual(orphanWaits(events, [{ ...final, finalAt: undefined, end: 'open' }]), [])
})
