/** When an idle process gives memory back, and that V8 really does. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { join } from 'node:path'
import { createIdleMemory } from '../../src/process/idle-memory.ts'

const mebibyte = 1024 * 1024

function start(looks = 3) {
  const state = { running: 0, busy: 0, took: 0, mebibytes: 400, collections: 0 }
  const look = createIdleMemory(
    {
      running: () => state.running,
      busy: () => {
        const busy = state.busy + state.took
        state.took = 0
        return busy
      },
      rssBytes: () => state.mebibytes * mebibyte,
      collect: () => {
        state.collections++
        state.mebibytes = 200
        // Of the interval that begins.
        state.took = 0.5
      },
    },
    looks,
  )
  const lookAgain = (times: number): number => {
    for (let count = 0; count < times; count++) look()
    return state.collections
  }
  return { state, look: lookAgain }
}

void test('idle memory: one collection after several idle intervals in a row, and not again while nothing happens', () => {
  const { look } = start()
  assert.equal(look(2), 0)
  assert.equal(look(1), 1)
  assert.equal(look(50), 1)
})

void test('idle memory: a running turn, or an event loop that is busy, starts the count again', () => {
  const { state, look } = start()
  look(2)
  state.running = 1
  assert.equal(look(10), 0)
  state.running = 0
  look(2)
  state.busy = 0.06
  assert.equal(look(10), 0)
  state.busy = 0.05
  assert.equal(look(2), 0)
  assert.equal(look(1), 1)
})

void test('idle memory: after a load, it is worth another collection only if the process has grown', () => {
  const { state, look } = start()
  look(4)
  for (const [mebibytes, collections] of [
    [231, 1],
    [232, 2],
    [231, 2],
  ] as const) {
    state.running = 1
    look(1)
    state.running = 0
    state.mebibytes = mebibytes
    assert.equal(look(4), collections, `${mebibytes} MiB`)
  }
})

void test('idle memory: a load directly after a collection is not taken for what the process keeps', () => {
  const { state, look } = start()
  look(3)
  state.running = 1
  state.mebibytes = 500
  look(1)
  state.running = 0
  assert.equal(look(3), 2)
})

void test('idle memory: the memory of a process falls', () => {
  const program = `
    import { setTimeout as pass } from 'node:timers/promises'
    import { returnMemoryWhenIdle } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, '../../src/process/idle-memory.ts')).href)}
    const mib = () => process.memoryUsage.rss() / 2 ** 20
    // Objects that live for a while make the space for young ones grow, and fill the one for old ones with garbage.
    let kept = []
    for (let count = 0; count < 3e6; count++) {
      kept.push({ count, text: 'text ' + count })
      if (kept.length > 5e5) kept = []
    }
    kept = undefined
    const before = mib()
    returnMemoryWhenIdle(() => 0, 20, 3)
    const end = Date.now() + 60_000
    while (before - mib() < 32 && Date.now() < end) await pass(20)
    console.log(JSON.stringify({ before, after: mib() }))`
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  const { before, after } = JSON.parse(stdout) as { before: number; after: number }
  assert.ok(before - after >= 32, `${before.toFixed()} MiB before, ${after.toFixed()} after`)
})
