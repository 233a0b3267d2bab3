/** The embedded store: the conformance suite, and what can only go wrong on SQLite. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { listFeedback } from '../../src/store/queries/feedback.ts'
import { listStepsOfTurns, listTurns, turnStates } from '../../src/store/queries/turns.ts'
import type { TurnFilter } from '../../src/store/queries/turns.ts'
import { databaseFile, sqlOf } from '../../src/store/sqlite/database.ts'
import { migrate, readMigrations } from '../../src/store/sqlite/migrate.ts'
import { SchemaRefused } from '../../src/store/schema-refused.ts'
import { FolderInUse, openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import type { Sql } from '../../src/store/sql.ts'
import { openEmptyStore } from '../support/pooled-store.ts'
import { Bench, checkOn, conformance } from './conformance.ts'
import { journalConformance } from './journal-conformance.ts'
import { attentionConformance } from './attention-conformance.ts'
import { operatorConformance } from './operator-conformance.ts'
import { turnResourceConformance } from './turn-resource-conformance.ts'
import { priceConformance } from './price-conformance.ts'
import { spendLimitConformance } from './spend-limit-conformance.ts'
import { spendLimitEventsConformance } from './spend-limit-events-conformance.ts'
import { unpaidConformance } from './unpaid-conformance.ts'
import { makeWebhook, webhookConformance } from './webhook-conformance.ts'

const makeFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'turnkeep-store-'))

const check = checkOn('sqlite', () => openEmptyStore('sqlite'))
conformance(check)
journalConformance(check)
priceConformance(check)
unpaidConformance(check)
spendLimitConformance(check)
spendLimitEventsConformance(check)
webhookConformance(check)
turnResourceConformance(check)
operatorConformance(check)
attentionConformance(check)

async function ownFolder(t: TestContext): Promise<string> {
  const folder = await makeFolder()
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

void test('webhook.delivered: what a dead process was sending is due at the next start, also a first attempt', async (t) => {
  const folder = await ownFolder(t)
  const before = await openSqliteStore({ folder })
  const bench = await Bench.make(before, 1_000_000n)
  const webhookId = await makeWebhook(before)
  await bench.settle(await bench.admitted())
  const wanted = [{ webhookId, limit: 10 }]
  const [claimed] = await before.write.claimDeliveries({ wanted, leaseMs: 30_000 })
  assert.deepEqual(await before.write.claimDeliveries({ wanted, leaseMs: 30_000 }), [])
  await before.close()
  const after = await openSqliteStore({ folder })
  const again = await after.write.claimDeliveries({ wanted, leaseMs: 30_000 })
  assert.deepEqual(
    again.map(({ eventId, attempt }) => [eventId, attempt]),
    [[claimed!.eventId, 1]],
  )
  await after.close()
})

void test('sqlite: a data folder can be used by one process, and is free again after a close', async (t) => {
  const folder = await ownFolder(t)
  const store = await openSqliteStore({ folder })
  await assert.rejects(openSqliteStore({ folder }), FolderInUse)
  await store.close()
  await (await openSqliteStore({ folder })).close()
})

void test('sqlite: a provider of a kind that this version does not know is not returned', async (t) => {
  const folder = await ownFolder(t)
  const store = await openSqliteStore({ folder })
  t.after(() => store.close())
  const provider = { id: 'prv_1', name: 'later', kind: 'openai' as const, baseUrl: null, sealedApiKey: new Uint8Array(1) }
  await store.write.createProvider(provider)
  const db = new DatabaseSync(databaseFile(folder))
  db.exec("update providers set kind = 'of tomorrow'")
  db.close()
  await assert.rejects(store.read.findProvider('later'), /provider prv_1 is of an unknown kind/)
})

void test('sqlite: running_has_lease: at start every turn of a dead process can be claimed immediately', async (t) => {
  const folder = await ownFolder(t)
  const first = await openSqliteStore({ folder })
  const turn = await (await Bench.make(first, 1_000_000n)).admitted()
  await first.close()
  const second = await openSqliteStore({ folder })
  const { turns } = await second.claimOrphans({ which: 'fresh', limit: 10, leaseMs: 15_000, running: [] })
  assert.deepEqual(
    turns.map(({ requestId }) => requestId),
    [turn.requestId],
  )
  await second.close()
})

void test('sqlite: a lookup does not wait for an earlier report, and a close waits for both', async (t) => {
  const folder = await ownFolder(t)
  const store = await openSqliteStore({ folder })
  const hours = (count: number) => store.read.usageByBucket({ from: 0, to: count, bucketMs: 1 })
  await hours(1)
  const answered: string[] = []
  const report = hours(8_000).then(({ buckets }) => answered.push(`a report of ${buckets.length}`))
  const lookUps = [1, 2, 3].map((n) => store.read.findApiKeys(['nobody']).then(() => answered.push(`look-up ${n}`)))
  await Promise.all(lookUps)
  const closed = store.close().then(() => answered.push('closed'))
  await report
  await closed
  assert.deepEqual(answered, ['look-up 1', 'look-up 2', 'look-up 3', 'a report of 8000', 'closed'])
  await assert.rejects(hours(1), StoreUnavailable)
})

/** How SQLite would run the statement of an admin query, on an empty store. */
async function planOfRead(read: (sql: Sql) => Promise<unknown>): Promise<string> {
  const db = new DatabaseSync(':memory:')
  migrate(db, readMigrations(), undefined)
  let plan = ''
  const explain: Sql = {
    ...sqlOf(db, () => 0),
    async all(text, ...values) {
      plan = (await sqlOf(db, () => 0).all(`explain query plan ${text}`, ...values)).map(({ detail }) => detail).join(', ')
      return []
    },
  }
  await read(explain)
  db.close()
  return plan
}

void test('sqlite: the steps of a page of replies are found by the keys of their turns', async () => {
  const plan = await planOfRead((sql) => listStepsOfTurns(sql, ['one', 'two']))
  assert.match(plan, /^SEARCH t USING INDEX sqlite_autoindex_turns_1 \(request_id=\?\), SEARCH j USING PRIMARY KEY \(request_id=\?\)/)
})

void test('sqlite: a list of turns is an index range with any filter, never a full scan or a sort', async () => {
  const planOf = (filter: TurnFilter): Promise<string> =>
    planOfRead((sql) => listTurns(sql, filter, { limit: 21, before: { createdAt: 1, id: '' } }))
  for (const state of [undefined, ...turnStates]) {
    for (const agentId of [undefined, 'agt_x']) {
      const index = state === undefined ? 'turns_newest_first (' : 'turns_by_state (state=? AND '
      const plan = await planOf({ ...(state && { state }), ...(agentId && { agentId }) })
      assert.ok(plan.startsWith(`SEARCH t USING INDEX ${index}(created_at,request_id)<(?,?))`), plan)
      assert.doesNotMatch(plan, /SCAN|TEMP B-TREE/)
    }
    // Those of one conversation are few enough to be sorted.
    const plan = await planOf({ ...(state && { state }), conversationId: 'conv_x' })
    assert.match(plan, /^SEARCH t USING INDEX (turns_of_conversation|one_running_turn_per_conversation) \(conversation_id=\?\)/)
  }
})

void test('sqlite: a list of feedback is an index range with any filter, never a full scan or a sort', async () => {
  for (const filter of [
    {},
    { agentId: 'agt_x' },
    { rating: 'up' as const },
    { tag: 'wrong' },
    { agentId: 'agt_x', rating: 'down' as const },
  ]) {
    const plan = await planOfRead((sql) => listFeedback(sql, filter, { limit: 21, before: { createdAt: 1, id: '' } }))
    assert.match(plan, /^SEARCH f USING INDEX feedback_newest_first \(\(updated_at,request_id\)<\(\?,\?\)\), .*SEARCH t USING INDEX/, plan)
    assert.doesNotMatch(plan.replace('SCAN json_each VIRTUAL TABLE', 'its tags'), /SCAN|TEMP B-TREE/, plan)
  }
})

void test('sqlite: a database of a newer Turnkeep is refused', async (t) => {
  const folder = await ownFolder(t)
  await (await openSqliteStore({ folder })).close()
  const db = new DatabaseSync(databaseFile(folder))
  db.exec("insert into migrations values ('9999-later.sql', 'x', 0)")
  db.close()
  await assert.rejects(openSqliteStore({ folder }), SchemaRefused)
})

void test('sqlite: a migration that changed after it ran is refused, a new one copies the file first, a failing one leaves nothing', async (t) => {
  const folder = await ownFolder(t)
  const db = new DatabaseSync(databaseFile(folder))
  const known = readMigrations()
  migrate(db, known, folder)
  assert.throws(() => migrate(db, [{ name: known[0]!.name, text: 'select 1' }], folder), SchemaRefused)
  const later = { name: '9000-later.sql', text: 'create table later (x integer) strict' }
  const broken = { name: '9001-broken.sql', text: 'create table half (x integer) strict; create table half (x integer) strict' }
  assert.throws(() => migrate(db, [...known, later, broken], folder))
  const tables = db.prepare("select name from sqlite_schema where name in ('later', 'half')").all()
  assert.deepEqual(
    tables.map((row) => row['name']),
    ['later'],
  )
  const copies = (await readdir(folder)).filter((name) => name.includes('before-'))
  assert.equal(copies.length, 1)
  const copy = new DatabaseSync(join(folder, copies[0]!), { readOnly: true })
  assert.equal(copy.prepare("select count(*) as n from sqlite_schema where name = 'turns'").get()!['n'], 1)
  copy.close()
  db.close()
})

void test('sqlite: a copy before a migration that is not complete has no name and stays nowhere', async (t) => {
  const folder = await ownFolder(t)
  const db = new DatabaseSync(databaseFile(folder))
  const known = readMigrations()
  migrate(db, known, folder)
  db.close()
  const copies = async (): Promise<string[]> => (await readdir(folder)).filter((name) => name.includes('before-'))
  const code = `
    import { DatabaseSync } from 'node:sqlite'
    const { migrate, readMigrations } = await import('${import.meta.resolve('../../src/store/sqlite/migrate.ts')}')
    const later = { name: '9000-later.sql', text: 'create table later (x integer) strict' }
    migrate(new DatabaseSync(${JSON.stringify(databaseFile(folder))}), [...readMigrations(), later], ${JSON.stringify(folder)})`
  // No file may be larger than that, so the copy fails in the middle.
  const start = (limit: string) =>
    spawnSync('sh', ['-c', `ulimit -f ${limit} && exec "$0" --input-type=module -e "$1"`, process.execPath, code], { encoding: 'utf8' })
  const failed = start('64')
  assert.deepEqual([failed.status, await copies()], [1, []], failed.stderr)
  // From a start that was killed.
  await writeFile(`${databaseFile(folder)}.before-${String(known.length + 1).padStart(4, '0')}.partial`, 'left')
  const started = start('unlimited')
  assert.equal(started.status, 0, started.stderr)
  assert.match((await copies()).join(), /^turnkeep\.db\.before-\d{4}-\d+$/)
})

void test('sqlite: invalid states are rejected by a constraint, whoever writes', async (t) => {
  const folder = await ownFolder(t)
  const store = await openSqliteStore({ folder })
  const bench = await Bench.make(store, 1_000_000n)
  const settled = await bench.admitted({ externalUserId: 'ann', idempotencyKey: 'first' })
  await bench.settle(settled)
  const running = await bench.admitted({ externalUserId: 'ann', idempotencyKey: 'second' })
  await store.close()
  const db = new DatabaseSync(databaseFile(folder))
  t.after(() => db.close())
  const copyTurn = (changes: string): string =>
    `create temp table copy as select * from turns where request_id = '${running.requestId}'; update copy set request_id = 'other', ${changes};
     insert into turns select * from copy`
  const auditLine = "insert into audit values ('aud_x', 'server', null, null, 'create', 'owner', 'own_x', '[]', null, null, 0)"
  const refused: [rule: string, message: RegExp, sql: string][] = [
    [
      'one_turn_per_key',
      /turns\.api_key_id, turns\.idempotency_key/,
      copyTurn("state = 'failed', lease_until = null, ended_at = started_at, hold = 0"),
    ],
    ['ended_after_its_start', /ended_after_its_start/, "update turns set ended_at = started_at - 1 where state = 'completed'"],
    ['one_running_turn_per_conversation', /turns\.conversation_id/, copyTurn("idempotency_key = 'third'")],
    [
      'one_charge_per_turn',
      /ledger\.request_id/,
      `insert into ledger (id, owner_id, kind, amount, request_id, created_at)
       select 'led_x', owner_id, kind, amount, request_id, 0 from ledger where kind = 'charge'`,
    ],
    ['balance_never_negative', /balance_never_negative/, 'update owners set balance = -1, held = 0'],
    ['held_within_balance', /held_within_balance/, 'update owners set held = balance + 1'],
    [
      'billing.spend-limit: spent_within_limit',
      /spent_within_limit/,
      `insert into spending (agent_id, scope, subject, span, starts_at, max_amount, spent, held, unpaid)
       select id, 'agent', id, 'total', 0, 10, 5, 5, 1 from agents`,
    ],
    [
      'billing.spend-limit: limit_held_never_negative',
      /limit_held_never_negative/,
      `insert into spending (agent_id, scope, subject, span, starts_at, max_amount, held) select id, 'agent', id, 'total', 0, 10, -1 from agents`,
    ],
    [
      'billing.spend-limit: spent_never_negative',
      /spent_never_negative/,
      `insert into spending (agent_id, scope, subject, span, starts_at, max_amount, spent) select id, 'agent', id, 'total', 0, 10, -1 from agents`,
    ],
    [
      'billing.spend-limit: one_row_per_spend_window',
      /spending\.agent_id, spending\.scope/,
      `insert into spending (agent_id, scope, subject, span, starts_at, max_amount)
       select a.id, 'agent', a.id, 'total', 0, 10 from agents a, (values (1), (2))`,
    ],
    ['running_has_lease', /running_has_lease/, "update turns set lease_until = null where state = 'running'"],
    ['ended_has_no_hold', /ended_has_no_hold/, "update turns set hold = 1 where state = 'completed'"],
    [
      'ended_turns_never_change',
      /ended_turns_never_change/,
      "update turns set state = 'released', charged = null where state = 'completed'",
    ],
    ['fence_never_falls', /fence_never_falls/, 'update turns set fence = 0'],
    ['ledger_is_append_only', /ledger_is_append_only/, 'update ledger set amount = amount - 1'],
    ['ledger_is_append_only', /ledger_is_append_only/, 'delete from ledger'],
    ['audit: audit_is_append_only', /audit_is_append_only/, `${auditLine}; update audit set verb = 'y'`],
    ['audit: audit_is_append_only', /audit_is_append_only/, `${auditLine}; delete from audit`],
    ['audit.changes: changes_are_of_fields', /changes_are_of_fields/, auditLine.replace("'[]', null", "'[]', '{}'")],
    ['audit: a_call_has_an_id', /a_call_has_an_id/, auditLine.replace('server', 'admin_token')],
    ['audit: an_author_is_named', /an_author_is_named/, auditLine.replace("'server', null", "'server', 'opr_x'")],
    [
      'one_place_per_message',
      /messages\.conversation_id, messages\.seq/,
      `insert into messages select 'msg_x', conversation_id, seq, role, content, tokens, '${running.requestId}', 0, null from messages`,
    ],
    ['only_replies_cite', /only_replies_cite/, "update messages set citations = '[]'"],
    ['continues_from_a_run', /continues_from_a_run/, 'update turns set continues_from = run + 1'],
    ['roles_alternate', /roles_alternate/, "update messages set role = 'user'"],
    [
      'operator.invitation: one_invitation_per_operator',
      /sign_in_secrets\.operator_id/,
      `insert into operators (id, email, name, role, state, created_at, updated_at) values ('opr_x', 'x', 'X', 'viewer', 'invited', 0, 0);
       insert into sign_in_secrets (digest, purpose, operator_id, created_at, expires_at)
         values (randomblob(32), 'invitation', 'opr_x', 0, 1), (randomblob(32), 'invitation', 'opr_x', 0, 1)`,
    ],
    [
      'one_conversation_per_end_user',
      /conversations\.api_key_id/,
      "insert into conversations (id, api_key_id, external_user_id, created_at) select 'c', api_key_id, external_user_id, 0 from conversations",
    ],
  ]
  for (const [rule, message, sql] of refused) {
    await t.test(rule, () => {
      db.exec('begin')
      try {
        assert.throws(() => db.exec(sql), message)
      } finally {
        if (db.isTransaction) db.exec('rollback')
        db.exec('drop table if exists temp.copy')
      }
    })
  }
})

void test('sqlite: a full disk is StoreUnavailable with nothing stored, and the store serves again once there is space', async (t) => {
  const folder = await makeFolder()
  const mount = join(folder, 'small')
  await mkdir(mount)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', mount], { stdio: 'pipe' })
  } catch {
    t.skip('mounting a small file system needs root; run the suite as root to include it')
    return
  }
  const store = await openSqliteStore({ folder: mount })
  t.after(async () => {
    await store.close()
    execFileSync('umount', [mount])
    await rm(folder, { recursive: true })
  })
  const bench = await Bench.make(store, 100_000_000n)
  const running = await bench.admitted({ externalUserId: 'ann' })
  await writeFile(join(mount, 'filler'), Buffer.alloc(64 * 1024 * 1024)).catch((error: NodeJS.ErrnoException) =>
    assert.equal(error.code, 'ENOSPC'),
  )
  const before = await bench.money()
  const outcomes = await store.admitMany([
    bench.admission({ message: 'x'.repeat(100_000) }),
    bench.admission({ message: 'y'.repeat(100_000) }),
  ])
  for (const outcome of outcomes) {
    assert.equal(outcome.kind, 'error')
    assert.ok(outcome.kind === 'error' && outcome.error instanceof StoreUnavailable, String(outcome.kind))
  }
  assert.deepEqual(await bench.money(), before, 'reads work, and no half turn is left')
  await rm(join(mount, 'filler'))
  assert.equal((await bench.settle(running)).kind, 'settled')
  assert.equal((await bench.admit()).kind, 'admitted')
  await bench.verify()
})
