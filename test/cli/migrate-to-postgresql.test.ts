/**
 * A migration to PostgreSQL as callers and the operator see it: turns over HTTP on SQLite, `turnkeep copy`, and the same callers on PostgreSQL.
 * Also a backup of the PostgreSQL database, restored into another database as in docs/operate/backup-restore.md.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { verify } from '../../src/store/queries/invariants.ts'
import { BackupRefused, dumpPostgres } from '../../src/store/postgres/backup.ts'
import { openPostgresStore, readPostgresSnapshot } from '../../src/store/postgres/postgres.ts'
import { ProcessRuns } from '../support/process-runs.ts'
import { gate } from '../support/model-server.ts'
import { findBin, makeDatabase, noPostgres, noPostgresServer, withClient } from '../support/postgres-server.ts'
import { runCommand } from '../support/run-command.ts'
import { startServer } from '../support/server-process.ts'
import { adminToken, makeFolder } from '../support/test-app.ts'

const log = { warn: () => undefined, info: () => undefined }

/** The settings for PostgreSQL, as `turnkeep copy` prints them. */
function settingsOf(processRuns: ProcessRuns, url: string): Record<string, string> {
  const encryptionKey = readFileSync(join(processRuns.folder, 'encryption.key'), 'utf8').trim()
  return { DATABASE_URL: url, TURNKEEP_ADMIN_TOKEN: adminToken, TURNKEEP_ENCRYPTION_KEY: encryptionKey }
}

async function startIn(processRuns: ProcessRuns, settings: Record<string, string>): Promise<void> {
  processRuns.server = await startServer(settings)
  processRuns.client.url = processRuns.client.adminUrl = processRuns.server.url
}

async function assertWhole(url: string): Promise<void> {
  const broken = (await readPostgresSnapshot(url, verify)).filter(({ rows }) => rows.length > 0)
  assert.deepEqual(broken, [])
}

void describe('migrate to PostgreSQL', { skip: noPostgres() }, () => {
  void test('idempotency.replay a retry after the migration gets the same bytes, an interrupted turn is finished on PostgreSQL, ledger and keys are the same', async (t) => {
    const processRuns = await ProcessRuns.begin(t)
    const { client, model } = processRuns
    const database = await makeDatabase()
    t.after(async () => {
      await processRuns.server?.kill()
      await database.drop()
    })
    const first = await client.chat('before the move — “genau so” 退款 🤹', { idempotencyKey: 'first' })
    const streamed = await client.stream('by stream', { idempotencyKey: 'streamed', user: 'ann' })
    assert.deepEqual([first.status, streamed.status], [200, 200])
    model.script({ status: 400, body: { error: { message: 'no' } } })
    const refused = await client.chat('refused', { idempotencyKey: 'refused', user: 'ben' })
    assert.equal(refused.status, 500)
    const held = gate()
    model.when('cut off', ['the ', held, 'end'])
    const cut = client.chat('cut off', { idempotencyKey: 'cut', user: 'cem' }).catch(() => undefined)
    await held.reached
    await processRuns.server!.kill()
    await cut
    const calls = model.calls.length

    const copied = await runCommand(['copy', '--to', database.url, '--json'], { TURNKEEP_DATA_DIR: processRuns.folder })
    assert.equal(copied.code, 0, copied.stderr)
    const { set } = JSON.parse(copied.stdout) as { set: { setting: string; value: string }[] }
    assert.deepEqual(
      set.map(({ setting }) => setting),
      ['DATABASE_URL', 'TURNKEEP_ENCRYPTION_KEY', 'TURNKEEP_ADMIN_TOKEN'],
    )
    assert.ok(set[1]!.value.includes(join(processRuns.folder, 'encryption.key')))
    const secrets = [readFileSync(join(processRuns.folder, 'encryption.key'), 'utf8').trim(), client.caller.apiKey]
    for (const secret of secrets) assert.ok(!(copied.stdout + copied.stderr).includes(secret))

    held.open()
    await startIn(processRuns, settingsOf(processRuns, database.url))
    const again = await client.chat('before the move — “genau so” 退款 🤹', { idempotencyKey: 'first' })
    assert.equal(again.status, 200)
    assert.equal(again.text, first.text)
    assert.equal(again.headers.get('x-request-id'), first.headers.get('x-request-id'))
    assert.equal((await client.stream('by stream', { idempotencyKey: 'streamed', user: 'ann' })).text.includes('by stream'), true)
    assert.equal((await client.chat('another body', { idempotencyKey: 'first' })).status, 409)
    const finished = await processRuns.retry('cut off', { idempotencyKey: 'cut', user: 'cem' })
    assert.deepEqual([finished.status, finished.json.message?.content], [200, 'the end'], finished.text)
    assert.equal(model.calls.length, calls + 1, 'only what was cut off was asked for again')
    // Released on SQLite, runs again under the same request id. The provider's encrypted key can be decrypted on PostgreSQL.
    const released = await client.chat('refused', { idempotencyKey: 'refused', user: 'ben' })
    assert.deepEqual([released.status, released.json.request_id], [200, refused.json.error.request_id])
    assert.equal(model.calls.at(-1)!.headers.authorization, 'Bearer model-key')
    const next = await client.chat('the next one')
    assert.equal(next.status, 200)
    assert.deepEqual(
      model.calls
        .at(-1)!
        .messages.map(({ content }) => content)
        .filter((content) => content?.includes('before the move')).length,
      2,
      'the history came along',
    )
    assert.equal((await client.owner()).held_usd, '0.00000000')
    assert.equal((await client.ledger()).filter(({ kind }) => kind === 'charge').length, 5)
    await processRuns.server!.stop()
    await assertWhole(database.url)
  })

  void test('usage, ledger, owner, agents and keys are the same on both sides', async (t) => {
    const processRuns = await ProcessRuns.begin(t)
    const database = await makeDatabase()
    t.after(async () => {
      await processRuns.server?.kill()
      await database.drop()
    })
    const { client } = processRuns
    for (const user of ['ann', 'ben'])
      for (const message of ['one', 'two']) assert.equal((await client.chat(message, { user })).status, 200)
    await client.made(
      'POST',
      `/owners/${client.caller.ownerId}/ledger`,
      { amount_usd: '-0.00000001', note: 'Ü' },
      { 'idempotency-key': 'k' },
    )
    const read = async (): Promise<string[]> => {
      const { agentId, ownerId } = client.caller
      const day = new Date().toISOString().slice(0, 10)
      const paths = [
        `/usage?bucket=day&from=${day}`,
        `/owners/${ownerId}`,
        `/owners/${ownerId}/ledger`,
        `/agents/${agentId}`,
        `/agents/${agentId}/versions`,
      ]
      paths.push(`/agents/${agentId}/keys`, '/providers', `/conversations?agent_id=${agentId}`, '/turns', '/audit')
      return Promise.all(paths.map(async (path) => `${path} ${(await client.admin('GET', path)).text}`))
    }
    await processRuns.server!.stop()
    await processRuns.start()
    const before = await read()
    for (const text of before) assert.ok(!text.includes('"error"'), text)
    await processRuns.server!.stop()
    const copied = await runCommand(['copy', '--to', database.url], { TURNKEEP_DATA_DIR: processRuns.folder })
    assert.equal(copied.code, 0, copied.stderr)
    await startIn(processRuns, settingsOf(processRuns, database.url))
    assert.deepEqual(await read(), before)
    // The Idempotency-Key was used on SQLite, so PostgreSQL does not add the entry again.
    const entry = await client.made(
      'POST',
      `/owners/${client.caller.ownerId}/ledger`,
      { amount_usd: '-0.00000001', note: 'Ü' },
      { 'idempotency-key': 'k' },
    )
    assert.ok(before.some((text) => text.includes(String(entry.id))))
  })
})

void describe('turnkeep backup of PostgreSQL', { skip: noPostgres() || noPostgresServer() }, () => {
  void test('under load, restored into another database: a served Idempotency-Key is replayed, new turns run, verify is clean', async (t) => {
    const processRuns = await ProcessRuns.begin(t)
    const { client } = processRuns
    const [database, restored] = [await makeDatabase(), await makeDatabase()]
    t.after(async () => {
      await processRuns.server?.kill()
      await database.drop()
      await restored.drop()
    })
    const first = await client.chat('before the backup', { idempotencyKey: 'old-key' })
    await processRuns.server!.stop()
    assert.equal((await runCommand(['copy', '--to', database.url], { TURNKEEP_DATA_DIR: processRuns.folder })).code, 0)
    const settings = settingsOf(processRuns, database.url)
    await startIn(processRuns, settings)

    let served = 0
    const loading = new AbortController()
    const load = Array.from({ length: 4 }, async (_, worker) => {
      while (!loading.signal.aborted) if ((await client.chat('load', { user: `load-${worker}` })).status === 200) served++
    })
    const file = join(processRuns.folder, 'one.dump')
    const url = new URL(database.url)
    url.password = 'geheim'
    const made = await runCommand(['backup', file, '--json'], { DATABASE_URL: url.href })
    loading.abort()
    await Promise.all(load)
    assert.equal(made.code, 0, made.stderr)
    assert.ok(served > 0, 'nothing was served meanwhile')
    const reported = JSON.parse(made.stdout)
    assert.deepEqual([reported.file, reported.ok, reported.broken], [file, true, []])
    assert.deepEqual(reported.keep[0], { secret: 'TURNKEEP_ENCRYPTION_KEY', where: 'environment' })
    assert.equal(statSync(file).mode & 0o777, 0o600)
    assert.ok(!readdirSync(processRuns.folder).includes('one.dump.partial'))
    const again = await runCommand(['backup', file], { DATABASE_URL: database.url })
    assert.deepEqual([again.code, / exists; no file was replaced/.test(again.stderr)], [2, true])
    await processRuns.server!.stop()

    const how = ['--no-owner', '--exit-on-error', '--single-transaction', `--dbname=${restored.url}`, file]
    await promisify(execFile)(join(findBin()!, 'pg_restore'), how)
    const checked = await runCommand(['verify'], { DATABASE_URL: restored.url })
    assert.equal(checked.code, 0, checked.stdout + checked.stderr)
    await startIn(processRuns, { ...settings, DATABASE_URL: restored.url })
    const replay = await client.chat('before the backup', { idempotencyKey: 'old-key' })
    assert.equal(replay.text, first.text)
    assert.equal((await client.chat('after the restore', { user: 'new' })).status, 200)
    await processRuns.server!.stop()
    await assertWhole(restored.url)
  })

  void test('reports a violated invariant, keeps the copy, and exits 1; without a database, or to an invalid destination, ends with one line', async (t) => {
    const processRuns = await ProcessRuns.begin(t)
    const [database, empty] = [await makeDatabase(), await makeDatabase()]
    t.after(async () => {
      await database.drop()
      await empty.drop()
    })
    await processRuns.server!.stop()
    assert.equal((await runCommand(['copy', '--to', database.url], { TURNKEEP_DATA_DIR: processRuns.folder })).code, 0)
    await withClient(database.url, (pg) => pg.query('update owners set balance = balance + 1'))
    const broken = await runCommand(['backup', join(processRuns.folder, 'a.dump')], { DATABASE_URL: database.url })
    assert.equal(broken.code, 1, broken.stderr)
    assert.match(
      broken.stdout,
      /\n1 of \d+ invariants are broken, in the backup and in the database:\nBROKEN .* balance-is-ledger-sum .*\n +\{"owner_id":/,
    )
    const verified = await runCommand(['verify', '--json'], { DATABASE_URL: database.url })
    assert.equal(verified.code, 1)
    const { ok, invariants } = JSON.parse(verified.stdout) as { ok: boolean; invariants: { name: string; ok: boolean }[] }
    assert.deepEqual([ok, invariants.filter((one) => !one.ok).map(({ name }) => name)], [false, ['balance-is-ledger-sum']])
    const file = join(processRuns.folder, 'b.dump')
    const nothing = await runCommand(['backup', file], { DATABASE_URL: empty.url })
    const nowhere = await runCommand(['backup', join(processRuns.folder, 'none', 'b.dump')], { DATABASE_URL: database.url })
    const refused = await runCommand(['backup', file], { DATABASE_URL: 'postgres://me:geheim@127.0.0.1:1/x' })
    const unread = await runCommand(['verify'], { DATABASE_URL: 'postgres://me:geheim@127.0.0.1:1/x' })
    assert.match(unread.stderr, /^turnkeep: cannot verify the database at postgres:\/\/me:…@127\.0\.0\.1:1\/x: [^\n]+\n[^\n]+\n$/)
    for (const { stderr } of [nothing, nowhere, refused]) assert.match(stderr, /^turnkeep: cannot back up [^\n]+: [^\n]+\n$/)
    for (const { code, stdout, stderr } of [nothing, nowhere, refused, unread]) {
      assert.deepEqual([code, stdout], [2, ''])
      assert.ok(!stderr.includes('geheim'))
    }
    assert.match(nothing.stderr, /there is no Turnkeep in that database/)
    assert.ok(!readdirSync(processRuns.folder).some((name) => name.startsWith('b.dump')))
  })

  void test('needs a pg_dump that supports this PostgreSQL, and names it; a failed run leaves nothing', async (t) => {
    const [database, folder] = [await makeDatabase(), await makeFolder()]
    t.after(async () => {
      await database.drop()
      await rm(folder, { recursive: true, force: true })
    })
    await (await openPostgresStore({ url: database.url, log })).close()
    const file = join(folder, 'a.dump')
    const url = new URL(database.url)
    // Where every user is trusted, as on these tests' own server, no password is requested.
    if (url.password === '') url.password = 'geheim'
    const warnings: string[] = []
    const onWarning = (line: string): void => void warnings.push(line)
    const dump = (folders: string[]): Promise<unknown> =>
      dumpPostgres({ url: url.href, file, environment: { PATH: '/nowhere' }, onProgress: () => undefined, onWarning, folders }, verify)
    const refused = (words: RegExp) => (error: unknown) => error instanceof BackupRefused && words.test(error.message)
    const program = (name: string, script: string): void => writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    await assert.rejects(dump([]), refused(/^pg_dump was not found: install .* PostgreSQL \d+ \(Debian: postgresql-client-\d+\)$/))
    program('pg_dump', 'echo "pg_dump (PostgreSQL) 14.22 (Debian)"')
    await assert.rejects(dump([folder]), refused(/^pg_dump 14 is older than the database: install/))
    const answers = (script: string): string => `case "$1" in --version) echo "pg_dump (PostgreSQL) 99.1";; *) ${script};; esac`
    program('pg_dump', answers('echo "pg_dump: error: no room" >&2; exit 1'))
    await assert.rejects(dump([folder]), refused(/^pg_dump ended without a backup: no room$/))
    const server = await withClient(database.url, async (pg) => (await pg.query('show server_version_num')).rows[0].server_version_num)
    if (Number(server) < 170_000)
      assert.match(
        warnings.join('\n'),
        /^the backup cannot be restored into PostgreSQL \d+, because pg_dump 99 writes it: .* back up again/,
      )
    // The words of PostgreSQL 15, on two lines.
    program(
      'pg_dump',
      answers(
        'echo "root certificate file does not exist" >&2; echo "Either change sslmode to disable server certificate verification." >&2; exit 1',
      ),
    )
    await assert.rejects(dump([folder]), refused(/add sslrootcert=\/etc\/ssl\/certs\/ca-certificates\.crt to DATABASE_URL/))
    // Every user of the machine can read a program's arguments.
    program('pg_dump', answers(`echo "$* and ${'$'}{#PGPASSWORD}" >&2; exit 1`))
    const reported = refused(new RegExp(`--dbname=postgres://.* and ${decodeURIComponent(url.password).length}$`))
    await assert.rejects(dump([folder]), (error: unknown) => reported(error) && !String(error).includes(url.password))
    // It reports success, and the file is empty.
    program('pg_dump', answers('exit 0'))
    program('pg_restore', `exec ${join(findBin()!, 'pg_restore')} "$@"`)
    await assert.rejects(dump([folder]), refused(/cannot be read back/))
    assert.deepEqual(readdirSync(folder).toSorted(), ['pg_dump', 'pg_restore'])
  })

  void test('is one snapshot: what is committed while it is written is not in it', async (t) => {
    const [database, restored, folder] = [await makeDatabase(), await makeDatabase(), await makeFolder()]
    const store = await openPostgresStore({ url: database.url, log })
    t.after(async () => {
      await store.close()
      await database.drop()
      await restored.drop()
      await rm(folder, { recursive: true, force: true })
    })
    await store.write.createOwner({ id: 'own_before', name: 'x', credit: undefined })
    const file = join(folder, 'a.dump')
    const check = async (): Promise<void> => void (await store.write.createOwner({ id: 'own_late', name: 'x', credit: undefined }))
    const { PATH } = process.env
    const onWarning = (line: string): void => assert.fail(line)
    await dumpPostgres({ url: database.url, file, environment: { PATH }, onProgress: () => undefined, onWarning }, check)
    await promisify(execFile)(join(findBin()!, 'pg_restore'), ['--no-owner', '--exit-on-error', `--dbname=${restored.url}`, file])
    const { rows } = await withClient(restored.url, (pg) => pg.query('select id from owners'))
    assert.deepEqual(rows, [{ id: 'own_before' }])
  })
})
