/** The load and the checker against a real server on which nothing is broken: no promise is broken either. And what a seed decides is decided for ever. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { ampleAdminLimits } from '../support/admin-limits.ts'
import { startServer } from '../support/server-process.ts'
import { check, countAccepted, countAccess, countCancels, countResumes, countUnfair, resolutions } from './check.ts'
import { watchCrowd } from './crowd.ts'
import { openHistory, readHistory } from './history.ts'
import { behaviours, drawMessage, readMessage, ruledOf } from './messages.ts'
import { createRandom } from './random.ts'
import { openUpstream } from './upstream.ts'
import { startWorkload } from './workload.ts'

const adminToken = 'operator-of-the-chaos-harness'
// Some hundred turns, with every manner of caller among them, on a machine that has nothing else to do.
const loadMs = 7000

void test('a server on which nothing is broken breaks no promise, whatever its callers do', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-chaos-'))
  const file = join(folder, 'history.jsonl')
  const history = openHistory(file)
  const upstream = await openUpstream({ history })
  const server = await startServer({
    TURNKEEP_DATA_DIR: join(folder, 'data'),
    TURNKEEP_DEMO: 'off',
    ...ampleAdminLimits,
    TURNKEEP_ADMIN_TOKEN: adminToken,
    TURNKEEP_ALLOW_PRIVATE_HOSTS: upstream.allowPrivateHosts,
  })
  t.after(async () => {
    await server.kill()
    await upstream.close()
    await history.close()
    rmSync(folder, { recursive: true, force: true })
  })
  history.write({ kind: 'begin', at: 0, seed: 11, options: {}, schedule: [] })
  history.write({ kind: 'process', at: history.now(), supervised: 0, what: 'started', why: 'the only one' })
  const target = { urls: [server.url], adminToken, store: 'sqlite' as const, adminUrl: () => server.url }
  const workload = await startWorkload({ target, random: createRandom(11), history, callers: 16, upstream })
  // What is late because of other programs on the machine is not a broken promise.
  const unwatch = watchCrowd({ history, logWatch: { crowded: () => undefined } })
  t.after(unwatch)
  await workload.begin()
  await pass(loadMs)
  await workload.stop()
  await upstream.close()
  unwatch()
  history.write({ kind: 'end', at: history.now() })
  await history.close()

  t.diagnostic(
    `continued streams: ${JSON.stringify(countResumes(history.events))}, cancels: ${JSON.stringify(countCancels(history.events))}, ` +
      `not waited: ${JSON.stringify(countAccepted(history.events))}, access: ${JSON.stringify(countAccess(history.events))}, ` +
      `unfair: ${JSON.stringify(countUnfair(history.events))}`,
  )
  const violations = check(history.events).map(({ check: name, what }) => `${name}: ${what}`)
  assert.deepEqual(violations, [], 'a promise is broken')
  assert.deepEqual(readHistory(file), JSON.parse(JSON.stringify(history.events)), 'the file holds what was checked')
  const { turns, open, calls, resumes, cancels, accepted, polls, feedback, access, unfair } = workload.counts()
  assert.equal(open, 0, 'every key has come to its end')
  assert.ok(turns >= 10 && calls > turns, `${turns} turns in ${calls} calls`)
  assert.ok(resumes > 0 && cancels > 0, `${resumes} streams continued, ${cancels} requests to cancel`)
  assert.ok(accepted > 0 && polls > 0 && feedback > 0, `${accepted} accepted, ${polls} polls, ${feedback} times feedback`)
  assert.ok(access > 10, `${access} requests about access`)
  assert.ok(unfair > 0, `${unfair} requests of the unfair owner`)
  assert.ok(resolutions(history.events).some(({ end }) => end === 'reply'))
  const last = history.events.filter((event) => event.kind === 'call' && event.final)
  assert.ok(last.length >= turns, 'each is asked once more')
})

void test('a history keeps the lines that are whole', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-chaos-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'history.jsonl')
  const history = openHistory(file)
  history.write({ kind: 'end', at: 1 })
  await history.close()
  assert.deepEqual(readHistory(file), [{ kind: 'end', at: 1 }])
})

void test('one seed draws the same for ever, and no part of it moves another', () => {
  const drawn = (seed: number): number[] => {
    const random = createRandom(seed)
    return Array.from({ length: 5 }, () => random.int(0, 999))
  }
  // Written down once: another algorithm would make every history that was kept another one.
  assert.deepEqual(drawn(7), [11, 61, 976, 699, 521])
  assert.notDeepEqual(drawn(8), drawn(7))
  const [used, fresh] = [createRandom(7), createRandom(7)]
  used.shuffle([1, 2, 3, 4])
  assert.equal(used.fork('callers').int(0, 1e9), fresh.fork('callers').int(0, 1e9))
  assert.notEqual(fresh.fork('callers').int(0, 1e9), fresh.fork('faults').int(0, 1e9))
  const random = createRandom(3)
  const rolled = Array.from({ length: 6000 }, () => random.int(1, 6))
  for (const face of [1, 2, 3, 4, 5, 6]) {
    const share = rolled.filter((one) => one === face).length
    assert.ok(share > 850 && share < 1150, `${share} of 6000 are ${face}`)
  }
  assert.deepEqual(random.shuffle([1, 2, 3]).toSorted(), [1, 2, 3])
})

void test('every behaviour of the model is drawn, and a message says again what was drawn', () => {
  const random = createRandom(1)
  const seen = new Set<string>()
  for (let n = 0; n < 3000; n++) {
    const message = drawMessage(random.fork(`${n}`), { name: `m-${n}`, canary: 'quartz7', hasTools: n % 2 === 0 })
    const read = readMessage(message)
    assert.deepEqual([read?.name, read?.canary], [`m-${n}`, 'quartz7'], message)
    assert.ok(ruledOf(message)!.calls >= 1)
    seen.add(read!.behaviour)
  }
  assert.deepEqual([...seen].toSorted(), Object.keys(behaviours).toSorted())
})
