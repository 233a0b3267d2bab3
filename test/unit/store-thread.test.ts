/** The main thread's side of a store thread, with a thread that is busy. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { StoreThread } from '../../src/store/sqlite/store-thread.ts'
import { StoreUnavailable } from '../../src/store/store.ts'

const serving = new URL('../../src/store/sqlite/serve-thread.ts', import.meta.url).href

/** Answers one call at a time, each after `ms`, in which the thread is blocked, as it is by a report. */
const slow = (ms: number): string => `import { serveThread } from ${JSON.stringify(serving)}
const cell = new Int32Array(new SharedArrayBuffer(4))
serveThread(() => ({
  db: { close() {} },
  maxCalls: 1,
  async answer([call]) {
    Atomics.wait(cell, 0, 0, ${ms})
    return [{ id: call.id, outcomes: [{ value: call.id }] }]
  },
}))`

async function openThread(ms: number, folder: string): Promise<StoreThread> {
  const file = join(folder, 'thread.mjs')
  writeFileSync(file, slow(ms))
  const thread = new StoreThread(pathToFileURL(file), { folder, failpoints: '', clockOffset: new SharedArrayBuffer(8) })
  await thread.open()
  return thread
}

void test('a thread that closes answers what was asked before; with a limit, it rejects what has no answer by then', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-thread-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const patient = await openThread(10, folder)
  const answered = Promise.all(Array.from({ length: 10 }, () => patient.ask('read', {})))
  await patient.close()
  assert.equal((await answered).length, 10)
  // Half a minute of work.
  const limited = await openThread(1_000, folder)
  const asked = Promise.allSettled(Array.from({ length: 30 }, () => limited.ask('read', {})))
  await limited.close(1_500)
  const rejected = (await asked).flatMap((result) => (result.status === 'rejected' ? [result.reason as Error] : []))
  assert.ok(rejected.length > 0 && rejected.every((error) => error instanceof StoreUnavailable), `${rejected.length} rejected`)
})
