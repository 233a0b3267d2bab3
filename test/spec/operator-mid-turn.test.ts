/**
 * What the operator changes while a turn runs. The turn ends as it started: on its agent version, under its key, within its hold; the next
 * request sees the change. The same holds for a turn that its process has abandoned and another process recovers.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { pino } from 'pino'
import { formatUsd, parseUsd } from '../../src/ledger/ledger.ts'
import { gate, startModelServer } from '../support/model-server.ts'
import type { Gate } from '../support/model-server.ts'
import { answeredOnce, callsOf, makeSent, send, sendUntilEnded, transports, turnOf } from '../support/outcome.ts'
import type { Sent, Outcome, Transport } from '../support/outcome.ts'
import { makeFolder, startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'

type Running = { sent: Sent; asked: Promise<Outcome>; held: Gate }

/** A turn that has generated half of its reply, which is "one two". */
async function beginTurn(app: TestApp, transport: Transport, agent: Json = {}): Promise<Running> {
  const sent = await makeSent(app, `a turn of ${transport}`, { transport, agent })
  const held = gate()
  app.model.when(sent.message, ['one ', held, 'two'])
  const asked = send(app, sent)
  await held.reached
  return { sent, asked, held }
}

async function endTurn({ asked, held }: Running): Promise<Json> {
  held.open()
  const { reply, answer } = await asked
  assert.ok(reply, answer.text)
  assert.equal(reply['message'].content, 'one two')
  return reply
}

const move = (app: TestApp, { caller }: Sent, amountUsd: string, key: string): Promise<Json> =>
  app.made('POST', `/owners/${caller.ownerId}/ledger`, { amount_usd: amountUsd }, { 'idempotency-key': key })
const ownerOf = (app: TestApp, { caller }: Sent): Promise<Json> => app.made('GET', `/owners/${caller.ownerId}`)
/** A new message of the same caller. */
const next = (sent: Sent): Sent => ({ ...sent, idempotencyKey: `next of ${sent.idempotencyKey}`, message: 'next' })

async function keyOf(app: TestApp, { caller }: Sent): Promise<string> {
  const { data } = await app.made('GET', `/agents/${caller.agentId}/keys`)
  return data[0].id
}

for (const transport of transports) {
  void test(`fault.balance-lowered billing.hold: a balance lowered while a turn of ${transport} runs: the hold protects it, and it is charged`, async () => {
    await using app = await startTestApp()
    const running = await beginTurn(app, transport)
    const { balance_usd: balance, available_usd: available, held_usd: hold } = await ownerOf(app, running.sent)
    assert.equal(balance, '10.00000000', 'a hold is not a charge')
    assert.ok(parseUsd(hold)! > 0n)
    assert.equal(parseUsd(available)! + parseUsd(hold)!, parseUsd(balance))
    const beyond = await app.admin(
      'POST',
      `/owners/${running.sent.caller.ownerId}/ledger`,
      { amount_usd: `-${formatUsd(parseUsd(available)! + 1n)}` },
      { 'idempotency-key': 'one unit too many' },
    )
    assert.deepEqual([beyond.status, beyond.json['error'].code], [409, 'conflict'])
    await move(app, running.sent, `-${available}`, 'all of it')
    const { usage } = await endTurn(running)
    const left = await ownerOf(app, running.sent)
    assert.deepEqual([left['balance_usd'], left['held_usd']], [formatUsd(parseUsd(hold)! - parseUsd(usage.charged_usd)!), formatUsd(0n)])
    await app.verify()
    // What is left is less than a hold: the next message is refused before any model call, and a replay is not.
    const refused = await send(app, next(running.sent))
    assert.deepEqual([refused.status, refused.code], [402, 'insufficient_balance'])
    assert.equal((await send(app, running.sent)).reply?.['usage'].charged_usd, usage.charged_usd)
    assert.equal(callsOf(app, running.sent), 1)
    await app.verify()
  })

  void test(`fault.top-up-mid-turn billing.once: a top-up while a turn of ${transport} runs: the final balance is exact to the last unit`, async () => {
    await using app = await startTestApp()
    const running = await beginTurn(app, transport)
    await move(app, running.sent, '5.00000001', 'top-up')
    const { usage } = await endTurn(running)
    const owner = await ownerOf(app, running.sent)
    assert.deepEqual(
      [owner['balance_usd'], owner['held_usd']],
      [formatUsd(parseUsd('15.00000001')! - parseUsd(usage.charged_usd)!), formatUsd(0n)],
    )
    await app.verify()
  })

  void test(`fault.api-key-revoked: a key revoked while a turn of ${transport} runs: the turn is answered and charged; the next request is 401, a replay too`, async () => {
    await using app = await startTestApp()
    const running = await beginTurn(app, transport)
    await app.made('DELETE', `/keys/${await keyOf(app, running.sent)}`)
    const { usage } = await endTurn(running)
    for (const again of transports) {
      for (const request of [running.sent, next(running.sent)]) {
        const { status, code } = await send(app, { ...request, transport: again })
        assert.deepEqual([status, code], [401, 'invalid_api_key'])
      }
    }
    await chargedOnce(app, running.sent, usage)
  })

  void test(`fault.agent-disabled: an agent disabled while a turn of ${transport} runs: the turn is answered; a new message is 403, and a replay is not`, async () => {
    await using app = await startTestApp()
    const running = await beginTurn(app, transport)
    await app.made('PATCH', `/agents/${running.sent.caller.agentId}`, { enabled: false })
    await endTurn(running)
    for (const again of transports) {
      const { status, code } = await send(app, { ...next(running.sent), transport: again })
      assert.deepEqual([status, code], [403, 'agent_disabled'])
    }
    await answeredOnce(app, running.sent, { content: 'one two' })
    await app.made('PATCH', `/agents/${running.sent.caller.agentId}`, { enabled: true })
    assert.equal((await send(app, next(running.sent))).status, 200, 'a key that was refused is fresh')
  })

  void test(`fault.agent-deleted: an agent deleted while a turn of ${transport} runs: the turn is answered and stored; a new message is 404`, async () => {
    const lines: string[] = []
    await using app = await startTestApp({ log: pino({ level: 'warn' }, { write: (line) => void lines.push(line) }) })
    const running = await beginTurn(app, transport)
    // Warnings of a start are not checked here.
    lines.length = 0
    await app.made('DELETE', `/agents/${running.sent.caller.agentId}`)
    await endTurn(running)
    for (const again of transports) {
      const { status, code } = await send(app, { ...next(running.sent), transport: again })
      assert.deepEqual([status, code], [404, 'agent_not_found'])
    }
    await answeredOnce(app, running.sent, { content: 'one two' })
    assert.deepEqual(lines, [], 'nothing went wrong below')
  })

  void test(`fault.agent-edited: an agent edited while a turn of ${transport} runs: the turn uses the prompt, price and limits of its admission`, async () => {
    await using app = await startTestApp()
    const running = await beginTurn(app, transport, before)
    await app.made('PATCH', `/agents/${running.sent.caller.agentId}`, after)
    await endTurn(running)
    const reply = await answeredOnce(app, running.sent, { content: 'one two' })
    assert.equal(reply['usage'].charged_usd, costOf(reply, before))
    const { reply: retried } = await send(app, next(running.sent))
    assert.equal(retried!['usage'].charged_usd, costOf(retried!, after))
    assert.deepEqual(
      app.model.calls.map(({ messages, body }) => [messages[0]!.content, body['max_tokens']]),
      [before, after].map((agent) => [agent.system_prompt, agent.max_output_tokens]),
    )
    await app.verify()
  })
}

const price = (usd: string) => ({ prompt_usd_per_million: usd, completion_usd_per_million: usd })
const before = { system_prompt: 'old', price: price('2'), max_output_tokens: 100 }
const after = { system_prompt: 'new', price: price('3'), max_output_tokens: 200 }
/** Prices are whole dollars per million, so a token is a whole number of units. */
const costOf = (reply: Json, agent: typeof before): string =>
  formatUsd(BigInt(reply['usage'].total_tokens) * 100n * BigInt(agent.price.prompt_usd_per_million))

void test('fault.top-up-mid-turn billing.once: top-ups at every moment of many turns, and while each batch of them commits: the sum is exact', async () => {
  const failpoints = ['admit.before-commit', 'admit.after-commit', 'settle.before-commit', 'settle.after-commit']
  await using app = await startTestApp({ env: { TURNKEEP_FAILPOINTS: failpoints.map((name) => `${name}=delay:30`).join(';') } })
  const sent = await makeSent(app, 'spend')
  // A database that is slow may lead to a 503; the same key gets its reply.
  const untilAnswered = async (one: Sent): Promise<Outcome> => {
    for (;;) {
      const reported = await sendUntilEnded(app, one)
      if (reported.code !== 'service_unavailable') return reported
    }
  }
  // So may one that holds the row of the owner for too long.
  const topUp = async (amount: string, key: string): Promise<void> => {
    const path = `/owners/${sent.caller.ownerId}/ledger`
    for (;;) {
      const { status, json, text } = await app.admin('POST', path, { amount_usd: amount }, { 'idempotency-key': key })
      if (status < 300) return
      assert.equal(json['error'].code, 'service_unavailable', text)
    }
  }
  const amounts = Array.from({ length: 30 }, (_, n) => formatUsd(BigInt(n) * 1_000_003n + 1n))
  const [reported] = await Promise.all([
    Promise.all(Array.from({ length: 30 }, (_, n) => untilAnswered({ ...next(sent), idempotencyKey: `turn ${n}`, user: `user ${n}` }))),
    Promise.all(amounts.map((amount, n) => topUp(amount, `top-up ${n}`))),
  ])
  const charged = reported.map(({ reply, answer }) => parseUsd(reply?.['usage'].charged_usd ?? assert.fail(answer.text))!)
  const sum = (numbers: bigint[]): bigint => numbers.reduce((all, one) => all + one, 0n)
  const owner = await ownerOf(app, sent)
  assert.deepEqual(
    [owner['balance_usd'], owner['held_usd']],
    [formatUsd(parseUsd('10')! + sum(amounts.map((amount) => parseUsd(amount)!)) - sum(charged)), formatUsd(0n)],
  )
  await app.verify()
})

/** Another process run on the same store; the model server outlives both. */
async function twoLives(t: TestContext): Promise<{ first: TestApp; second(): Promise<TestApp> }> {
  const [folder, model] = await Promise.all([makeFolder(), startModelServer()])
  t.after(() => model.close())
  const first = await startTestApp({ folder, model, env: { TURNKEEP_DRAIN_SECONDS: '0' } })
  t.after(async () => {
    await first.close()
    await first.data.drop()
  })
  return {
    first,
    async second() {
      await first.close()
      const app = await startTestApp({ folder, model, seeded: first })
      t.after(() => app.close())
      return app
    },
  }
}

type Change = { fault: string; what: string; change(app: TestApp, sent: Sent): Promise<unknown>; refused?: [number, string] }
const changes: Change[] = [
  {
    fault: 'fault.balance-lowered',
    what: 'whose balance is lowered',
    change: async (app, sent) => move(app, sent, `-${(await ownerOf(app, sent))['available_usd']}`, 'all of it'),
    refused: [402, 'insufficient_balance'],
  },
  {
    fault: 'fault.agent-disabled',
    what: 'whose agent is disabled',
    change: (app, { caller }) => app.made('PATCH', `/agents/${caller.agentId}`, { enabled: false }),
    refused: [403, 'agent_disabled'],
  },
  {
    fault: 'fault.agent-deleted',
    what: 'whose agent is deleted',
    change: (app, { caller }) => app.made('DELETE', `/agents/${caller.agentId}`),
    refused: [404, 'agent_not_found'],
  },
  {
    fault: 'fault.agent-edited',
    what: 'whose agent is edited',
    change: (app, { caller }) => app.made('PATCH', `/agents/${caller.agentId}`, after),
  },
]

for (const { fault, what, change, refused } of changes) {
  void test(`${fault} turn.states: a turn ${what} and that its process abandons: the next process completes it as it was admitted`, async (t) => {
    const { first, second } = await twoLives(t)
    const { sent, asked } = await beginTurn(first, 'chat', before)
    await change(first, sent)
    // The next process recovers the turn at its start.
    first.model.when(sent.message, ['one ', 'two'])
    const app = await second()
    assert.deepEqual([(await asked).status, (await asked).code], [503, 'service_unavailable'])
    const { reply, answer } = await sendUntilEnded(app, sent)
    assert.ok(reply, answer.text)
    assert.deepEqual(
      app.model.calls.map(({ messages }) => messages[0]!.content),
      [before.system_prompt, before.system_prompt],
    )
    assert.equal(reply['usage'].charged_usd, costOf(reply, before))
    await chargedOnce(app, sent, reply['usage'])
    const later = await send(app, next(sent))
    if (refused) assert.deepEqual([later.status, later.code], refused)
    else assert.equal(later.reply!['usage'].charged_usd, costOf(later.reply!, after))
    assert.deepEqual((await send(app, sent)).reply, reply, 'the replay')
    await app.verify()
  })
}

void test('fault.api-key-revoked turn.states: a turn whose key is revoked and that its process abandons: the next process completes it, and it is charged', async (t) => {
  const { first, second } = await twoLives(t)
  const { sent, asked } = await beginTurn(first, 'chat', before)
  await first.made('DELETE', `/keys/${await keyOf(first, sent)}`)
  first.model.when(sent.message, ['one ', 'two'])
  const app = await second()
  await asked
  const requestId = (await asked).answer.json['error'].request_id
  let turn = await turnOf(app, requestId)
  while (turn['state'] === 'running') turn = await turnOf(app, requestId)
  await chargedOnce(app, sent, turn['usage'])
  assert.deepEqual([(await send(app, sent)).status, (await send(app, next(sent))).status], [401, 401])
})

/** For a caller whose key or balance is gone: reads what is stored through the admin API. */
async function chargedOnce(app: TestApp, sent: Sent, usage: Json): Promise<void> {
  const { data } = await app.made('GET', `/owners/${sent.caller.ownerId}/ledger?limit=100`)
  const charges = (data as Json[]).filter(({ kind }) => kind === 'charge')
  assert.deepEqual(
    charges.map((entry) => entry['amount_usd']),
    [`-${usage['charged_usd']}`],
  )
  const turn = await turnOf(app, charges[0]!['request_id'])
  assert.deepEqual([turn['state'], turn['held_usd']], ['completed', formatUsd(0n)])
  assert.equal((await ownerOf(app, sent))['held_usd'], formatUsd(0n))
  await app.verify()
}
