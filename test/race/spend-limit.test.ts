/**
 * `billing.spend-limit` over HTTP: a thousand concurrent turns of one end user, through a thousand keys, on a limit for 137, also while a
 * process is killed. On PostgreSQL through three processes; the embedded store has one, which is started again.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { Fleet, noFleet } from '../support/fleet.ts'
import { until } from '../support/until.ts'
import { gate } from '../support/model-server.ts'
import type { Gate, ModelServer } from '../support/model-server.ts'
import { ProcessRuns } from '../support/process-runs.ts'
import { parseEvents } from '../support/test-app.ts'
import type { Json, TestClient } from '../support/test-app.ts'

const callers = 1000
const fits = 137
const user = 'ann'
const message = 'hello'
const env = { TURNKEEP_MAX_TURNS: '2000' }
// Callers wait for less time than Retry-After.
const pauseMs = 100

type Servers = {
  model: ModelServer
  client(): TestClient
  /** A running process, if there is one. */
  url(): string | undefined
  /** kill -9 of one process. Resolves when there is one that answers again. */
  kill(): Promise<void>
  verify(): Promise<void>
  /** Aborted at the end of the test: callers give up. */
  over: AbortSignal
}

const units = (usd: string): bigint => BigInt(usd.replace('.', ''))
const usd = (amount: bigint): string => `${amount / 100_000_000n}.${String(amount % 100_000_000n).padStart(8, '0')}`

const balanceOf = async (client: TestClient): Promise<bigint> => units((await client.owner())['balance_usd'])

/** What a turn of the message holds. */
async function holdOf({ model, client }: Servers): Promise<bigint> {
  const held = gate()
  model.script([held, 'hi'])
  const answer = client().chat(message, { user: 'eve' })
  await held.reached
  const hold = units((await client().owner())['held_usd'])
  held.open()
  assert.equal((await answer).status, 200)
  return hold
}

async function makeKeys(client: TestClient): Promise<string[]> {
  const { agentId } = client.caller
  const keys: string[] = []
  while (keys.length < callers) {
    const made = await Promise.all(Array.from({ length: 20 }, () => client.made('POST', `/agents/${agentId}/keys`, { permission: 'full' })))
    keys.push(...made.map((key) => key['api_key'] as string))
  }
  return keys
}

/** Sends the message with its Idempotency-Key until the outcome is final. `onAdmitted` is called when the turn is known to run. */
async function send({ url, client, over }: Servers, apiKey: string, onAdmitted: () => void): Promise<{ status: number; code: string }> {
  const idempotencyKey = randomUUID()
  const path = `/v1/agents/${client().caller.agentId}/chat/stream`
  while (!over.aborted) {
    const at = url()
    const response =
      at === undefined
        ? undefined
        : await fetch(`${at}${path}`, {
            method: 'POST',
            headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
            body: JSON.stringify({ external_user_id: user, message }),
          }).catch(() => undefined)
    if (response?.status === 200) onAdmitted()
    const text = await response?.text().catch(() => undefined)
    if (response && text !== undefined) {
      if (response.status === 200) {
        const last = parseEvents(text).at(-1)
        if (last?.event === 'response.completed') return { status: 200, code: 'reply' }
      } else {
        const { code } = (JSON.parse(text) as { error: { code: string } }).error
        if (code === 'idempotency_in_progress') onAdmitted()
        else if (code !== 'service_unavailable') return { status: response.status, code }
      }
    }
    await pass(pauseMs)
  }
  return { status: 0, code: 'the test has ended' }
}

/** `kills`: one process is killed when a third of the callers know their outcome. */
async function race(servers: Servers, { kills }: { kills: boolean }): Promise<void> {
  const { model, client } = servers
  const { agentId } = client().caller
  const hold = await holdOf(servers)
  const keys = await makeKeys(client())
  const limit = BigInt(fits + 1) * hold - 1n
  await client().made('PATCH', `/agents/${agentId}`, { spend_limits: [{ scope: 'end_user', usd: usd(limit), window: 'total' }] })
  const balance = await balanceOf(client())
  const held: Gate = gate()
  model.when(message, [held, 'hi'])
  const [admitted, refused] = [new Set<string>(), new Set<string>()]
  const sent = keys.map(async (key) => {
    const outcome = await send(servers, key, () => admitted.add(key))
    if (outcome.status === 402) refused.add(key)
    return outcome.code
  })
  if (kills) {
    await until('a third of the outcomes', () => admitted.size + refused.size >= callers / 3)
    await servers.kill()
  }
  // Turns hold until the gate opens, so no refusal is for what has been given back. An admission whose commit was too late for its caller is
  // released, and its caller may be refused when it comes back.
  await until('a refusal of each that does not fit', () => refused.size === callers - fits, 120_000)
  assert.ok(admitted.size >= fits, `${admitted.size} admitted`)
  const spending = async (): Promise<Json> =>
    (await client().made('GET', `/agents/${agentId}/end-users/limits?external_user_id=${user}`))['spending'][0]
  await until('the rest hold', async () => units((await spending())['held_usd']) === BigInt(fits) * hold)
  assert.equal((await spending())['spent_usd'], '0.00000000')
  held.open()
  const codes = await Promise.all(sent)
  assert.deepEqual(
    Object.entries(Object.groupBy(codes, (code) => code))
      .map(([code, all]) => [code, all!.length])
      .toSorted(),
    [
      ['reply', fits],
      ['spend_limit_exceeded', callers - fits],
    ],
  )
  const { spent_usd: spent, held_usd: rest, unpaid_usd: unpaid } = await spending()
  assert.deepEqual([rest, unpaid], ['0.00000000', '0.00000000'])
  assert.equal(units(spent), balance - (await balanceOf(client())), 'what is spent is what the owner paid')
  assert.equal(units(spent) % BigInt(fits), 0n, 'one charge for each reply')
  await servers.verify()
}

for (const kills of [false, true]) {
  const also = kills ? ', also if a process is killed among them' : ''

  void test(`sqlite: billing.spend-limit: of a thousand turns of one end user at once on a limit for 137, exactly those that fit are admitted${also}`, async (t) => {
    const runs = await ProcessRuns.begin(t, '', { env })
    let isUp = true
    await race(
      {
        model: runs.model,
        client: () => runs.client,
        url: () => (isUp ? runs.server!.url : undefined),
        async kill() {
          isUp = false
          await runs.server!.kill()
          await runs.start()
          isUp = true
        },
        verify: () => runs.verify(),
        over: t.signal,
      },
      { kills },
    )
  })

  void test(
    `postgres: through three processes: billing.spend-limit: of a thousand turns of one end user at once on a limit for 137, exactly those that fit are admitted${also}`,
    { skip: noFleet() },
    async (t) => {
      const fleet = await Fleet.begin(t, { count: 3, env })
      let turn = 0
      await race(
        {
          model: fleet.model,
          client: () => fleet.client(),
          url: () => fleet.servers[fleet.alive[turn++ % fleet.alive.length]!]?.url,
          kill: () => fleet.kill(1),
          verify: () => fleet.verify(),
          over: t.signal,
        },
        { kills },
      )
    },
  )
}
