/** `turnkeep copy`: everything is copied and verified, obstacles are reported, and no other data is touched. */
import assert from 'node:assert/strict'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { Client } from 'pg'
import { createKnowledge } from '../../src/agent/knowledge/knowledge.ts'
import { CopyRefused, copyToPostgres } from '../../src/store/copy.ts'
import { openCopySource } from '../../src/store/postgres/copy/source.ts'
import { openCopyTarget } from '../../src/store/postgres/copy/target.ts'
import { openPostgresStore } from '../../src/store/postgres/postgres.ts'
import { SchemaRefused } from '../../src/store/schema-refused.ts'
import { FolderInUse, openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import { fillStore } from '../support/filled-store.ts'
import { noPooler, startPooler } from '../support/pooler.ts'
import { noPostgres, withClient } from '../support/postgres-server.ts'
import { runCommand, runProcess } from '../support/run-command.ts'
import { makeFolder } from '../support/test-app.ts'
import { assertSame, copyUntil, count, many, createPostgresTarget, createSqliteSource, tables } from '../support/migration-stores.ts'

const skip = noPostgres()
const log = { warn: () => undefined, info: () => undefined }
const ignore = (): void => undefined

void describe('turnkeep copy: the copied data', { skip }, () => {
  void test('copies every row of every table byte for byte, with running turns as orphans, and reports it', async (t) => {
    const [folder, url] = [await createSqliteSource(t, many), await createPostgresTarget(t)]
    const { code, stdout, stderr } = await runCommand(['copy', '--to', url, '--json'], { TURNKEEP_DATA_DIR: folder })
    assert.equal(code, 0, stderr)
    const report = JSON.parse(stdout)
    assert.deepEqual([report.kind, report.differences, report.found, report.invariants >= 15], ['done', [], 0, true])
    assert.deepEqual(report.tables.map(({ name }: { name: string }) => name).toSorted(), tables)
    assert.ok(BigInt(report.sums.balances) > 2n ** 53n)
    await assertSame(folder, url)
    assert.equal(await count(url, `select count(*) from turns where state = 'running' and lease_until = 0 and holder is null`), 3)
    const verify = await runCommand(['verify'], { DATABASE_URL: url })
    assert.equal(verify.code, 0, verify.stdout + verify.stderr)
    assert.equal(await count(url, 'select count(*) from console_sessions'), 0, 'whoever is signed in signs in again')
  })

  void test('the copied knowledge base is found by the same words, titles and headings as one indexed on PostgreSQL', async (t) => {
    const [folder, url, fresh] = [await createSqliteSource(t), await createPostgresTarget(t), await createPostgresTarget(t)]
    const { agentId, text } = {
      agentId: 'agt_known',
      text: `# Guide\n\n## Returns of parcels\n${'A sentence about nothing. '.repeat(90)}\n\n## 退款\n好`,
    }
    const document = { documentId: 'doc_known', agentId, title: 'Straße 1.5: the Überblick', text }
    const script = `insert into owners (id, name, created_at) values ('own_known', 'x', 0);
      insert into agents (id, owner_id, version, created_at, updated_at) values ('${agentId}', 'own_known', 1, 0, 0)`
    const known = await openSqliteStore({ folder })
    const db = new DatabaseSync(join(folder, 'turnkeep.db'))
    db.exec(script)
    db.close()
    await createKnowledge({ store: known }).index(document)
    await known.close()
    await copyToPostgres({ folder, url, onProgress: ignore })

    const store = await openPostgresStore({ url: fresh, log })
    t.after(() => store.close())
    await withClient(fresh, (client) => client.query(script))
    await createKnowledge({ store }).index(document)
    const termsIn = async (database: string): Promise<unknown[]> =>
      (
        await withClient(database, (client) =>
          // Without the number that marks an agent's words, which differs between installations.
          client.query(
            `select position, regexp_replace(terms::text, '''\\d+:', '''', 'g') as terms from chunks where document_id = 'doc_known' order by 1`,
          ),
        )
      ).rows
    const indexed = await termsIn(fresh)
    assert.ok(indexed.length >= 3)
    assert.deepEqual(await termsIn(url), indexed)
    assert.equal(await count(url, `select nextval(pg_get_serial_sequence('chunks', 'id')) - max(id) from chunks`), 1)
  })

  void test('differences after the copy are reported by table, sum and invariant, exit code 1, and no server starts on it', async (t) => {
    const [folder, url] = [await createSqliteSource(t), await createPostgresTarget(t)]
    assert.equal(await copyUntil(folder, url, ({ phase }) => phase === 'copying'), undefined)
    await withClient(url, (client) =>
      client.query(`create function tamper() returns trigger language plpgsql as $$ begin
          if tg_table_name = 'messages' then new.content := replace(new.content, 'ö', 'o'); else new.balance := new.balance + 1; end if; return new; end $$;
        create trigger tamper before insert on messages for each row execute function tamper();
        create trigger tamper before insert on owners for each row execute function tamper()`),
    )
    const { code, stdout } = await runCommand(['copy', '--to', url], { TURNKEEP_DATA_DIR: folder })
    assert.equal(code, 1)
    assert.match(stdout, /^DIFFERENT: /)
    for (const what of ['table owners', 'table messages', 'sum of balances', 'invariant balance-is-ledger-sum'])
      assert.ok(stdout.includes(`\n  ${what}\n`), `${what}: ${stdout}`)
    assert.ok(!stdout.includes('table turns'), stdout)
    await assert.rejects(openPostgresStore({ url, log }), SchemaRefused)
  })
})

void describe('turnkeep copy: refused', { skip }, () => {
  const refused = async (folder: string, url: string, words: RegExp): Promise<void> => {
    await assert.rejects(copyToPostgres({ folder, url, onProgress: ignore }), (error: unknown) => {
      assert.ok(error instanceof CopyRefused, String(error))
      assert.match(error.message, words)
      return true
    })
  }

  void test('while a server runs on the folder, and the folder is free again afterwards', async (t) => {
    const [folder, url] = [await createSqliteSource(t), await createPostgresTarget(t)]
    const server = await openSqliteStore({ folder })
    await assert.rejects(copyToPostgres({ folder, url, onProgress: ignore }), FolderInUse)
    const reported = await runProcess(['copy', '--to', url], { TURNKEEP_DATA_DIR: folder })
    assert.equal(reported.code, 2)
    assert.match(
      reported.stderr,
      /^turnkeep: cannot copy: the data folder .* is in use by another Turnkeep process\. Stop that process first\.\n$/,
    )
    await server.close()
    assert.equal(await count(url, `select count(*) from pg_class where relname = 'owners'`), 0)
    await copyUntil(folder, url, () => true)
    await (await openSqliteStore({ folder })).close()
  })

  void test('into a database that has data, that a server uses, or that another copy fills', async (t) => {
    const [folder, url] = [await createSqliteSource(t), await createPostgresTarget(t)]
    const server = await openPostgresStore({ url, log })
    await refused(folder, url, /a Turnkeep server works with this database/)
    await server.write.createOwner({ id: 'own_x', name: 'X', credit: undefined })
    await server.close()
    await refused(folder, url, /has data already, .*\(owners\)/)
    await withClient(url, (client) => client.query('delete from owners'))
    const source = await openCopySource(folder)
    const other = await openCopyTarget(url, source.tables)
    source.close()
    await refused(folder, url, /another copy into this database is running/)
    await other.close()
    await copyUntil(folder, url, ({ phase, table }) => phase === 'copying' && table === 'messages')
    // A server from before the copy started, which was killed before it checked for one.
    const early = new Client({ connectionString: url, application_name: 'turnkeep' })
    await early.connect()
    await refused(folder, url, /a Turnkeep server works with this database/)
    await early.end()
    assert.equal((await copyToPostgres({ folder, url, onProgress: ignore })).kind, 'done')
  })

  void test('from a folder that has changed since the copy started, or another folder', async (t) => {
    const [folder, url] = [await createSqliteSource(t), await createPostgresTarget(t)]
    await copyUntil(folder, url, ({ phase, table }) => phase === 'copying' && table === 'turns')
    // A start that finds nothing to do changes nothing.
    await (await openSqliteStore({ folder })).close()
    assert.equal(await copyUntil(folder, url, ({ phase, table }) => phase === 'copying' && table === 'messages'), undefined)
    const db = new DatabaseSync(join(folder, 'turnkeep.db'))
    db.exec(`update api_keys set last_used_at = last_used_at + 1`)
    db.close()
    await refused(folder, url, /folder has changed since the copy started \(api_keys\).*Drop the database, create it again/)
    const [other, second] = [await makeFolder(), await createPostgresTarget(t)]
    t.after(() => rmSync(other, { recursive: true, force: true }))
    await fillStore(other, { turns: 10 })
    await refused(other, url, /folder has changed since the copy started/)
    await copyToPostgres({ folder: other, url: second, onProgress: ignore })
    await refused(folder, second, /another copy into this database was finished on 20/)
  })

  void test('with a text that PostgreSQL cannot store: the row is named', async (t) => {
    const [folder, url] = [await createSqliteSource(t), await createPostgresTarget(t)]
    const db = new DatabaseSync(join(folder, 'turnkeep.db'))
    db.exec(`insert into owners (id, name, created_at) values ('own_zero', 'a' || char(0) || 'b', 0)`)
    db.close()
    await refused(folder, url, /^a text of owners \["own_zero"\] holds U\+0000/)
  })

  void test('with an unknown table in the old store, with an error', async (t) => {
    const [folder, url] = [await createSqliteSource(t), await createPostgresTarget(t)]
    const db = new DatabaseSync(join(folder, 'turnkeep.db'))
    db.exec('create table attic (id text primary key)')
    db.close()
    await assert.rejects(copyToPostgres({ folder, url, onProgress: ignore }), /a copy would leave behind: attic/)
  })

  void test('from a store that is broken, has an older schema, or does not exist', async (t) => {
    const [folder, url] = [await createSqliteSource(t), await createPostgresTarget(t)]
    const change = (text: string): void => {
      const db = new DatabaseSync(join(folder, 'turnkeep.db'))
      db.exec(text)
      db.close()
    }
    change('update owners set balance = balance + 1')
    await refused(folder, url, /violates invariants \(balance-is-ledger-sum\)/)
    change('update owners set balance = balance - 1; delete from migrations where name = (select max(name) from migrations)')
    await refused(folder, url, /of an older Turnkeep: start this version on it once/)
    const none = join(folder, 'none')
    mkdirSync(none)
    await refused(none, url, /there is no database in .*none/)
    assert.equal(await count(url, `select count(*) from pg_class where relname = 'owners'`), 0)
  })

  void test('server, verify and backup refuse a half-copied database; an invalid address is not repeated', async (t) => {
    const [folder, url] = [await createSqliteSource(t), await createPostgresTarget(t)]
    await copyUntil(folder, url, ({ phase, table }) => phase === 'copying' && table === 'messages')
    await assert.rejects(openPostgresStore({ url, log }), /a copy into this database is not finished/)
    for (const args of [['verify'], ['backup', join(folder, 'x.dump')]]) {
      const { code, stderr } = await runCommand(args, { DATABASE_URL: url })
      assert.equal(code, 2)
      assert.match(stderr, /^turnkeep: cannot (?:back up|verify the database at) [^\n]* is not finished[^\n]*\n$/)
    }
    const nowhere = await runCommand(['copy', '--to', 'postgres://me:geheim@127.0.0.1:1/x'], { TURNKEEP_DATA_DIR: folder })
    assert.equal(nowhere.code, 2)
    assert.match(nowhere.stderr, /cannot copy .* to postgres:\/\/me:…@127\.0\.0\.1:1\/x: .*ECONNREFUSED/)
    const wrong = await runCommand(['copy', '--to', 'mysql://me:geheim@127.0.0.1/x'], { TURNKEEP_DATA_DIR: folder })
    assert.equal(wrong.code, 2)
    assert.match(wrong.stderr, /^turnkeep: --to: must be a URL such as postgres:/)
    for (const { stdout, stderr } of [nowhere, wrong]) assert.ok(!(stdout + stderr).includes('geheim'))
  })

  void test('through a pooler, and so is a backup: both need a dedicated connection', { skip: noPooler() }, async (t) => {
    const [folder, url] = [await createSqliteSource(t), await createPostgresTarget(t)]
    const pooler = await startPooler(url)
    t.after(() => pooler.stop())
    await copyToPostgres({ folder, url, onProgress: ignore })
    await refused(folder, pooler.through(url), /a pooler stands before the database: name PostgreSQL itself in --to/)
    const backup = await runCommand(['backup', join(folder, 'x.dump')], { DATABASE_URL: pooler.through(url) })
    assert.deepEqual([backup.code, /a pooler stands before the database/.test(backup.stderr)], [2, true], backup.stderr)
    const verify = await runCommand(['verify'], { DATABASE_URL: pooler.through(url) })
    assert.equal(verify.code, 0, verify.stderr)
  })
})
