/**
 * The disk of the embedded database is full, and the process dies right after it has responded. Meanwhile, new turns are refused, generated
 * replies are held, and acknowledged ones are never lost. The disk is a small in-memory file system.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openForWriting } from '../../src/store/sqlite/database.ts'
import { readSnapshot } from '../../src/store/sqlite/sqlite.ts'
import { makeDisk, noDisk } from '../chaos/disk.ts'
import { until } from '../support/until.ts'
import { ProcessRuns } from '../support/process-runs.ts'
import { gate } from '../support/model-server.ts'
import { makeFolder } from '../support/test-app.ts'
import type { Answer } from '../support/test-app.ts'

// Texts that do not compress, so that each turn needs new pages.
const long = (name: string): string => name + Array.from({ length: 800 }, () => Math.random().toString(36).slice(2)).join(' ')
const errorOf = ({ status, json }: Answer): unknown[] => [status, json.error?.code]

void test(
  'fault.sqlite-disk-full: a full disk: refused with no half turn, reads and replays work, generated replies are stored once there is space',
  { skip: noDisk() },
  async (t) => {
    const outer = await mkdtemp(join(tmpdir(), 'turnkeep-disk-'))
    const disk = makeDisk(join(outer, 'disk'))
    const processRuns = await ProcessRuns.begin(t, '', { folder: join(disk.folder, 'data') })
    t.after(async () => {
      disk.remove()
      await rm(outer, { recursive: true })
    })
    const { client, model } = processRuns
    const [beforeKey, slowKey] = [randomUUID(), randomUUID()]
    const before = await client.chat('before', { idempotencyKey: beforeKey, user: 'before' })
    assert.equal(before.status, 200)
    const held = gate()
    const slow = long('slow')
    model.when('slow', ['one ', held, 'two'])
    const running = client.stream(slow, { idempotencyKey: slowKey, user: 'slow' })
    await held.reached

    disk.fill()
    const fullAt = performance.now()
    // A few pages of the write-ahead log may still be free for reuse.
    const refused: { message: string; user: string; idempotencyKey: string }[] = []
    let answered = 0
    for (let count = 0; refused.length < 3; count++) {
      assert.ok(count < 500, 'the disk never was full')
      const sent = { message: long(`full ${count}`), user: `full ${count}`, idempotencyKey: randomUUID() }
      const answer = await client.chat(sent.message, sent)
      if (answer.status === 200) answered += 1
      else {
        assert.deepEqual([...errorOf(answer), answer.headers.get('retry-after')], [503, 'service_unavailable', '5'])
        refused.push(sent)
      }
    }
    // `turn.durable-first`: a model may be called while the commit fails, but not for each message: only one in five seconds.
    const startedAt = performance.now()
    const calls = model.calls.length
    assert.ok(calls - 2 - answered <= 1 + (startedAt - fullAt) / 5_000, `${calls} calls for ${answered} replies`)
    model.when('full', ['never sent ', gate()])
    const reported = await client.stream(refused[0]!.message, refused[0]!)
    assert.deepEqual(errorOf(reported), [503, 'service_unavailable'], 'JSON with its status, no stream')
    held.open()
    await until('a result that is kept', () =>
      processRuns.server!.log.some(({ msg }) => msg === 'could not store the result of a turn, retrying'),
    )
    const replay = await client.chat('before', { idempotencyKey: beforeKey, user: 'before' })
    assert.deepEqual([replay.status, replay.json], [200, before.json])
    assert.deepEqual(
      (await client.messages('before')).map(({ content }) => content),
      ['before', 'You said: before'],
    )
    const readiness = async (): Promise<[number, unknown]> => {
      const response = await fetch(`${processRuns.server!.url}/readyz`)
      return [response.status, ((await response.json()) as Record<string, unknown>)['store']]
    }
    assert.deepEqual(await readiness(), [200, 'unavailable'])
    const early = model.calls.slice(calls)
    assert.ok(early.length <= 1 + (performance.now() - startedAt) / 5_000, `${early.length} calls`)
    for (const call of early) assert.equal(await call.ended, 'aborted')
    for (const { user } of refused) assert.deepEqual(await client.messages(user), [])
    await processRuns.verify()

    model.when('full', 'fine')
    disk.free()
    const late = (await running).events.at(-1)!
    assert.deepEqual([late.event, late.data.message?.content], ['response.completed', 'one two'], 'delivered late, and only once')
    for (const sent of refused) assert.equal((await processRuns.retry(sent.message, sent)).status, 200)
    assert.equal(await processRuns.charges(), 2 + answered + refused.length)
    assert.equal(model.calls.length, calls + early.length + refused.length)
    assert.equal((await client.owner()).held_usd, '0.00000000')
    await until('a store that is available again', async () => (await readiness())[1] === 'ok')
    await processRuns.verify()
  },
)

void test('fault.power-cut: the connection that writes waits for the disk at every commit', async (t) => {
  const folder = await makeFolder()
  t.after(() => rm(folder, { recursive: true, force: true }))
  const db = openForWriting(folder)
  t.after(() => db.close())
  // 2 is FULL, 3 is EXTRA: https://www.sqlite.org/pragma.html#pragma_synchronous
  assert.ok(Number(db.prepare('pragma synchronous').get()!['synchronous']) >= 2)
  assert.equal(db.prepare('pragma journal_mode').get()!['journal_mode'], 'wal')
})

// kill -9 leaves the operating system's cache intact, so this shows the order of response and commit, and nothing about a power cut
// (docs/exactly-once.md).
void test('fault.power-cut: kill -9 in the moment after a response: no acknowledged reply is lost, and each is replayed', async (t) => {
  const processRuns = await ProcessRuns.begin(t)
  const acked = new Map<string, { message: string; user: string; answer: Answer }>()
  for (let processRun = 0; processRun < 3; processRun++) {
    const first = Promise.withResolvers<void>()
    const asked = Array.from({ length: 10 }, async (_, n) => {
      const idempotencyKey = randomUUID()
      const message = `hello ${n} in life ${processRun}`
      // A user of an earlier process run may still have a turn that is being completed, so each process run has its own users.
      const user = `user ${n} of life ${processRun}`
      const answer = await processRuns.client.chat(message, { idempotencyKey, user }).catch(() => undefined)
      if (answer?.status !== 200) return
      acked.set(idempotencyKey, { message, user, answer })
      first.resolve()
    })
    await first.promise
    await processRuns.server!.kill()
    await Promise.all(asked)
    const stored = await readSnapshot(processRuns.folder, (sql) => sql.all(`select idempotency_key from turns where state = 'completed'`))
    const keys = new Set(stored.map((row) => String(row['idempotency_key'])))
    for (const [key, { message }] of acked) assert.ok(keys.has(key), `${message} was answered and is not stored`)
    await processRuns.verify()
    await processRuns.start()
  }
  for (const [idempotencyKey, { message, user, answer }] of acked) {
    const replay = await processRuns.client.chat(message, { idempotencyKey, user })
    assert.deepEqual([replay.status, replay.json], [200, answer.json])
  }
  await processRuns.verify()
})
