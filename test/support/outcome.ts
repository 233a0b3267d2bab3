/**
 * The complete outcome of a turn, as the fault matrix describes it: what the caller receives, and a retry with the same key; what is
 * stored, charged and held; and how often the model was called. It only reads, over HTTP. No other turn of the test may have the same
 * message.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { formatUsd, parseUsd } from '../../src/ledger/ledger.ts'
import type { Answer, Caller, Json, StreamEvent, TestApp } from './test-app.ts'

export type Transport = 'chat' | 'stream'
export const transports: readonly Transport[] = ['chat', 'stream']

/** One request: the first of a caller, so nothing else has changed its balance. */
export type Sent = { caller: Caller; idempotencyKey: string; message: string; user: string; transport: Transport }

const startingBalance = '10.00000000'

/** A request of its own caller. */
export async function makeSent(
  app: TestApp,
  message: string,
  { transport = 'chat', agent = {}, key = {} }: SentOptions = {},
): Promise<Sent> {
  const caller = await app.makeCaller({ balanceUsd: startingBalance, agent, key })
  return { caller, idempotencyKey: randomUUID(), message, user: 'user-1', transport }
}
export type SentOptions = { transport?: Transport; agent?: Json; key?: Json }

/** Sends it, and once more if the limiter was late (`rate.fail-closed`): nothing was stored then, and a machine that runs tests is busy. */
export async function send(app: TestApp, { message, transport, ...options }: Sent): Promise<Outcome> {
  for (;;) {
    const reported = await tell(app[transport](message, options), transport)
    if (reported.code !== 'api_rate_limit_unavailable') return reported
  }
}

/** The same on both transports: the JSON of `response.completed` or of a 200, or the error object, with the HTTP status. */
export type Outcome = { status: number; reply: Json | undefined; code: string | undefined; answer: Answer; events: StreamEvent[] }

async function tell(asked: Promise<Answer & { events?: StreamEvent[] }>, transport: Transport): Promise<Outcome> {
  const answer = await asked
  const { events = [] } = answer
  if (transport === 'chat' || events.length === 0) {
    const reply = answer.status === 200 ? answer.json : undefined
    return { status: answer.status, reply, code: answer.json['error']?.code, answer, events }
  }
  assert.match(names(events), /^response\.created( response\.output_text\.delta)* (response\.completed|error)$/)
  const { event, data } = events.at(-1)!
  return { status: 200, reply: event === 'error' ? undefined : data, code: event === 'error' ? data['code'] : undefined, answer, events }
}

export const names = (events: StreamEvent[]): string => events.map(({ event }) => event).join(' ')

/** Sends with the same key until the turn has ended. The service says when to retry. */
export async function sendUntilEnded(app: TestApp, sent: Sent): Promise<Outcome> {
  for (;;) {
    const reported = await send(app, sent)
    if (reported.code !== 'idempotency_in_progress') return reported
    assert.deepEqual([reported.status, reported.answer.headers.get('retry-after')], [409, '2'])
  }
}

export const callsOf = (app: TestApp, { message }: Sent): number =>
  app.model.calls.filter(({ lastUserMessage }) => lastUserMessage === message).length

/**
 * One reply that is stored once and replayed on both transports without the model, one charge for its usage, nothing held. Returns the
 * reply.
 */
export async function answeredOnce(app: TestApp, sent: Sent, { content, calls = 1 }: { content: string; calls?: number }): Promise<Json> {
  const [sync, stream] = [await sendUntilEnded(app, { ...sent, transport: 'chat' }), await send(app, { ...sent, transport: 'stream' })]
  assert.equal(sync.status, 200, sync.answer.text)
  assert.equal(names(stream.events), 'response.created response.completed', stream.answer.text)
  const reply = sync.reply!
  assert.deepEqual(stream.reply, reply)
  assert.equal(reply['message'].content, content)
  assert.deepEqual(
    (await app.messages(sent.user, sent.caller)).map((message) => [message['role'], message['content'], message['request_id']]),
    [
      ['user', sent.message, reply['request_id']],
      ['assistant', content, reply['request_id']],
    ],
  )
  assert.deepEqual(await charges(app, sent), [`-${reply['usage'].charged_usd}`])
  await balanceIs(app, sent, formatUsd(parseUsd(startingBalance)! - parseUsd(reply['usage'].charged_usd)!))
  assert.equal(callsOf(app, sent), calls, 'calls of the model')
  assert.equal((await turnOf(app, reply['request_id']))['state'], 'completed')
  await app.verify()
  return reply
}

/** Nothing in the history, nothing charged, nothing held, and the turn's own record agrees. */
export async function nothingKept(
  app: TestApp,
  sent: Sent,
  { requestId, calls, state = 'released', code }: { requestId: string; calls: number; state?: 'released' | 'failed'; code: string },
): Promise<void> {
  assert.deepEqual(await app.messages(sent.user, sent.caller), [])
  assert.deepEqual(await charges(app, sent), [])
  await balanceIs(app, sent, startingBalance)
  assert.equal(callsOf(app, sent), calls, 'calls of the model')
  const turn = await turnOf(app, requestId)
  assert.deepEqual([turn['state'], turn['failure'].code, turn['held_usd']], [state, code, formatUsd(0n)])
  assert.ok(turn['failure'].cause, 'the operator is told why')
  await app.verify()
}

export const turnOf = (app: TestApp, requestId: string): Promise<Json> => app.made('GET', `/turns/${requestId}`)

async function charges(app: TestApp, { caller }: Sent): Promise<string[]> {
  const { data } = await app.made('GET', `/owners/${caller.ownerId}/ledger?limit=100`)
  return (data as Json[]).filter(({ kind }) => kind === 'charge').map((entry) => entry['amount_usd'])
}

async function balanceIs(app: TestApp, { caller }: Sent, balance: string): Promise<void> {
  const owner = await app.made('GET', `/owners/${caller.ownerId}`)
  // A turn without a reply costs nothing, but what its caller made it use may be reserved (`billing.unpaid`; test/spec/unpaid.test.ts).
  const available = formatUsd(parseUsd(balance)! - parseUsd(owner['unpaid_usd'])!)
  assert.deepEqual([owner['balance_usd'], owner['available_usd'], owner['held_usd']], [balance, available, formatUsd(0n)])
}
