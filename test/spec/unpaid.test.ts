/**
 * Text without a charge: a turn that ends without a reply costs nothing, and still no owner gets more text than its balance pays for
 * (`billing.unpaid`). The real server, on both stores.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { defaultDeadlines } from '../../src/agent/models/transport/exchange.ts'
import { parseUsd } from '../../src/ledger/ledger.ts'
import { turnDefaults } from '../../src/turn/turn-settings.ts'
import { parseExposition } from '../support/exposition.ts'
import { fakeTimers } from '../support/fake-timers.ts'
import { cut, gate } from '../support/model-server.ts'
import type { Script } from '../support/model-server.ts'
import { adminToken, startTestApp } from '../support/test-app.ts'
import type { Answer, Caller, StreamEvent, TestApp } from '../support/test-app.ts'
import { until } from '../support/until.ts'

const units = (usd: unknown): bigint => parseUsd(String(usd))!
const usd = (amount: bigint): string => `${amount / 100_000_000n}.${String(amount % 100_000_000n).padStart(8, '0')}`
const deltasOf = (events: StreamEvent[]): string =>
  events.flatMap(({ event, data }) => (event === 'response.output_text.delta' ? [String(data['delta'])] : [])).join('')
const codeOf = ({ json }: Answer): unknown => json['error']?.code

// Without history and knowledge, a further step holds more than the first one.
const agent = {
  max_output_tokens: 100,
  history: { max_tokens: 0 },
  knowledge: { max_tokens: 0, top_k: 0 },
  price: { prompt_usd_per_million: '10', completion_usd_per_million: '20' },
}
const text = 'A long and useful answer. '.repeat(12)
/** A step with text and a tool call, so that another step follows. Its usage is what the text costs a provider. */
const step = [
  text,
  { toolCall: { id: 'c1', name: 'missing', arguments: '{}' } },
  { usage: { prompt_tokens: 30, completion_tokens: 80, total_tokens: 110 } },
]
const stepCost = (30n * 10n + 80n * 20n) * 100n

async function holdOf(app: TestApp, caller: Caller): Promise<bigint> {
  const held = gate()
  app.model.script([held, 'x'])
  const running = app.chat('continue', { caller, user: 'probe' })
  await held.reached
  const { held_usd: hold } = await app.made('GET', `/owners/${caller.ownerId}`)
  held.open()
  await running
  return units(hold)
}

/** Measured without the deadline of the test. */
async function holdWithoutDeadline(agentOfTest: typeof agent): Promise<bigint> {
  await using app = await startTestApp()
  return await holdOf(app, await app.makeCaller({ agent: agentOfTest }))
}

async function metricsOf(app: TestApp): Promise<string> {
  return (await fetch(`${app.adminUrl}/metrics`, { headers: { authorization: `Bearer ${adminToken}` } })).text()
}

const ownerOf = (app: TestApp, { ownerId }: Caller) => app.made('GET', `/owners/${ownerId}`)
const credit = (app: TestApp, { ownerId }: Caller, amount: string) =>
  app.made('POST', `/owners/${ownerId}/ledger`, { amount_usd: amount }, { 'idempotency-key': randomUUID() })

/**
 * Rounds of eight streams, each with another key and user, until a whole round gets no text. Returns how many streams got text, and the number
 * of rounds. `mayBeLate`: a deadline may pass before the text.
 */
async function takeAll(app: TestApp, caller: Caller, message: string, mayBeLate = false): Promise<{ streams: number; rounds: number }> {
  let streams = 0
  for (let rounds = 1; rounds <= 100; rounds++) {
    const round = await Promise.all(Array.from({ length: 8 }, () => app.stream(message, { caller, user: randomUUID() })))
    const heard = round.filter(({ events }) => deltasOf(events) !== '').length
    if (heard === 0 && !(mayBeLate && round.some(({ events }) => events.length > 0))) {
      assert.deepEqual(new Set(round.map(codeOf)), new Set(['insufficient_balance']))
      return { streams, rounds }
    }
    streams += heard
  }
  throw new Error(`still text after ${streams} streams`)
}

void test('billing.unpaid: a turn that runs out of balance after its text is refused the next time before the model is called, with any key', async () => {
  await using app = await startTestApp({ agent })
  const hold = await holdOf(app, await app.makeCaller({ agent }))
  // Enough for the first step, and not for the second.
  const caller = await app.makeCaller({ agent, balanceUsd: usd(hold + stepCost) })
  app.model.when('continue', step)
  const first = await app.stream('continue', { caller, user: 'ann' })
  assert.equal(deltasOf(first.events), text)
  assert.equal(first.events.at(-1)!.data['code'], 'insufficient_balance')
  const calls = app.model.calls.length
  for (let n = 0; n < 20; n++) {
    const again = await app.stream('continue', { caller, user: `user ${n}` })
    assert.deepEqual([again.status, codeOf(again)], [402, 'insufficient_balance'])
  }
  assert.equal(app.model.calls.length, calls)
  const owner = await ownerOf(app, caller)
  assert.deepEqual([owner.balance_usd, owner.held_usd, owner.available_usd], [usd(hold + stepCost), '0.00000000', usd(hold)])
  assert.equal(owner.unpaid_usd, usd(stepCost))
  // Nothing was charged, and a top-up covers the turn.
  await credit(app, caller, '1')
  assert.equal((await ownerOf(app, caller)).unpaid_usd, '0.00000000')
  app.model.when('continue', 'the reply')
  assert.equal((await app.stream('continue', { caller, user: 'ann' })).events.at(-1)!.event, 'response.completed')
  await app.verify()
})

void test('billing.unpaid: eight streams at once, again and again, each with another key: the text is worth at most the balance', async () => {
  await using app = await startTestApp({ agent })
  const hold = await holdOf(app, await app.makeCaller({ agent }))
  const balance = 8n * hold
  const caller = await app.makeCaller({ agent, balanceUsd: usd(balance) })
  app.model.when('continue', step)
  const { streams, rounds } = await takeAll(app, caller, 'continue')
  const owner = await ownerOf(app, caller)
  const charged = balance - units(owner.balance_usd)
  assert.ok(BigInt(streams) * stepCost <= balance, `${streams} streams`)
  assert.equal(charged + units(owner.unpaid_usd) <= balance, true)
  // How many of a round start before the first of them runs out of balance depends on the machine.
  assert.ok(streams > 1 && rounds < 10, `${streams} streams in ${rounds} rounds`)
  await app.verify()
})

// Every way in which a caller can end a turn without a reply after text, each repeated until the owner gets none.
const ends: Record<string, (app: TestApp) => void> = {
  'the model is never done': (app) => app.model.when('continue', step),
  'a tool call is cut off': (app) => app.model.when('continue', [...step.slice(0, 2), { finish: 'length' }, ...step.slice(2)]),
  'the deadline passes': (app) => app.model.when('continue', [text, gate()]),
}
for (const [what, script] of Object.entries(ends)) {
  void test(`billing.unpaid: ${what} after text was sent: the text that an owner gets so is worth at most its balance`, async () => {
    const few = { ...agent, max_steps: 2 }
    const hasDeadline = what.includes('deadline')
    await using app = await startTestApp({ agent: few, ...(hasDeadline ? { turnSettings: { turnMs: 800 } } : {}) })
    const hold = await holdWithoutDeadline(few)
    const balance = 6n * hold
    const caller = await app.makeCaller({ agent: few, balanceUsd: usd(balance) })
    script(app)
    const { streams } = await takeAll(app, caller, 'continue', hasDeadline)
    const owner = await ownerOf(app, caller)
    assert.equal(owner.balance_usd, usd(balance), 'nothing is charged')
    assert.equal(owner.held_usd, '0.00000000')
    const unpaid = units(owner.unpaid_usd)
    assert.ok(unpaid <= balance && unpaid > balance - 3n * hold, `${owner.unpaid_usd} of ${usd(balance)}`)
    // The text alone is a quarter of its bytes in tokens.
    assert.ok(BigInt(streams) * (BigInt(text.length) / 4n) * 20n * 100n <= balance, `${streams} streams`)
    const { totals } = await app.made('GET', `/usage?owner_id=${caller.ownerId}`)
    assert.equal(totals.unpaid_usd, owner.unpaid_usd)
    const { values } = parseExposition(await metricsOf(app))
    assert.equal(values.get('turnkeep_unpaid_usd_total')!.toFixed(8), owner.unpaid_usd)
    await credit(app, caller, usd(balance))
    app.model.when('continue', 'the reply')
    const reply = async () => (await app.stream('continue', { caller })).events.at(-1)!
    let last = await reply()
    // A reply may be late, too.
    for (let tries = hasDeadline ? 8 : 0; tries > 0 && last.data['code'] === 'service_unavailable'; tries--) last = await reply()
    assert.equal(last.event, 'response.completed')
    await app.verify()
  })
}

// What a provider bills and no caller sees. Each has as many bytes as `text`.
const hidden: Record<string, Script> = {
  reasoning: [{ reasoning: text }, gate()],
  'reasoning in its text': [`<think>${text.slice('<think>'.length)}`, gate()],
  'a tool call': [{ toolCall: { id: 'c', name: 'missing', arguments: text.slice('missing'.length) } }, gate()],
  'white space': [' '.repeat(text.length), gate()],
}
for (const [what, script] of Object.entries(hidden)) {
  void test(`billing.unpaid: a model that generates only ${what} until the deadline: it is reserved like text, and ends with the balance`, async () => {
    await using app = await startTestApp({ agent, turnSettings: { turnMs: 600 } })
    const hold = await holdWithoutDeadline(agent)
    const caller = await app.makeCaller({ agent, balanceUsd: usd(2n * hold) })
    app.model.when('continue', script)
    const unpaidNow = async () => units((await ownerOf(app, caller)).unpaid_usd)
    let unpaid = 0n
    // On a busy machine, the deadline may pass before anything was generated.
    for (let n = 0; n < 8 && unpaid === 0n; n++) {
      const first = await app.chat('continue', { caller, user: `user ${n}` })
      assert.deepEqual([first.status, codeOf(first)], [503, 'service_unavailable'])
      unpaid = await unpaidNow()
    }
    // A quarter of the bytes are tokens.
    const generated = (BigInt(text.length) / 4n) * 20n * 100n
    assert.ok(unpaid >= generated && unpaid <= hold, `${usd(unpaid)}, not ${usd(generated)}`)
    assert.equal((await ownerOf(app, caller)).balance_usd, usd(2n * hold))
    // Each turn counts or was late, and the second one leaves too little for a third.
    let code: unknown
    for (let n = 0; n < 8 && code !== 'insufficient_balance'; n++)
      code = codeOf(await app.chat('continue', { caller, user: `end user ${n}` }))
    assert.equal(code, 'insufficient_balance')
    unpaid = await unpaidNow()
    assert.ok(unpaid <= 2n * hold, `${usd(unpaid)} of ${usd(2n * hold)}`)
    await app.verify()
  })
}

void test('billing.unpaid: what a failed attempt reasoned counts if the turn ends without a reply, and is not charged with one', async (t) => {
  const [{ turnMs }, { idleMs }] = [turnDefaults, defaultDeadlines]
  const timers = fakeTimers(t, (ms) => ms === turnMs || ms === idleMs)
  await using app = await startTestApp({ agent })
  const caller = await app.makeCaller({ agent })
  const once = usd((BigInt(text.length) / 4n) * 20n * 100n)
  app.model.script([{ reasoning: text }, cut('rst')], ['short', { usage: null }])
  const { json } = await app.chat('continue', { caller })
  assert.equal(json.usage.completion_tokens, 2)
  assert.equal((await ownerOf(app, caller)).unpaid_usd, '0.00000000')
  const held = gate()
  app.model.script([{ reasoning: text.slice(0, 8) }, cut('rst')], [{ reasoning: text.slice(8) }, held])
  const asked = app.chat('continue', { caller, user: 'ben' })
  await held.reached
  await until('the second call has reasoned, too', () => timers.pending === 2)
  timers.pass(turnMs)
  assert.equal((await asked).status, 503)
  assert.ok(units((await ownerOf(app, caller)).unpaid_usd) >= units(once))
  await app.verify()
})

void test('billing.unpaid: failures of the provider are reported, and reserve nothing, so an owner keeps what it has paid for', async () => {
  await using app = await startTestApp({ agent })
  const hold = await holdOf(app, await app.makeCaller({ agent }))
  const caller = await app.makeCaller({ agent, balanceUsd: usd(2n * hold) })
  app.model.when('continue', [text, cut('rst')])
  for (let n = 0; n < 8; n++) {
    const { events } = await app.stream('continue', { caller, user: `user ${n}` })
    assert.equal(events.at(-1)!.data['code'], 'service_unavailable')
  }
  const { balance_usd: balance, unpaid_usd: unpaid, available_usd: available } = await ownerOf(app, caller)
  assert.deepEqual([balance, unpaid, available], [usd(2n * hold), '0.00000000', usd(2n * hold)])
  const { totals } = await app.made('GET', `/usage?owner_id=${caller.ownerId}`)
  assert.equal(totals.errors_by_cause.provider_interrupted, 8)
  assert.ok(units(totals.unpaid_usd) > 0n)
  app.model.when('continue', 'the reply')
  assert.equal((await app.stream('continue', { caller })).events.at(-1)!.event, 'response.completed')
  await app.verify()
})

void test('billing.unpaid: credits that are refunded give no text: what they cleared is unpaid again', async () => {
  const few = { ...agent, max_steps: 1 }
  await using app = await startTestApp({ agent: few })
  const hold = await holdOf(app, await app.makeCaller({ agent: few }))
  const caller = await app.makeCaller({ agent: few, balanceUsd: usd(hold) })
  app.model.when('continue', step)
  const takes = async (): Promise<number> => (await takeAll(app, caller, 'continue')).streams
  await takes()
  for (let cycle = 0; cycle < 3; cycle++) {
    const { unpaid_usd: before } = await ownerOf(app, caller)
    await credit(app, caller, usd(hold))
    await credit(app, caller, `-${usd(hold)}`)
    assert.equal((await ownerOf(app, caller)).unpaid_usd, before)
    assert.equal(await takes(), 0, `cycle ${cycle}`)
  }
  await app.verify()
})

void test('billing.unpaid: the operator sees in every list of owners why a turn is refused, and the playground says so', async () => {
  const few = { ...agent, max_steps: 1 }
  await using app = await startTestApp({ agent: few })
  const hold = await holdOf(app, await app.makeCaller({ agent: few }))
  const caller = await app.makeCaller({ agent: few, balanceUsd: usd(hold) })
  app.model.when('continue', step)
  await takeAll(app, caller, 'continue')
  const { data } = await app.made('GET', '/owners')
  const listed = data.find(({ id }: { id: string }) => id === caller.ownerId)
  assert.equal(units(listed.available_usd), hold - units(listed.unpaid_usd))
  const answer = await app.admin('POST', `/agents/${caller.agentId}/playground`, { message: 'continue' })
  assert.equal(answer.status, 402)
  const { message } = answer.json['error']
  assert.equal(
    message,
    `The owner's available balance is too low for this reply: ${listed.available_usd} USD. The balance is ${usd(hold)} USD; running turns hold 0.00000000 USD, and ${listed.unpaid_usd} USD is unpaid. Nothing was charged.`,
  )
  // An adjustment may take what is reserved; available is never below zero.
  await credit(app, caller, `-${usd(hold)}`)
  const { balance_usd: balance, available_usd: available } = await ownerOf(app, caller)
  assert.deepEqual([balance, available], ['0.00000000', '0.00000000'])
})

void test('billing.unpaid: a caller that leaves gets nothing more so: its turns are settled, or count as the others do', async () => {
  await using app = await startTestApp({ agent })
  const hold = await holdOf(app, await app.makeCaller({ agent }))
  const caller = await app.makeCaller({ agent, balanceUsd: usd(hold + stepCost) })
  app.model.when('continue', step)
  const leaving = new AbortController()
  const body = { external_user_id: 'ann', message: 'continue' }
  const response = await app.chatRequest(body, { caller, path: 'chat/stream', signal: leaving.signal })
  await response.body!.getReader().read()
  leaving.abort()
  while (units((await ownerOf(app, caller)).held_usd) > 0n);
  assert.equal((await ownerOf(app, caller)).unpaid_usd, usd(stepCost))
  const calls = app.model.calls.length
  assert.equal((await app.chat('continue', { caller, user: 'ben' })).status, 402)
  assert.equal(app.model.calls.length, calls)
  await app.verify()
})

void test('billing.hold: the operator sees what holds a balance: the running turns of an owner, newest first', async () => {
  await using app = await startTestApp()
  const held = gate()
  app.model.when('hold', [held, 'x'])
  const running = []
  for (const user of ['ann', 'ben', 'cem']) {
    running.push(app.chat('hold', { user, idempotencyKey: user }))
    await app.model.waitForCalls(running.length)
  }
  const other = await app.makeCaller()
  const owner = await app.owner()
  assert.deepEqual(
    owner['running_turns'].map((turn: Record<string, unknown>) => turn['external_user_id']),
    ['cem', 'ben', 'ann'],
  )
  for (const turn of owner['running_turns']) {
    const { request_id, agent_id, held_usd } = await app.made('GET', `/turns/${turn.request_id}`)
    assert.deepEqual([turn.request_id, turn.agent_id, turn.held_usd], [request_id, agent_id, held_usd])
    assert.match(turn.key_id, /^key_/)
  }
  const sum = owner['running_turns'].reduce((total: bigint, turn: Record<string, unknown>) => total + units(turn['held_usd']), 0n)
  assert.equal(usd(sum), owner['held_usd'])
  assert.deepEqual((await ownerOf(app, other))['running_turns'], [])
  assert.equal('running_turns' in (await app.made('GET', '/owners'))['data'][0], false)
  held.open()
  await Promise.all(running)
  assert.deepEqual((await app.owner())['running_turns'], [])
})
