/**
 * Many turns with kill -9 at moments of the sender, one data folder through many process runs: the set of event IDs that the receiver got
 * is the set of ends of turns, and what it got twice has the same ID and body. `WEBHOOK_TURNS` and `WEBHOOK_KILLS` make it longer, and
 * `SEED=n` repeats a run.
 */
import assert from 'node:assert/strict'
import { randomInt, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { readSnapshot } from '../../src/store/sqlite/sqlite.ts'
import { ProcessRuns } from '../support/process-runs.ts'
import { startReceiver } from '../support/webhook-receiver.ts'

const turns = Number(process.env['WEBHOOK_TURNS'] ?? 300)
const kills = Number(process.env['WEBHOOK_KILLS'] ?? 6)
const points = ['claim-deliveries.before-commit', 'claim-deliveries.after-commit', 'webhook.before-send', 'webhook.after-send'] as const
const others = ['end-attempts.before-commit', 'end-attempts.after-commit', 'settle.before-commit', 'settle.after-commit'] as const
const callers = 8

void test('webhook.delivered webhook.once: kill -9 at moments of the sender: every event is received, under one ID each', async (t) => {
  const seed = Number(process.env['SEED'] ?? randomInt(1_000_000))
  t.diagnostic(`SEED=${seed}`)
  let drawn = seed
  const draw = (below: number): number => {
    drawn = (Math.imul(drawn, 1_103_515_245) + 12_345) & 0x7fffffff
    return (drawn >> 8) % below
  }
  await using receiver = await startReceiver()
  const env = { TURNKEEP_ALLOW_PRIVATE_HOSTS: receiver.host }
  const processRuns = await ProcessRuns.begin(t, '', { env })
  const { client } = processRuns
  processRuns.model.when(/./, ({ lastUserMessage }) => (lastUserMessage.includes('refuse') ? { status: 400 } : ['Hello.']))
  await client.made('POST', '/webhooks', { url: receiver.url('/'), events: ['*'] })

  let next = 0
  const stopped = new AbortController()
  async function talk(): Promise<void> {
    while (next < turns && !stopped.signal.aborted) {
      const n = next++
      const message = n % 20 === 19 ? `refuse ${n}` : `message ${n}`
      const key = randomUUID()
      // Until it is completed, released, or has failed because its processes died three times.
      const isFinal = (status: number): boolean => status === 200 || status === 500 || (status === 503 && n % 20 === 19)
      for (let status = 0; !stopped.signal.aborted && !isFinal(status);) {
        status = await client.chat(message, { idempotencyKey: key, user: `user-${n}` }).then(
          (answer) => answer.status,
          () => 0,
        )
        if (!isFinal(status)) await pass(50)
      }
    }
  }
  const load = Array.from({ length: callers }, talk)
  t.after(() => stopped.abort())
  for (let kill = 0; kill < kills; kill++) {
    const all = [...points, ...others]
    await processRuns.server!.kill()
    // The point may end the process before it listens, because the sender starts with what is left to send.
    const started = await processRuns.start(`${all[kill % all.length]}=kill@${1 + draw(12)}`).then(
      () => true,
      () => false,
    )
    // Until the point has ended the process, or for as long as there are turns to end.
    if (started) await Promise.race([processRuns.server!.exited, pass(5_000), Promise.all(load)])
  }
  await processRuns.server!.kill()
  await processRuns.start()
  await Promise.all(load)

  const stored = () =>
    readSnapshot(processRuns.folder, async (sql) => ({
      events: (await sql.all('select id from events')).map(({ id }) => String(id)),
      pending: (await sql.all("select event_id from deliveries where state <> 'delivered'")).length,
      ended: Number((await sql.all("select count(*) as n from turns where state <> 'running'"))[0]!['n']),
    }))
  for (const until = performance.now() + 60_000; (await stored()).pending > 0; await pass(100))
    assert.ok(performance.now() < until, `${(await stored()).pending} deliveries are pending`)
  const { events, ended } = await stored()
  assert.equal(ended, turns)
  const byId = Map.groupBy(receiver.received, ({ id }) => id)
  assert.deepEqual([...byId.keys()].toSorted(), events.toSorted())
  for (const [id, deliveries] of byId) assert.equal(new Set(deliveries.map(({ body }) => body)).size, 1, id)
  await processRuns.verify()
  t.diagnostic(`${turns} turns, ${kills} kills: ${events.length} events, ${receiver.received.length} requests`)
})
