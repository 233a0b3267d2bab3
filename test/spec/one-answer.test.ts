/** Many concurrent requests, and exactly one reply. The real server over real sockets, on both stores. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { gate } from '../support/model-server.ts'
import { storeKind } from '../support/store-under-test.ts'
import { parseEvents, startTestApp } from '../support/test-app.ts'
import type { Answer, Caller, Json, TestApp } from '../support/test-app.ts'

const hundred = Array.from({ length: 100 }, (_, index) => index)
const byStatus = (answers: Answer[], status: number): Answer[] => answers.filter((answer) => answer.status === status)

// What a busy machine may refuse with 503: `rate.fail-closed`, and an admission that its database has not made within about a second.
const late = ['api_rate_limit_unavailable', 'service_unavailable']

/** Retries with the same key when the response was late, as a caller does. */
async function patiently<A extends Answer>(ask: () => Promise<A>): Promise<A> {
  for (;;) {
    const answer = await ask()
    if (!late.includes(answer.json['error']?.code)) return answer
  }
}

void test('fault.duplicate-requests one_turn_per_key: a hundred requests with one key: one model call, one charge, all 200 equal, the rest in progress', async () => {
  await using app = await startTestApp()
  const idempotencyKey = randomUUID()
  const answers = await Promise.all(hundred.map(() => patiently(() => app.chat('hello', { idempotencyKey }))))
  const replies = byStatus(answers, 200)
  assert.ok(replies.length >= 1)
  for (const { text } of replies) assert.equal(text, replies[0]!.text)
  const others = byStatus(answers, 409)
  assert.equal(replies.length + others.length, 100)
  for (const { json, headers } of others) {
    assert.equal(json.error.code, 'idempotency_in_progress')
    assert.equal(headers.get('retry-after'), '2')
  }
  assert.equal(app.model.calls.length, 1)
  assert.equal(await chargesOf(app), 1)
  assert.equal((await app.messages()).length, 2)
  assert.equal((await app.chat('hello', { idempotencyKey })).text, replies[0]!.text)
  await quiet(app)
})

void test('fault.key-with-two-bodies idempotency.conflict: a hundred requests with one key and two bodies: one body wins, the other always conflicts', async () => {
  await using app = await startTestApp()
  const idempotencyKey = randomUUID()
  const answers = await Promise.all(hundred.map((index) => patiently(() => app.chat(`body ${index % 2}`, { idempotencyKey }))))
  const replies = byStatus(answers, 200)
  assert.ok(replies.length >= 1)
  assert.equal(app.model.calls.length, 1)
  const winner = Number(app.model.calls[0]!.lastUserMessage.at(-1))
  for (const [index, { status, json }] of answers.entries()) {
    if (index % 2 === winner) assert.ok(status === 200 || json.error.code === 'idempotency_in_progress')
    else assert.deepEqual([status, json.error.code], [409, 'idempotency_conflict'])
  }
  assert.equal(await chargesOf(app), 1)
  assert.deepEqual(
    (await app.messages()).map(({ content }) => content),
    [`body ${winner}`, `You said: body ${winner}`],
  )
  assert.equal((await app.chat(`body ${winner}`, { idempotencyKey })).text, replies[0]!.text)
  await quiet(app)
})

void test('fault.key-across-api-keys one_turn_per_key: the same key through two API keys at once is two turns and two charges, on both transports', async () => {
  await using app = await startTestApp()
  const other = await app.makeCaller()
  for (const transport of ['chat', 'stream'] as const) {
    const idempotencyKey = randomUUID()
    const ask = async (caller: Caller): Promise<Json> => {
      const answer = await app[transport]('hello', { idempotencyKey, caller, user: transport })
      return transport === 'chat' ? answer.json : parseEvents(answer.text).at(-1)!.data
    }
    const [first, second] = await Promise.all([ask(app.caller), ask(other)])
    for (const reply of [first, second]) assert.equal(reply!['message'].content, 'You said: hello')
    assert.notEqual(first!['request_id'], second!['request_id'])
    assert.notEqual(first!['conversation_id'], second!['conversation_id'])
    assert.deepEqual([await ask(app.caller), await ask(other)], [first, second], 'each its own replay')
    for (const caller of [app.caller, other]) assert.equal((await app.messages(transport, caller)).length, 2)
  }
  assert.equal(app.model.calls.length, 4)
  for (const caller of [app.caller, other]) assert.equal(await chargesOf(app, caller), 2)
  await quiet(app)
})

for (const first of ['chat', 'stream'] as const) {
  const second = first === 'chat' ? 'stream' : 'chat'
  void test(`fault.key-on-both-transports idempotency.fingerprint: the same key on both transports at once is one turn, replayed on either; first on ${first}`, async () => {
    await using app = await startTestApp()
    const idempotencyKey = randomUUID()
    const held = gate()
    app.model.script([held, 'one'])
    const winner = app[first]('hello', { idempotencyKey })
    await held.reached
    const loser = await app[second]('hello', { idempotencyKey })
    assert.deepEqual([loser.status, loser.json.error.code, loser.headers.get('retry-after')], [409, 'idempotency_in_progress', '2'])
    held.open()
    const { text } = await winner
    const replay = await app.stream('hello', { idempotencyKey })
    assert.deepEqual(
      replay.events.map(({ event }) => event),
      ['response.created', 'response.completed'],
    )
    const { json } = await app.chat('hello', { idempotencyKey })
    assert.deepEqual(replay.events[1]!.data, json)
    assert.deepEqual(first === 'chat' ? JSON.parse(text) : parseEvents(text).at(-1)!.data, json)
    assert.equal(app.model.calls.length, 1)
    assert.equal(await chargesOf(app), 1)
    assert.equal((await app.messages()).length, 2)
    await quiet(app)
  })
}

void test('fault.concurrent-messages conversation.busy: fifty messages of one user at once: one runs, nothing is stored for the others, and their keys stay unused', async () => {
  await using app = await startTestApp()
  const held = gate()
  app.model.script([held, 'one'])
  const sent = hundred.slice(0, 50).map((index) => ({ idempotencyKey: randomUUID(), message: `message ${index}` }))
  const answers = sent.map(({ message, ...options }) => patiently(() => app.chat(message, options)))
  await held.reached
  const refused = Promise.withResolvers<void>()
  let seen = 0
  for (const answer of answers) void answer.then(({ status }) => status === 409 && ++seen === 49 && refused.resolve())
  await refused.promise
  held.open()
  const all = await Promise.all(answers)
  assert.equal(byStatus(all, 200).length, 1)
  for (const { json, headers } of byStatus(all, 409)) {
    assert.equal(json.error.code, 'conversation_busy')
    assert.equal(headers.get('retry-after'), '2')
  }
  assert.equal(byStatus(all, 409).length, 49)
  assert.equal((await app.messages()).length, 2)
  assert.equal((await app.made('GET', '/turns?limit=100')).data.length, 1, 'no row of the others')
  assert.equal(app.model.calls.length, 1)
  const loser = all.findIndex(({ status }) => status === 409)
  assert.equal((await app.chat(sent[loser]!.message, { idempotencyKey: sent[loser]!.idempotencyKey })).status, 200)
  assert.equal(await chargesOf(app), 2)
  await quiet(app)
})

void test('fault.rate-limit-storm rate.spend: a storm of many users through three keys near their limit: each key has exactly its limit accepted', async () => {
  await using app = await startTestApp()
  const limit = 30
  const callers = await Promise.all([1, 2, 3].map(() => app.makeCaller({ key: { rate_limit: { limit, window_seconds: 600 } } })))
  const transports = ['chat', 'stream'] as const
  const storm = hundred.slice(0, 2 * limit).flatMap((n) => callers.map((caller) => ({ caller, n })))
  const reported = await Promise.all(
    storm.map(async ({ caller, n }) => {
      const transport = transports[n % 2]!
      return { caller, transport, answer: await app[transport](`of user ${n}`, { caller, user: `user-${n}` }) }
    }),
  )
  const rateHeaders = ({ headers }: Answer): (string | null)[] =>
    ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'].map((name) => headers.get(name))
  for (const caller of callers) {
    const own = reported.filter((one) => one.caller === caller)
    const accepted = own.filter(({ answer }) => answer.status === 200)
    // A late response may have spent its unit; with the limiter in the same process there is none.
    const lost = own.filter(({ answer }) => late.includes(answer.json['error']?.code))
    if (storeKind === 'sqlite') assert.equal(lost.length, 0)
    assert.ok(accepted.length <= limit && accepted.length + lost.length >= limit, `${accepted.length} accepted, ${lost.length} late`)
    for (const { transport, answer } of accepted) assert.equal(rateHeaders(answer).every(Boolean), transport === 'chat', 'none on a stream')
    for (const { answer } of own.filter((one) => !accepted.includes(one) && !lost.includes(one))) {
      assert.deepEqual([answer.status, answer.json['error'].code], [429, 'rate_limit_exceeded'])
      const [most, left, reset] = rateHeaders(answer)
      assert.deepEqual([most, left], [String(limit), '0'])
      assert.ok(Number(reset) * 1000 > Date.now())
      const wait = Number(answer.headers.get('retry-after'))
      assert.ok(wait >= 1 && wait <= 600, `${wait} s`)
    }
    assert.equal(
      (await app.made('GET', `/turns?agent_id=${caller.agentId}&limit=100`)).data.length,
      accepted.length,
      'no row of the refused',
    )
    assert.equal(await chargesOf(app, caller), accepted.length)
  }
  assert.equal(app.model.calls.length, reported.filter(({ answer }) => answer.status === 200).length, 'no model call for the refused')
  await quiet(app)
})

void test('fault.balance-race balance_never_negative: a hundred users on a balance that covers seven: seven run, 93 are refused with no row', async () => {
  await using app = await startTestApp()
  const hold = await holdOf(app)
  const caller = await app.makeCaller({ balanceUsd: (hold * 7 + 0.00000001).toFixed(8) })
  const held = gate()
  app.model.when('spend', [held, 'x'])
  const answers = hundred.map((n) => patiently(() => app.stream('spend', { user: `user-${n}`, caller, idempotencyKey: `key ${n}` })))
  const refused = Promise.withResolvers<void>()
  let seen = 0
  for (const answer of answers) void answer.then(({ status }) => status === 402 && ++seen === 93 && refused.resolve())
  await refused.promise
  held.open()
  const all = await Promise.all(answers)
  const ran = all.filter(({ status }) => status === 200)
  assert.equal(ran.length, 7)
  for (const { events } of ran) assert.equal(events.at(-1)!.event, 'response.completed')
  for (const { json } of byStatus(all, 402)) assert.equal(json.error.code, 'insufficient_balance')
  assert.equal(byStatus(all, 402).length, 93)
  assert.equal((await app.made('GET', `/turns?agent_id=${caller.agentId}&limit=100`)).data.length, 7)
  const owner = await app.made('GET', `/owners/${caller.ownerId}`)
  assert.equal(owner.held_usd, '0.00000000')
  assert.ok(Number(owner.balance_usd) >= 0)
  assert.equal(await chargesOf(app, caller), 7)
  assert.equal(app.model.calls.length, 8, 'of those that ran, and of the probe')
  await app.verify()
})

void test('fault.balance-race billing.hold: a thousand holds of 10⁻⁸ USD on a balance of one hundred of them: exactly one hundred are admitted', async () => {
  await using app = await startTestApp()
  const caller = await app.makeCaller({
    balanceUsd: '0.00000100',
    agent: { price: { prompt_usd_per_million: '0.00000001', completion_usd_per_million: '0.00000001' } },
  })
  const held = gate()
  app.model.when('spend', [held, 'x'])
  const thousand = Array.from({ length: 1000 }, (_, n) =>
    patiently(() => app.chat('spend', { user: `user-${n}`, caller, idempotencyKey: `key ${n}` })),
  )
  await app.model.waitForCalls(100)
  const refused = Promise.withResolvers<void>()
  let seen = 0
  for (const answer of thousand) void answer.then(({ status }) => status === 402 && ++seen === 900 && refused.resolve())
  await refused.promise
  const running = await app.made('GET', `/owners/${caller.ownerId}`)
  assert.deepEqual([running.held_usd, running.available_usd], ['0.00000100', '0.00000000'])
  held.open()
  const all = await Promise.all(thousand)
  assert.equal(byStatus(all, 200).length, 100)
  const owner = await app.made('GET', `/owners/${caller.ownerId}`)
  assert.deepEqual([owner.balance_usd, owner.held_usd], ['0.00000000', '0.00000000'])
  await app.verify()
})

void test("overload.queue idempotency.replay: 48 replays of 1.5 MB at once are all answered, and another owner's message is, too", async () => {
  await using app = await startTestApp({ agent: { max_output_tokens: 100_000 } })
  const other = await app.makeCaller()
  const piece = 'lorem ipsum\n'.repeat(500_000 / 12)
  app.model.when('write', [piece, piece, piece])
  const firsts = await Promise.all(
    Array.from({ length: 12 }, (_, n) => patiently(() => app.chat('write', { user: `user-${n}`, idempotencyKey: `key ${n}` }))),
  )
  const replays = Array.from({ length: 48 }, (_, n) => app.chat('write', { user: `user-${n % 12}`, idempotencyKey: `key ${n % 12}` }))
  assert.equal((await app.chat('hello', { caller: other })).status, 200)
  for (const [n, { status, text }] of (await Promise.all(replays)).entries()) {
    assert.equal(status, 200, text.slice(0, 200))
    assert.equal(text, firsts[n % 12]!.text)
  }
  assert.equal(app.model.calls.length, 13)
  await app.verify()
})

async function chargesOf(app: TestApp, { ownerId } = app.caller): Promise<number> {
  const { data } = await app.made('GET', `/owners/${ownerId}/ledger?limit=100`)
  return (data as Json[]).filter(({ kind }) => kind === 'charge').length
}

/** Nothing runs and nothing is held. */
async function quiet(app: TestApp): Promise<void> {
  assert.equal((await app.owner()).held_usd, '0.00000000')
  await app.verify()
}

/** What one turn of the test agent with the message "spend" holds, in USD. */
async function holdOf(app: TestApp): Promise<number> {
  const held = gate()
  app.model.script([held, 'x'])
  const running = app.chat('spend', { user: 'probe' })
  await held.reached
  const { held_usd: hold } = await app.owner()
  held.open()
  await running
  return Number(hold)
}
