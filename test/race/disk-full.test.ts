/**
 * PostgreSQL's disk is full, first for its tables, then for its log, which makes it stop. New requests are refused meanwhile, replays still
 * work, and nothing is held or half stored once there is space again. The disk is a small file system in memory.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmod, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { Fleet, noFleet } from '../support/fleet.ts'
import { until } from '../support/until.ts'
import { gate } from '../support/model-server.ts'
import { noPostgresServer, startPostgres } from '../support/postgres-server.ts'
import type { PostgresServer } from '../support/postgres-server.ts'

const skip = noFleet() || noPostgresServer() || noMount()

/** Returns why a file system cannot be mounted here, or false if it can. */
function noMount(): string | false {
  return process.platform === 'linux' && process.getuid?.() === 0 ? false : 'mounting a small file system needs Linux and root'
}

type SmallDisk = { folder: string; fill(): Promise<void>; free(): Promise<void>; remove(): Promise<void> }

async function makeSmallDisk(size: string): Promise<SmallDisk> {
  const folder = await mkdtemp(join(tmpdir(), 'turnkeep-disk-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder])
  await chmod(folder, 0o755)
  const ballast = join(folder, 'ballast')
  return {
    folder,
    async fill() {
      const file = await open(ballast, 'a')
      try {
        for (;;) await file.write(Buffer.alloc(4096))
      } catch (error) {
        assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC')
      } finally {
        await file.close()
      }
    },
    free: () => rm(ballast),
    async remove() {
      execFileSync('umount', [folder])
      await rm(folder, { recursive: true })
    },
  }
}

async function begin(t: TestContext): Promise<{ disk: SmallDisk; database: PostgresServer; fleet: Fleet }> {
  const disk = await makeSmallDisk('110m')
  const lines = ['wal_recycle = off', 'min_wal_size = 32MB', 'max_wal_size = 64MB', 'shared_buffers = 8MB']
  const database = await startPostgres({ durable: true, within: disk.folder, lines }).catch(async (error: unknown) => {
    await disk.remove()
    throw error
  })
  t.after(async () => {
    await database.stop()
    await disk.remove()
  })
  const fleet = await Fleet.begin(t, { databaseUrl: (await database.makeDatabase()).url })
  return { disk, database, fleet }
}

// Texts that do not compress, so that each turn needs new pages.
const long = (name: string): string => name + Array.from({ length: 600 }, () => Math.random().toString(36).slice(2)).join(' ')

void test(
  'fault.postgres-disk-full: a full disk: new turns are refused, results wait, replays work, and turns settle when there is space',
  { skip },
  async (t) => {
    const { disk, fleet } = await begin(t)
    const before = await fleet.send(fleet.sent('before'))
    const held = gate()
    const slow = fleet.sent(long('slow'), { user: 'slow', transport: 'stream' })
    fleet.model.when('slow', [held, long('reply')])
    const running = fleet.send(slow)
    await held.reached
    await disk.fill()

    const refused = []
    for (let count = 0; refused.length < 3; count++) {
      assert.ok(count < 500, 'the disk never was full')
      const sent = fleet.sent(long(`full ${count}`), { user: `full ${count}`, transport: count % 2 ? 'chat' : 'stream' })
      const outcome = await fleet.try(sent, 0)
      if (outcome.kind === 'reply') continue
      assert.ok(outcome.kind === 'error' && outcome.code === 'service_unavailable', JSON.stringify(outcome))
      refused.push(sent)
    }
    held.open()
    await until('a result that is kept', () => fleet.servers[0]!.log.some(({ cause }) => String(cause).includes('53100')))
    assert.equal((await fleet.send(before.sent)).reply, before.reply, 'what is stored is returned again')
    await disk.free()

    const late = await running
    assert.deepEqual(late.met, [], 'what was said is delivered late, and not said again')
    const reported = [before, late, ...(await Promise.all(refused.map((sent) => fleet.send(sent))))]
    await fleet.checkReplies(reported)
  },
)

void test(
  'fault.postgres-disk-full: no space for the log of the database, which stops: refused, and accepted again after its restart',
  { skip },
  async (t) => {
    const { disk, database, fleet } = await begin(t)
    const reported = [await fleet.send(fleet.sent('before'))]
    const held = gate()
    fleet.model.when('slow', ['one ', held, 'two'])
    const running = fleet.send(fleet.sent('slow', { user: 'slow' }))
    await held.reached
    await disk.fill()
    // PostgreSQL must create a new file of its write-ahead log, and there is no space for it.
    await fleet.rows('select pg_switch_wal()').catch(() => undefined)
    const sent = fleet.sent('full', { user: 'full' })
    await until('the end of the database', async () => {
      const outcome = await fleet.try(sent, 0)
      assert.ok(outcome.kind === 'reply' || (outcome.kind === 'error' && outcome.code === 'service_unavailable'), JSON.stringify(outcome))
      return !database.running
    })
    held.open()
    assert.deepEqual(await fleet.try(fleet.sent('gone', { user: 'gone' }), 0), { kind: 'error', status: 503, code: 'service_unavailable' })
    await until('a result that is kept', () =>
      fleet.servers[0]!.log.some(({ msg }) => msg === 'could not store the result of a turn, retrying'),
    )
    await disk.free()
    await database.restart()
    const late = await running
    assert.deepEqual(late.met, [], 'what was said is delivered late, and not said again')
    reported.push(late, await fleet.send(sent))
    await fleet.checkReplies(reported)
  },
)
