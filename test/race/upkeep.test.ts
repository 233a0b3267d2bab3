/**
 * Maintenance by the operator while the service is running, on either store. Invariants are checked, backups are taken and end users are
 * erased while messages are answered. Every check must find a consistent ledger, every reply must be replayed, and every charge must be in
 * the balance.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Fleet, noFleet } from '../support/fleet.ts'
import { ProcessRuns } from '../support/process-runs.ts'
import { noPostgresServer } from '../support/postgres-server.ts'
import { runProcess } from '../support/run-command.ts'
import type { Answer, TestClient } from '../support/test-app.ts'

type Service = { client: () => TestClient; settings: Record<string, string>; folder: string; verify(): Promise<void>; balanceUsd: string }
type Exchange = { client: TestClient; message: string; user: string; idempotencyKey: string; answer: Answer; erased: boolean }

const rounds = 2
const units = (usd: string): bigint => BigInt(usd.replace('.', ''))

/** A caller that retries until it has its reply. */
async function say(client: TestClient, message: string, user: string): Promise<Exchange> {
  const idempotencyKey = randomUUID()
  for (let tries = 0; ; tries++) {
    const answer = await client.chat(message, { idempotencyKey, user })
    if (answer.status === 200) return { client, message, user, idempotencyKey, answer, erased: false }
    assert.ok([409, 503].includes(answer.status) && tries < 1000, answer.text)
  }
}

async function eraseUser(client: TestClient, user: string): Promise<void> {
  const path = `/agents/${client.caller.agentId}/end-users?external_user_id=${encodeURIComponent(user)}`
  const { status, text } = await client.admin('DELETE', path)
  assert.equal(status, 200, text)
}

async function keepUp({ client, settings, folder, verify, balanceUsd }: Service): Promise<number> {
  const reported: Exchange[] = []
  const stopped = new AbortController()
  const load = Array.from({ length: 8 }, async (_, caller) => {
    // The user of every second caller is erased after each message and continues in a new conversation.
    const erases = caller % 2 === 1
    for (let count = 0; !stopped.signal.aborted; count++) {
      const one = await say(client(), `message ${count} of ${caller}`, `user ${caller}`)
      reported.push(one)
      if (!erases) continue
      await eraseUser(one.client, one.user)
      one.erased = true
    }
  })
  // The first error stops everything.
  const loading = Promise.all(load).finally(() => stopped.abort())
  const upkeep = async (): Promise<void> => {
    for (let round = 0; round < rounds && !stopped.signal.aborted; round++) {
      const from = reported.length
      const checked = await runProcess(['verify'], settings)
      assert.equal(checked.code, 0, checked.stdout + checked.stderr)
      const made = await runProcess(['backup', join(folder, `backup ${round}`), '--json'], settings)
      assert.equal(made.code, 0, made.stderr)
      assert.deepEqual([JSON.parse(made.stdout).ok, JSON.parse(made.stdout).broken], [true, []])
      assert.ok(reported.length > from, 'nothing was answered meanwhile')
    }
    stopped.abort()
  }
  await Promise.all([loading, upkeep()])
  await verify()

  let charged = 0n
  for (const { client: by, message, user, idempotencyKey, answer, erased } of reported) {
    charged += units(answer.json.usage.charged_usd)
    const replay = await by.chat(message, { idempotencyKey, user })
    if (erased) assert.deepEqual([replay.status, replay.json.error?.code], [404, 'not_found'], message)
    else assert.deepEqual([replay.status, replay.json], [200, answer.json], message)
  }
  const { balance_usd: balance, held_usd: held } = await client().owner()
  assert.deepEqual([units(balance) + charged, held], [units(balanceUsd), '0.00000000'])
  await verify()
  return reported.length
}

void test('fault.maintenance-under-load: on SQLite: checks, backups and erasures under load: the ledger stays consistent and every reply is replayed unchanged', async (t) => {
  const processRuns = await ProcessRuns.begin(t)
  const settings = { TURNKEEP_DATA_DIR: processRuns.folder }
  const client = (): TestClient => processRuns.client
  const answered = await keepUp({
    client,
    settings,
    folder: processRuns.folder,
    verify: () => processRuns.verify(),
    balanceUsd: '10.00000000',
  })
  assert.equal(processRuns.model.calls.length, answered)
  t.diagnostic(`${answered} turns`)
})

// In the ci tier this is skipped, because the chaos run there checks and copies a database under load, too.
if (process.env['TEST_TIER'] !== 'ci')
  void test(
    'fault.maintenance-under-load: on PostgreSQL: checks, backups and erasures under load of two processes: the ledger stays consistent and every reply is replayed unchanged',
    { skip: noFleet() || noPostgresServer() },
    async (t) => {
      const folder = await mkdtemp(join(tmpdir(), 'turnkeep-upkeep-'))
      t.after(() => rm(folder, { recursive: true, force: true }))
      const fleet = await Fleet.begin(t, { count: 2 })
      let turn = 0
      const client = (): TestClient => fleet.client(turn++ % 2)
      const settings = { DATABASE_URL: fleet.databaseUrl }
      const answered = await keepUp({ client, settings, folder, verify: () => fleet.verify(), balanceUsd: '1000.00000000' })
      assert.equal(fleet.model.calls.length, answered)
      t.diagnostic(`${answered} turns`)
    },
  )
