/**
 * Tests the checker: each invariant is violated by hand, with the schema's constraints disabled, and exactly that one is reported. The
 * valid rows come from the real store.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Webhook } from '../../src/resources/webhook.ts'
import { invariants, verify } from '../../src/store/queries/invariants.ts'
import type { Verdict } from '../../src/store/queries/invariants.ts'
import { databaseFile, sqlOf } from '../../src/store/sqlite/database.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import type { AdmittedTurn } from '../../src/store/turn-records.ts'
import { Bench } from './conformance.ts'
import { setLimits } from './spend-limit-conformance.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnkeep-invariants-'))
const command = new URL('../../bin/turnkeep.js', import.meta.url).pathname

// The turns without a spend limit are those that no webhook reports.
const ofNoWebhook = 'request_id in (select request_id from turns where counts_in is null)'

const entry = (id: string, verb: string, noun: string, subject: string): string =>
  `insert into audit (id, who, verb, noun, subject_id, fields, request_id, created_at) values ('${id}', 'admin_token', '${verb}', '${noun}', '${subject}', '[]', 'r', 1)`
const operatorRow = (state: string): string =>
  `insert into operators (id, email, name, role, state, created_at, updated_at) values ('opr_1', 'a', 'A', 'viewer', '${state}', 1, 1)`
const operatorIn = (state: string): string => `${operatorRow(state)}; ${entry('aud_1', 'create', 'operator', 'opr_1')}`
const tokenRow = (revokedAt: string): string =>
  `insert into admin_tokens (id, digest, name, role, created_at, revoked_at) values ('tok_1', zeroblob(32), 'T', 'viewer', 1, ${revokedAt})`
const tokenIn = (revokedAt: string): string => `${tokenRow(revokedAt)}; ${entry('aud_1', 'create', 'token', 'tok_1')}`
const passkey = `insert into passkeys (id, operator_id, name, public_key, counter, transports, created_at) values ('p', 'opr_1', 'x', x'00', 0, '[]', 1)`
const invitation = `insert into sign_in_secrets (digest, purpose, operator_id, created_at, expires_at) values (zeroblob(32), 'invitation', 'opr_1', 1, 2)`

const indexingWindow = (spentMs: number, waitsUntil: number | null): string =>
  `insert into indexing_windows (owner_id, started_at, spent_ms, waits_until) select id, 1, ${spentMs}, ${waitsUntil} from owners`

/** How an operator, a bug or a broken disk would have to change the rows; each is one script on the valid database. */
const plants: Record<string, { what: string; script: string }[]> = {
  I1: [
    { what: 'a balance without matching entries', script: 'update owners set balance = balance + 1' },
    {
      what: 'an entry that is not in the balance',
      script: `insert into ledger (id, owner_id, kind, amount, created_at) select 'led_x', id, 'credit', 1, 1 from owners`,
    },
  ],
  I2: [
    {
      what: 'a negative balance',
      script: `insert into ledger (id, owner_id, kind, amount, created_at) select 'led_x', id, 'adjustment', -2 * balance, 1 from owners;
        update owners set balance = -balance`,
    },
    {
      what: 'held above the balance',
      script: `insert into ledger (id, owner_id, kind, amount, created_at) select 'led_x', id, 'adjustment', 1 - held, 1 from owners;
        update owners set balance = held - 1;
        update ledger set amount = (select balance from owners) - (select sum(amount) from ledger where id <> 'led_x') where id = 'led_x'`,
    },
  ],
  I3: [
    { what: 'a held amount without a running turn', script: 'update owners set held = held + 1' },
    { what: 'an ended turn with a hold', script: `update turns set hold = 5 where state = 'failed'` },
  ],
  I4: [
    {
      what: 'a completed turn without a charge',
      script: `update owners set balance = balance - (select sum(amount) from ledger where kind = 'charge'); delete from ledger where kind = 'charge'`,
    },
    {
      what: 'a charge of another time than the end of its turn',
      script: `update turns set ended_at = ended_at + 1 where state = 'completed'`,
    },
    {
      what: 'two charges for one turn',
      script: `drop index one_charge_per_turn;
        insert into ledger (id, owner_id, kind, amount, request_id, created_at)
          select 'led_x', owner_id, 'charge', amount, request_id, 1 from ledger where kind = 'charge' limit 1;
        update owners set balance = balance + (select amount from ledger where id = 'led_x')`,
    },
    {
      what: 'a charge for a failed turn',
      script: `insert into ledger (id, owner_id, kind, amount, request_id, created_at)
          select 'led_x', owner_id, 'charge', 0, request_id, 1 from turns where state = 'failed'`,
    },
  ],
  I5: [
    {
      what: 'a turn whose cost differs from its charge',
      script: `update turns set charged = charged + 1 where state = 'completed' and counts_in is null`,
    },
    {
      what: 'a charge that is not usage times price',
      script: `update turns set prompt_tokens = prompt_tokens + 1 where state = 'completed'`,
    },
    { what: 'a completed turn without usage', script: `update turns set completion_tokens = null where state = 'completed'` },
  ],
  I6: [
    {
      what: 'a completed turn without messages',
      script: `delete from messages where conversation_id = (select conversation_id from turns where idempotency_key = 'two');
        update conversations set message_count = 0, message_tokens = 0 where external_user_id = 'ben'`,
    },
    { what: 'an erased turn that has its messages', script: `update turns set erased_at = 1 where idempotency_key = 'two'` },
  ],
  I7: [
    {
      what: 'a gap between two exchanges',
      script: `update messages set seq = seq + 2 where conversation_id = (select conversation_id from turns where idempotency_key = 'two')`,
    },
    {
      what: 'a message count that is wrong',
      script: `update conversations set message_count = message_count + 2 where external_user_id = 'ben'`,
    },
    {
      what: 'a token count that is wrong',
      script: `update conversations set message_tokens = message_tokens + 1 where external_user_id = 'ben'`,
    },
    {
      what: 'swapped replies',
      script: `update messages set seq = seq + 100 where role = 'assistant' and conversation_id = (select id from conversations where external_user_id = 'ann');
        update messages set seq = case seq when 102 then 4 else 2 end where seq > 100`,
    },
    {
      what: 'an erased conversation that has messages',
      script: `update conversations set external_user_id = null where external_user_id = 'ben'`,
    },
  ],
  I8: [
    {
      what: 'two running turns in one conversation',
      script: `drop index one_running_turn_per_conversation;
        delete from turn_errors where request_id in (select request_id from turns where state = 'failed');
        update turns set state = 'running', lease_until = 1, ended_at = null
          where state = 'failed';
        update turns set conversation_id = (select conversation_id from turns where idempotency_key = 'running') where idempotency_key = 'failed'`,
    },
  ],
  I9: [
    { what: 'a running turn without a lease', script: `update turns set lease_until = null where state = 'running'` },
    { what: 'a completed turn with a lease', script: `update turns set lease_until = 1 where state = 'completed'` },
    { what: 'a running turn with an end', script: `update turns set ended_at = 1 where state = 'running'` },
  ],
  I10: [
    {
      what: 'two turns for one Idempotency-Key',
      script: `drop index one_turn_per_key; update turns set idempotency_key = 'one' where idempotency_key = 'two'`,
    },
    {
      what: 'a turn with an invalid fingerprint',
      script: `update turns set fingerprint = x'00', idempotency_key = null where idempotency_key = 'one'`,
    },
  ],
  I11: [
    { what: 'a store without the trigger for ended turns', script: 'drop trigger ended_turns_never_change' },
    { what: 'a store without the trigger for fences', script: 'drop trigger fence_never_falls' },
  ],
  I12: [
    { what: 'a fourth attempt', script: `update turns set attempt = 4, fence = 9 where state = 'running'` },
    {
      what: "a second run with the first run's fence",
      script: `update turns set run = 2 where idempotency_key = 'one';
        insert into turn_errors select request_id, 1, 'turn_timeout', 1 from turns where idempotency_key = 'one'`,
    },
  ],
  I13: [
    {
      what: 'a conversation of another API key',
      script: `update conversations set api_key_id = 'key_other' where external_user_id = 'ben'`,
    },
    { what: 'a turn of another agent', script: `update turns set agent_id = 'agt_other' where idempotency_key = 'two'` },
    {
      what: 'a charge to another owner',
      script: `insert into owners (id, name, created_at) values ('own_other', 'other', 1);
        insert into ledger (id, owner_id, kind, amount, created_at) values ('led_x', 'own_other', 'credit', 600, 1);
        update ledger set owner_id = 'own_other' where request_id = (select request_id from turns where idempotency_key = 'two');
        update owners set balance = (select coalesce(sum(amount), 0) from ledger where owner_id = owners.id)`,
    },
  ],
  I14: [
    { what: 'a ledger whose entries can be changed', script: 'drop trigger ledger_is_append_only_update' },
    { what: 'a ledger whose entries can be deleted', script: 'drop trigger ledger_is_append_only_delete' },
  ],
  I15: [
    {
      what: 'messages of a failed turn',
      script: `insert into messages (id, conversation_id, seq, role, content, tokens, request_id, created_at)
          select 'msg_' || role, conversation_id, case role when 'user' then 1 else 2 end, role, 'x', 1, request_id, 1
          from turns, (select 'user' as role union all select 'assistant') where state = 'failed';
        update conversations set message_count = 2, message_tokens = 2 where id = (select conversation_id from turns where state = 'failed')`,
    },
  ],
  I16: [
    { what: 'a turn that continues a later run', script: `update turns set continues_from = run + 1 where state = 'released'` },
    { what: 'a step of a later run', script: `update journal set run = 3 where run = 2` },
    {
      what: 'a finish that is stored twice',
      script: `insert into journal select request_id, 1, step, part, kind, payload, created_at from journal where run = 2 and kind = 'tool_finished'`,
    },
    { what: 'a finish that is missing', script: `delete from journal where run = 1 and kind = 'tool_finished'` },
    {
      what: 'an erased turn that still has its journal',
      script: `update turns set erased_at = 1, continues_from = null, state = 'failed', lease_until = null, hold = 0, ended_at = 1
          where request_id in (select request_id from journal);
        insert or ignore into turn_errors select request_id, run, 'turn_timeout', 1 from turns where erased_at = 1;
        update owners set held = (select coalesce(sum(hold), 0) from turns)`,
    },
  ],
  I17: [
    { what: 'more is reserved than was used', script: 'update owners set unpaid = unpaid + 1' },
    {
      what: 'what was reserved is forgotten',
      script: `update turns set unpaid = 1000000000000, reserved = 1000000000000 where state = 'failed' and counts_in is null`,
    },
    { what: 'a negative amount', script: 'update owners set unpaid = -1' },
    { what: 'a negative amount was cleared', script: 'update owners set unpaid = unpaid + 1, cleared = cleared - 1' },
    {
      what: 'more is cleared than was credited',
      script: `update turns set unpaid = 1000000000000000, reserved = 1000000000000000 where state = 'failed' and counts_in is null;
        update owners set cleared = 1000000000000000`,
    },
  ],
  I18: [
    { what: 'an error that is not stored', script: `delete from turn_errors where run = 1 and ${ofNoWebhook}` },
    {
      what: 'an error of a completed run',
      script: `insert into turn_errors select request_id, run, 'turn_timeout', 1 from turns where state = 'completed'`,
    },
    { what: 'an error of a later run', script: `update turn_errors set run = run + 1 where ${ofNoWebhook}` },
  ],
  I19: [
    {
      what: 'a cancelled turn that no one wanted to cancel',
      script: `update turns set cancel_requested_at = null where state = 'cancelled'`,
    },
    { what: 'an incomplete reply of a turn that was not cancelled', script: `update turns set incomplete = 1 where state = 'completed'` },
    { what: 'a finish reason of a failed turn', script: `update turns set finish_reason = 'length' where state = 'failed'` },
    { what: 'an incomplete failure', script: `update turns set incomplete = 1, cancel_requested_at = 1 where state = 'failed'` },
  ],
  I20: [
    {
      what: 'a trace of a run that has not ended',
      script: `insert into traces select request_id, run, x'7b7d' from turns where state = 'running'`,
    },
    { what: 'a trace of no turn', script: `insert into traces values ('x', 1, x'7b7d')` },
    {
      what: 'feedback on an erased turn',
      script: `update turns set erased_at = 1, message = null where state = 'failed';
        insert into feedback select request_id, agent_id, 'up', null, '[]', 1, 1 from turns where state = 'failed'`,
    },
  ],
  I21: [
    { what: 'a charge that counts in no window', script: 'update spending set spent = spent - 1' },
    { what: 'a window that was reset', script: `update spending set spent = 0 where scope = 'agent'` },
    { what: 'a window that holds for no running turn', script: 'update spending set held = held + 1' },
    {
      what: 'a window above its limit',
      script: 'update spending set max_amount = spent + held - 1, reported_limit = spent + held - 1, reported_percent = 100',
    },
    { what: 'a window that does not count what a run without a reply used', script: 'update spending set unpaid = unpaid - 1' },
    { what: 'a turn in a window that does not exist', script: `update turns set counts_in = '[77]' where state = 'failed'` },
  ],
  I22: [
    { what: 'an end of a turn without an event', script: 'delete from deliveries; delete from events' },
    { what: 'an event without a delivery', script: `delete from deliveries where event_id like '%released'` },
    {
      what: 'an event that did not happen',
      script: `insert into events select replace(id, 'completed', 'failed'), 'turn.failed', subject, owner_id, agent_id, occurred_at
          from events where type = 'turn.completed';
        insert into deliveries (event_id, webhook_id, next_at, created_at) select id, 'whk_1', 1, 1 from events where type = 'turn.failed'`,
    },
    { what: 'a threshold that was not reported', script: 'update spending set max_amount = spent + unpaid + held' },
    {
      what: 'a threshold that was not reached',
      script: `update spending set reported_limit = max_amount, reported_percent = 80;
        insert into events select 'evt_' || id || '_' || max_amount || '_80_spend_limit_reached', 'spend_limit.reached', id || '_' || max_amount || '_80',
          'own_1', agent_id, 1 from spending;
        insert into deliveries (event_id, webhook_id, next_at, created_at) select id, 'whk_1', 1, 1 from events where type = 'spend_limit.reached'`,
    },
    {
      what: 'a threshold of a window that does not exist',
      script: `insert into events values ('evt_77_1_50_spend_limit_reached', 'spend_limit.reached', '77_1_50', 'own_1', null, 1);
        insert into deliveries (event_id, webhook_id, next_at, created_at) values ('evt_77_1_50_spend_limit_reached', 'whk_1', 1, 1)`,
    },
  ],
  I23: [
    {
      what: 'a session of a disabled operator',
      script: `${operatorIn('disabled')};
        insert into console_sessions (digest, id, operator_id, method, created_at, expires_at) values (zeroblob(32), 'ses_1', 'opr_1', 'password', 1, 2)`,
    },
    {
      what: 'a session of an operator that does not exist',
      script: `insert into console_sessions (digest, id, operator_id, method, created_at, expires_at) values (zeroblob(32), 'ses_1', 'opr_1', 'password', 1, 2)`,
    },
    { what: 'a passkey of an operator that does not exist', script: passkey },
    { what: 'a passkey of an operator who has not accepted', script: `${operatorIn('invited')}; ${passkey}` },
    {
      what: 'a passkey beside a company account',
      script: `${operatorIn('active')}; update operators set oidc_issuer = 'i', oidc_subject = 's'; ${passkey}`,
    },
    { what: 'a link of a disabled operator', script: `${operatorIn('disabled')}; ${invitation}` },
    { what: 'a link of an operator that does not exist', script: invitation },
  ],
  I24: [
    { what: 'an operator without an audit entry', script: operatorRow('active') },
    { what: 'an operator who was created twice', script: `${operatorIn('active')}; ${entry('aud_2', 'create', 'operator', 'opr_1')}` },
    { what: 'an operator who was removed', script: `${operatorIn('active')}; ${entry('aud_2', 'remove', 'operator', 'opr_1')}` },
    { what: 'an operator who is gone without a removal', script: entry('aud_1', 'create', 'operator', 'opr_1') },
    { what: 'a recovered operator who is gone without a removal', script: entry('aud_1', 'recover', 'operator', 'opr_1') },
    { what: 'a token without an audit entry', script: tokenRow('null') },
    { what: 'a token that was created twice', script: `${tokenIn('null')}; ${entry('aud_2', 'create', 'token', 'tok_1')}` },
    { what: 'a token that is gone', script: entry('aud_1', 'create', 'token', 'tok_1') },
    { what: 'a revoked token without an audit entry', script: tokenIn('2') },
    { what: 'a valid token that was revoked', script: `${tokenIn('null')}; ${entry('aud_2', 'revoke', 'token', 'tok_1')}` },
    {
      what: 'a token that was revoked twice',
      script: `${tokenIn('2')}; ${['aud_2', 'aud_3'].map((id) => entry(id, 'revoke', 'token', 'tok_1')).join(';')}`,
    },
  ],
  I25: [
    { what: 'an owner whose documents wait longer than its window', script: indexingWindow(1, 3_600_002) },
    { what: 'an owner whose documents wait, and none was read', script: indexingWindow(0, 3_600_001) },
    { what: 'a window with a negative time', script: indexingWindow(-1, null) },
  ],
}

/** Triggers that forbid what a plant does are dropped meanwhile and restored afterwards, unless the plant is meant to drop them. */
function plant(db: DatabaseSync, script: string): void {
  const triggers = db.prepare(`select name, sql from sqlite_master where type = 'trigger'`).all() as { name: string; sql: string }[]
  for (const { name } of triggers) if (!script.includes(name)) db.exec(`drop trigger ${name}`)
  db.exec(script)
  for (const { name, sql } of triggers) if (!script.includes(name)) db.exec(sql)
}

function openUnguarded(folderOf: string): DatabaseSync {
  const db = new DatabaseSync(databaseFile(folderOf), { readBigInts: true, enableForeignKeyConstraints: false })
  db.exec('pragma ignore_check_constraints = on')
  return db
}

/** The invariants that the script violates. It is rolled back. */
async function brokenBy(script: string): Promise<Verdict[]> {
  const db = openUnguarded(folder)
  db.exec('begin')
  plant(db, script)
  const verdicts = await verify(sqlOf(db, Date.now))
  db.close()
  return verdicts.filter(({ rows }) => rows.length > 0)
}

const runCommand = (folderOf: string, ...args: string[]) =>
  spawnSync(process.execPath, [command, 'verify', ...args], { encoding: 'utf8', env: { TURNKEEP_DATA_DIR: folderOf } })

/** A step with a tool call that had side effects. */
async function journaled(bench: Bench, turn: AdmittedTurn, step: number): Promise<AdmittedTurn> {
  const entries = (['tool_started', 'tool_finished'] as const).map((kind) => ({ step, part: 1, kind, payload: '{}' }))
  assert.equal((await bench.advance(turn, { entries, finishedSideEffects: true })).kind, 'advanced')
  return turn
}

before(async () => {
  const store = await openSqliteStore({ folder })
  const bench = await Bench.make(store, 1_000_000n)
  await bench.settle(await bench.admitted({ idempotencyKey: 'one', externalUserId: 'ann' }))
  await bench.settle(await bench.admitted({ idempotencyKey: 'more', externalUserId: 'ann' }))
  await bench.settle(await bench.admitted({ idempotencyKey: 'two', externalUserId: 'ben' }))
  await bench.fail(await bench.admitted({ idempotencyKey: 'failed', externalUserId: 'cem' }), 'failed')
  await bench.fail(await bench.admitted({ idempotencyKey: 'released', externalUserId: 'dora' }), 'released')
  await bench.cancel(await bench.admitted({ idempotencyKey: 'cancelled', externalUserId: 'fay' }))
  const limited = await bench.another()
  await setLimits(limited, { scope: 'agent', span: 'total', amount: 10n ** 9n }, { scope: 'end_user', span: 'month', amount: 10n ** 9n })
  const events: Webhook['events'] = ['*']
  const notified = { id: 'whk_1', url: 'https://hooks.example/', events, ownerId: null, agentId: limited.agentId, description: null }
  assert.equal((await store.write.createWebhook({ ...notified, includeMessages: false, sealedSecret: Uint8Array.of(1) })).kind, 'stored')
  // Events count from the next millisecond on.
  await setTimeout(2)
  await limited.settle(await limited.admitted({ externalUserId: 'gil' }))
  await limited.fail(await limited.admitted({ externalUserId: 'gil' }), 'released', { unpaid: 9n, causeKind: 'turn_timeout' })
  const running = { idempotencyKey: 'running', externalUserId: 'eve' }
  await bench.fail(await journaled(bench, await bench.admitted(running), 1), 'released')
  await journaled(bench, await bench.admitted(running), 2)
  await store.close()
})

after(() => rmSync(folder, { recursive: true, force: true }))

test('verify: every invariant has a plant, and valid rows violate none', async () => {
  assert.deepEqual(
    invariants.map(({ id }) => id),
    Object.keys(plants),
  )
  const db = openUnguarded(folder)
  const verdicts = await verify(sqlOf(db, Date.now))
  db.close()
  assert.deepEqual(
    verdicts.filter(({ rows }) => rows.length > 0),
    [],
  )
})

test('verify: an operator who was removed and is created again under the same ID violates nothing', async () => {
  for (const again of ['recover', 'create']) {
    const entries = [entry('aud_2', 'remove', 'operator', 'opr_1'), entry('aud_3', again, 'operator', 'opr_1')]
    assert.deepEqual(await brokenBy([operatorIn('active'), ...entries].join('; ')), [], again)
  }
})

describe('verify: reports exactly what is violated', () => {
  for (const [id, variants] of Object.entries(plants)) {
    for (const { what, script } of variants) {
      test(`${id} ${what}`, async () => {
        assert.deepEqual(
          (await brokenBy(script)).map((verdict) => verdict.id),
          [id],
        )
      })
    }
  }
})

describe('turnkeep verify', () => {
  test('prints ok for every invariant and exits 0, also beside a running server', async () => {
    const store = await openSqliteStore({ folder })
    const { status, stdout } = runCommand(folder)
    await store.close()
    assert.equal(status, 0)
    assert.equal(stdout.match(/^ok {6}I\d+/gm)?.length, invariants.length)
    assert.match(stdout, /^all 25 invariants hold$/m)
  })

  test('prints the violating rows and exits 1; --json has the same content', () => {
    const copy = mkdtempSync(join(tmpdir(), 'turnkeep-broken-'))
    try {
      cpSync(folder, copy, { recursive: true })
      const db = openUnguarded(copy)
      plant(db, 'update owners set balance = balance + 1')
      db.close()
      const { status, stdout } = runCommand(copy)
      assert.equal(status, 1)
      assert.match(stdout, /^BROKEN {2}I1 .*\n +\{"owner_id":"own_\w+","balance":"997601","ledger_sum":"997600"\}$/m)
      assert.match(stdout, /^broken: 1 of 25 invariants$/m)
      const json = runCommand(copy, '--json')
      assert.equal(json.status, 1)
      const report = JSON.parse(json.stdout)
      assert.equal(report.ok, false)
      assert.deepEqual(
        report.invariants
          .filter((one: { ok: boolean }) => !one.ok)
          .map((one: { id: string; rows: unknown[] }) => [one.id, one.rows.length]),
        [['I1', 1]],
      )
    } finally {
      rmSync(copy, { recursive: true, force: true })
    }
  })

  test('exits 2 with one line when there is no database', () => {
    const empty = mkdtempSync(join(tmpdir(), 'turnkeep-empty-'))
    const { status, stdout, stderr } = runCommand(empty)
    rmSync(empty, { recursive: true, force: true })
    assert.equal(status, 2)
    assert.equal(stdout, '')
    assert.match(stderr, /^turnkeep: no database in .*\n$/)
  })
})
