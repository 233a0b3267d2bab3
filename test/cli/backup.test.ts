/** `turnkeep backup` and the restore in docs/operate/backup-restore.md: beside a running server, and what a restored server still has. */
import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { openForReading } from '../../src/store/sqlite/database.ts'
import { backUp, openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import { ProcessRuns } from '../support/process-runs.ts'
import { runCommand, runProcess } from '../support/run-command.ts'
import { makeFolder } from '../support/test-app.ts'

describe('turnkeep backup', () => {
  test('under load, restored into a new folder: a served Idempotency-Key is replayed, new turns run, verify is clean', async (t) => {
    const processRuns = await ProcessRuns.begin(t)
    const first = await processRuns.client.chat('before the backup', { idempotencyKey: 'old-key' })
    assert.equal(first.status, 200)

    let served = 0
    const loading = new AbortController()
    const load = Array.from({ length: 4 }, async (_, worker) => {
      while (!loading.signal.aborted) if ((await processRuns.client.chat('load', { user: `load-${worker}` })).status === 200) served++
    })
    const folder = join(processRuns.folder, 'backups')
    mkdirSync(folder)
    const file = join(folder, 'one.db')
    const made = await runProcess(['backup', file, '--json'], { TURNKEEP_DATA_DIR: processRuns.folder })
    loading.abort()
    await Promise.all(load)
    assert.equal(made.code, 0, made.stderr)
    assert.ok(served > 0, 'nothing was served meanwhile')
    const reported = JSON.parse(made.stdout)
    assert.deepEqual([reported.file, reported.ok, reported.broken], [file, true, []])
    assert.ok(reported.keep.some(({ where }: { where: string }) => where === join(processRuns.folder, 'encryption.key')))
    assert.deepEqual(readdirSync(folder), ['one.db'])
    assert.equal(statSync(file).mode & 0o777, 0o600)
    await processRuns.server!.stop()

    const restored = new ProcessRuns(await makeFolder(), processRuns.model)
    t.after(async () => {
      await restored.server?.kill()
      rmSync(restored.folder, { recursive: true, force: true })
    })
    copyFileSync(file, join(restored.folder, 'turnkeep.db'))
    copyFileSync(join(processRuns.folder, 'encryption.key'), join(restored.folder, 'encryption.key'))
    restored.client.caller = processRuns.client.caller
    await restored.start()
    const replay = await restored.client.chat('before the backup', { idempotencyKey: 'old-key' })
    assert.deepEqual(replay.json, first.json)
    // The provider's key is decrypted with the restored encryption.key.
    assert.equal((await restored.client.chat('after the restore', { user: 'new' })).status, 200)
    const verify = await runCommand(['verify'], { TURNKEEP_DATA_DIR: restored.folder })
    assert.equal(verify.code, 0, verify.stdout)
  })

  test('works on a stopped store too, and never replaces a file', async (t) => {
    const folder = await storeFolder(t)
    const file = join(folder, 'copy.db')
    const made = await runCommand(['backup', file], { TURNKEEP_DATA_DIR: folder })
    assert.equal(made.code, 0, made.stderr)
    assert.match(made.stdout, /^Wrote .*copy\.db .*\nVerified: all \d+ invariants hold in the backup\.\nAlso keep these/)
    const before = statSync(file).mtimeMs
    const again = await runCommand(['backup', file], { TURNKEEP_DATA_DIR: folder })
    assert.equal(again.code, 2)
    assert.match(again.stderr, /^turnkeep: cannot back up: .*copy\.db .* exists; no file was replaced\n$/)
    assert.equal(statSync(file).mtimeMs, before)
    writeFileSync(`${file}2.partial`, 'of another backup')
    assert.equal((await runCommand(['backup', `${file}2`], { TURNKEEP_DATA_DIR: folder })).code, 2)
  })

  test('without a store, or to an invalid destination, ends with one line and exit code 2', async (t) => {
    const folder = await storeFolder(t)
    const nothing = await runCommand(['backup', join(folder, 'x.db')], { TURNKEEP_DATA_DIR: join(folder, 'none') })
    const nowhere = await runCommand(['backup', join(folder, 'none', 'x.db')], { TURNKEEP_DATA_DIR: folder })
    for (const { code, stdout, stderr } of [nothing, nowhere]) {
      assert.deepEqual([code, stdout], [2, ''])
      assert.match(stderr, /^turnkeep: cannot back up [^\n]+: [^\n]+\n$/)
    }
    assert.ok(!readdirSync(folder).includes('x.db'))
  })

  test('reports a violated invariant with the lines of verify, keeps the copy, and exits 1', async (t) => {
    const folder = await storeFolder(t)
    const db = new DatabaseSync(join(folder, 'turnkeep.db'))
    db.exec(`insert into owners (id, name, balance, held, created_at) values ('own_x', 'X', 5, 0, 0)`)
    db.close()
    const { code, stdout } = await runCommand(['backup', join(folder, 'copy.db')], { TURNKEEP_DATA_DIR: folder })
    assert.equal(code, 1)
    const lines = brokenLines(stdout)
    assert.match(stdout, /\n1 of \d+ invariants are broken, in the backup and in the database:\nBROKEN /)
    assert.match(lines[0]!, /^BROKEN {2}I1 .* balance-is-ledger-sum /)
    assert.equal(lines[1], '        {"owner_id":"own_x","balance":"5","ledger_sum":"0"}')
    assert.deepEqual(brokenLines((await runCommand(['verify'], { TURNKEEP_DATA_DIR: folder })).stdout), lines)
    assert.ok(statSync(join(folder, 'copy.db')).size > 0)
  })
})

describe('backUp', () => {
  test('is one snapshot, whatever is committed between its steps', async (t) => {
    const folder = await storeFolder(t)
    const db = new DatabaseSync(join(folder, 'turnkeep.db'))
    t.after(() => db.close())
    // Three steps of 4 MiB.
    const insert = db.prepare(`insert into owners (id, name, balance, held, created_at) values (?, ?, 0, 0, 0)`)
    for (let row = 0; row < 12; row++) insert.run(`own_${row}`, 'x'.repeat(1024 * 1024))
    let steps = 0
    const onProgress = (): void => void insert.run(`own_late_${steps++}`, 'late')
    const file = join(folder, 'copy.db')
    const owners = await backUp({ folder, file, onProgress }, async (sql) =>
      Number((await sql.all('select count(*) as n from owners'))[0]!['n']),
    )
    assert.ok(steps >= 2, `${steps} steps`)
    assert.equal(owners, 12)
    const source = openForReading(folder)
    assert.equal(Number(source.prepare('select count(*) as n from owners').get()!['n']), 12 + steps)
    source.close()
  })

  test('does not replace a file that was created meanwhile', async (t) => {
    const folder = await storeFolder(t)
    const file = join(folder, 'copy.db')
    const check = async (): Promise<void> => writeFileSync(file, 'of somebody else')
    await assert.rejects(backUp({ folder, file, onProgress: () => undefined }, check), { code: 'EEXIST' })
    assert.equal(readFileSync(file, 'utf8'), 'of somebody else')
    assert.ok(!readdirSync(folder).includes('copy.db.partial'))
  })
})

/** A folder with an empty store of this schema, closed. */
async function storeFolder(t: { after(end: () => void): void }): Promise<string> {
  const folder = await makeFolder()
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  await (await openSqliteStore({ folder })).close()
  return folder
}

/** The lines about broken invariants and their rows. */
const brokenLines = (stdout: string): string[] => stdout.split('\n').filter((line) => /^BROKEN | {8}\{/.test(line))
