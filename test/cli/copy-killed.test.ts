/** `turnkeep copy`, killed at any moment: the same command continues where it stopped, and the copy is complete. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { copyToPostgres } from '../../src/store/copy.ts'
import type { CopyReport } from '../../src/store/copy.ts'
import { openCopySource } from '../../src/store/postgres/copy/source.ts'
import { openCopyTarget } from '../../src/store/postgres/copy/target.ts'
import { noPostgres, withClient } from '../support/postgres-server.ts'
import { runCommand } from '../support/run-command.ts'
import { assertSame, copyUntil, count, many, createPostgresTarget, createSqliteSource, tables } from '../support/migration-stores.ts'
import { until } from '../support/until.ts'

const skip = noPostgres()
const command = fileURLToPath(new URL('../../bin/turnkeep.js', import.meta.url))
const ignore = (): void => undefined

void describe('turnkeep copy: killed', { skip }, () => {
  void test('after each of its commits, it continues where it stopped and the copy is complete', async (t) => {
    const [folder, url] = [await createSqliteSource(t, many), await createPostgresTarget(t)]
    let report: CopyReport | undefined
    let found = -1
    let runs = 0
    for (; !report; runs++) {
      const startedWith = Math.max(0, found)
      report = await copyUntil(folder, url, ({ phase, rows }) => phase === 'copying' && rows > startedWith)
      const copied = await count(url, 'select sum(copied) from copy_progress')
      if (!report) assert.ok(copied > found, `${copied} rows after ${found}`)
      found = copied
    }
    assert.ok(runs > tables.length, `${runs} runs`)
    assert.equal(report.kind, 'done')
    assert.equal(report.found, found)
    await assertSame(folder, url)
  })

  void test('with -9 while it reads, copies and checks, it continues where it stopped and the copy is complete', async (t) => {
    const [folder, url] = [await createSqliteSource(t, many), await createPostgresTarget(t)]
    const run = (): ReturnType<typeof spawn> =>
      spawn(process.execPath, [command, 'copy', '--to', url], {
        env: { PATH: process.env['PATH'], TURNKEEP_DATA_DIR: folder },
        stdio: 'ignore',
      })
    const early = run()
    await pass(150)
    early.kill('SIGKILL')
    let killed = 0
    for (const share of [0.01, 0.3, 0.6, 0.9, 1]) {
      const child = run()
      const ended = once(child, 'exit')
      await withClient(url, (client) =>
        until(`${share} of the rows are copied`, async () => {
          if (child.exitCode !== null) return true
          const { rows } = await client.query(`select to_regclass('copy_progress') as there`)
          if (rows[0].there === null) return false
          const progress = await client.query('select sum(copied)::float / greatest(sum(rows), 1) as share from copy_progress')
          return progress.rows[0].share >= share
        }),
      )
      if (child.kill('SIGKILL')) killed++
      await ended
    }
    assert.ok(killed >= 3, `${killed} were killed`)
    const { code, stdout, stderr } = await runCommand(['copy', '--to', url, '--json'], { TURNKEEP_DATA_DIR: folder })
    assert.equal(code, 0, stderr)
    assert.ok(JSON.parse(stdout).found > 0)
    await assertSame(folder, url)
  })

  void test('while its last commit is in flight, the next run waits for that commit and continues after it', async (t) => {
    const [folder, url] = [await createSqliteSource(t, many), await createPostgresTarget(t)]
    assert.equal(await copyUntil(folder, url, ({ phase, table }) => phase === 'copying' && table === 'messages'), undefined)
    const waiting = `select count(*) from pg_stat_activity where datname = current_database() and query like '%insert into messages%' and wait_event_type = 'Lock'`
    await withClient(url, async (holder) => {
      // The batch is at its first row, with the mark moved, and cannot commit.
      await holder.query(`create function wait_for_test() returns trigger language plpgsql as $$ begin
          perform pg_advisory_xact_lock_shared(1); return new; end $$;
        create trigger wait_for_test before insert on messages for each row execute function wait_for_test()`)
      await holder.query('select pg_advisory_lock(1)')
      const child = spawn(process.execPath, [command, 'copy', '--to', url], {
        env: { PATH: process.env['PATH'], TURNKEEP_DATA_DIR: folder },
        stdio: 'ignore',
      })
      await until('the copy waits', async () => (await count(url, waiting)) >= 1)
      child.kill('SIGKILL')
      await once(child, 'exit')
      const next = copyToPostgres({ folder, url, onProgress: ignore })
      await until('both wait', async () => (await count(url, waiting)) >= 2)
      await holder.query('select pg_advisory_unlock(1)')
      assert.equal((await next).kind, 'done')
    })
    await assertSame(folder, url)
  })

  void test('a batch that does not start at the mark writes nothing', async (t) => {
    const [folder, url] = [await createSqliteSource(t), await createPostgresTarget(t)]
    assert.equal(await copyUntil(folder, url, ({ phase, table }) => phase === 'copying' && table === 'messages'), undefined)
    const source = await openCopySource(folder)
    t.after(() => source.close())
    const target = await openCopyTarget(url, source.tables)
    t.after(() => target.close())
    const messages = source.tables.find(({ name }) => name === 'messages')!
    const batch = [...source.rows(messages, null)].slice(0, 10)
    assert.equal(await target.insert(messages, batch, { after: '["msg_elsewhere"]', to: '["msg_x"]' }), false)
    assert.equal(await count(url, 'select count(*) from messages'), 0)
    assert.equal(await target.insert(messages, batch, { after: null, to: '["msg_x"]' }), true)
    assert.equal(await count(url, 'select count(*) from messages'), 10)
  })

  void test('a run after the end reports that the copy is complete and does nothing', async (t) => {
    const [folder, url] = [await createSqliteSource(t), await createPostgresTarget(t)]
    await copyToPostgres({ folder, url, onProgress: ignore })
    await withClient(url, (client) => client.query(`update owners set name = 'since the move'`))
    const { code, stdout } = await runCommand(['copy', '--to', url], { TURNKEEP_DATA_DIR: folder })
    assert.equal(code, 0)
    assert.match(stdout, /was already completed and verified\. Nothing was changed\./)
    assert.equal(await count(url, `select count(*) from owners where name = 'since the move'`), 3)
  })
})
