/**
 * `turn.finish-reason`: why a reply ended, on every surface that shows a reply, for the first answer and for everyone who asks again. Of the
 * kind "one outcome folded into another": a reply that was cut off looked whole, and causes without a reply had one name.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { askOpenAi, completionBody, dataOf, responseBody, sendOpenAi } from '../support/openai-caller.ts'
import { gate } from '../support/model-server.ts'
import { hostedKinds } from '../support/provider-dialects.ts'
import { startProviderServer } from '../support/provider-server.ts'
import type { ProviderServer } from '../support/provider-server.ts'
import { read, startTestApp } from '../support/test-app.ts'
import type { Caller, Json, TestApp } from '../support/test-app.ts'

/** Generated turns, each asked for again in several ways. */
const generatedTurns = 48

const sources = ['openai-compatible', ...hostedKinds] as const
type Source = (typeof sources)[number]
const ends = ['stop', 'length', 'filtered'] as const
type End = (typeof ends)[number]

type Expected = { finish: string; incomplete: true | undefined; chat: string; response: string }
const whole = { incomplete: undefined, chat: 'stop', response: 'completed null completed' }
const expected: Record<End | 'refused', Expected> = {
  stop: { finish: 'stop', ...whole },
  refused: { finish: 'refused', ...whole },
  length: { finish: 'length', incomplete: true, chat: 'length', response: 'incomplete max_output_tokens incomplete' },
  filtered: { finish: 'filtered', incomplete: true, chat: 'content_filter', response: 'incomplete content_filter incomplete' },
}
/** Anthropic's API has no filter of its own; its `refusal` is one of the model. */
const expectedOf = (source: Source, end: End): Expected => expected[source === 'anthropic' && end === 'filtered' ? 'refused' : end]

/** One message, by its key; asked again, it is a replay on whatever endpoint. */
type Asked = { app: TestApp; caller: Caller; message: string; user: string; key: string }

const onTurn = (what: string, { app, caller }: Asked, requestId: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${app.url}/v1/agents/${caller.agentId}/turns/${requestId}${what}`, {
    headers: { authorization: `Bearer ${caller.apiKey}`, ...headers },
  })

const send = ({ app, caller, key }: Asked, path: string, body: Json): Promise<Response> =>
  sendOpenAi(app, { path, apiKey: caller.apiKey, headers: { 'idempotency-key': key }, body: { ...body, model: caller.agentId } })
const completion = (asked: Asked, more: Json = {}): Promise<Response> =>
  send(asked, '/v1/chat/completions', { ...completionBody(asked.app, asked.message), user: asked.user, ...more })
const response = (asked: Asked, more: Json = {}): Promise<Response> =>
  send(asked, '/v1/responses', { ...responseBody(asked.app, asked.message), user: asked.user, ...more })
const stateOf = ({ status, incomplete_details: details, output }: Json): string =>
  [status, details && details.reason, output[0].status].map(String).join(' ')

/** How each endpoint says why the reply ended: what it says, as `Expected` has it, by the name of the field. */
const firsts: Record<string, (asked: Asked) => Promise<Partial<Expected>>> = {
  async chat({ app, ...rest }) {
    const { json } = await app.chat(rest.message, { caller: rest.caller, user: rest.user, idempotencyKey: rest.key })
    return { incomplete: json['message'].incomplete }
  },
  async 'chat/stream'({ app, ...rest }) {
    const { events } = await app.stream(rest.message, { caller: rest.caller, user: rest.user, idempotencyKey: rest.key })
    return { incomplete: events.at(-1)!.data['message'].incomplete }
  },
  async completion(asked) {
    return { chat: (await read(await completion(asked))).json['choices'][0].finish_reason }
  },
  async 'completion stream'(asked) {
    const chunks = dataOf(await (await completion(asked, { stream: true })).text())
    const finishes = chunks.flatMap(({ choices = [] }) => choices).map((choice: Json) => choice['finish_reason'])
    assert.deepEqual(
      finishes.slice(0, -1).filter((finish: unknown) => finish !== null),
      [],
    )
    return { chat: finishes.at(-1) }
  },
  async response(asked) {
    return { response: stateOf((await read(await response(asked))).json) }
  },
  async 'response stream'(asked) {
    const last = dataOf(await (await response(asked, { stream: true })).text()).at(-1)!
    assert.equal(last['type'], `response.${last['response'].status}`)
    return { response: stateOf(last['response']) }
  },
}

/** What is asked about a turn that has ended, by its request ID. */
const looks: Record<string, (asked: Asked, requestId: string, reply: string) => Promise<Partial<Expected>>> = {
  async 'turn resource'(asked, requestId) {
    const { json } = await read(await onTurn('', asked, requestId))
    return { finish: json['finish_reason'], incomplete: json['message'].incomplete }
  },
  async 'turn stream'(asked, requestId) {
    const events = dataOf(await (await onTurn('/stream', asked, requestId)).text())
    return { incomplete: events.at(-1)!['message'].incomplete }
  },
  async 'resumed turn stream'(asked, requestId) {
    const text = await (await onTurn('/stream', asked, requestId)).text()
    const [first] = [...text.matchAll(/^id: (.+)$/gm)].map(([, id]) => id!)
    const events = dataOf(await (await onTurn('/stream', asked, requestId, { 'last-event-id': first! })).text())
    return { incomplete: events.at(-1)!['message'].incomplete }
  },
  async 'stored response'({ app, caller }, requestId) {
    const path = `/v1/responses/resp_${requestId.replaceAll('-', '')}`
    return { response: stateOf((await askOpenAi(app, { method: 'GET', path, apiKey: caller.apiKey })).json) }
  },
  async 'resumed response stream'({ app, caller }, requestId) {
    const path = `/v1/responses/resp_${requestId.replaceAll('-', '')}?stream=true&starting_after=3`
    const last = dataOf(await (await sendOpenAi(app, { method: 'GET', path, apiKey: caller.apiKey })).text()).at(-1)!
    assert.equal(last['type'], `response.${last['response'].status}`)
    return { response: stateOf(last['response']) }
  },
  async 'message list'({ app, caller, user }, requestId) {
    const [asked, reply] = (await app.messages(user, caller)).filter((message) => message['request_id'] === requestId)
    assert.equal('incomplete' in asked!, false)
    return { incomplete: reply!['incomplete'] }
  },
  async 'admin turn'({ app }, requestId) {
    const turn = await app.made('GET', `/turns/${requestId}`)
    return { finish: turn['finish_reason'], incomplete: turn['incomplete'] || undefined }
  },
  async 'admin message list'({ app }, requestId) {
    const { conversation_id: id } = await app.made('GET', `/turns/${requestId}`)
    const { turn } = (await app.made('GET', `/conversations/${id}/messages`))['data'].find((one: Json) => one['request_id'] === requestId)
    return { finish: turn.finish_reason, incomplete: turn.incomplete || undefined }
  },
}

const assertSays = (said: Partial<Expected>, right: Expected, where: string): void => {
  const wanted = Object.fromEntries(Object.keys(said).map((field) => [field, right[field as keyof Expected]]))
  assert.deepEqual(said, wanted, where)
}

async function startSources(app: TestApp, server: ProviderServer): Promise<Record<Source, Caller>> {
  const callers: Partial<Record<Source, Caller>> = { 'openai-compatible': app.caller }
  for (const kind of hostedKinds) {
    await app.made('POST', '/providers', { name: kind, kind, base_url: server.baseUrl(kind), api_key: 'sk-secret' })
    callers[kind] = await app.makeCaller({ agent: { model: `${kind}/first` } })
  }
  return callers as Record<Source, Caller>
}

void test('turn.finish-reason: every endpoint says why the reply ended, in the first answer and in every later one', async (t) => {
  const server = await startProviderServer()
  t.after(() => server.close())
  await using app = await startTestApp()
  const callers = await startSources(app, server)
  const seen = new Set<string>()
  const turn = fc.record({
    source: fc.constantFrom(...sources),
    end: fc.constantFrom(...ends),
    first: fc.constantFrom(...Object.keys(firsts)),
    again: fc.uniqueArray(fc.constantFrom(...Object.keys(firsts)), { minLength: 1, maxLength: 3 }),
    look: fc.uniqueArray(fc.constantFrom(...Object.keys(looks)), { minLength: 3 }),
    pieces: fc.array(fc.constantFrom('It ', 'rains', ' in Oslo.', ' 🌧'), { minLength: 1, maxLength: 5 }),
  })
  const property = fc.asyncProperty(turn, async ({ source, end, first, again, look, pieces }) => {
    const asked = { app, caller: callers[source], message: 'weather', user: randomUUID(), key: randomUUID() }
    const right = expectedOf(source, end)
    if (source === 'openai-compatible') app.model.script([...pieces, { finish: end === 'filtered' ? 'content_filter' : end }])
    else server.script([...pieces, { finish: end }])
    assertSays(await firsts[first]!(asked), right, `${source} ${end}: ${first}`)
    const [{ request_id: requestId }] = (await app.made('GET', `/turns?agent_id=${asked.caller.agentId}&limit=1`))['data']
    for (const place of again) assertSays(await firsts[place]!(asked), right, `${source} ${end}: ${first}, then ${place}`)
    for (const place of look) assertSays(await looks[place]!(asked, requestId, pieces.join('')), right, `${source} ${end}: ${place}`)
    seen.add(`${source} ${end}`)
  })
  await fc.assert(property, { numRuns: generatedTurns, endOnFailure: true })
  assert.ok(seen.size > 6, [...seen].join(', '))
  const metrics = await (await fetch(`${app.adminUrl}/metrics`, { headers: { authorization: 'Bearer test-admin-token' } })).text()
  const counted = [...metrics.matchAll(/^turnkeep_replies_total\{finish_reason="\w+"\} (\d+)$/gm)].map(([, count]) => Number(count))
  assert.equal(
    counted.reduce((sum, count) => sum + count, 0),
    generatedTurns,
  )
  await app.verify()
})

void test('turn.finish-reason: whoever follows a running turn, and a replay of a large reply, get the same finish reason', async () => {
  await using app = await startTestApp()
  const asked = { app, caller: app.caller, message: 'weather', user: 'user-1', key: 'key 1' }
  const held = gate()
  app.model.script(['It ', held, 'rains', { finish: 'length' }])
  const first = firsts['completion stream']!(asked)
  await held.reached
  const [{ request_id: requestId }] = (await app.made('GET', '/turns?limit=1'))['data']
  assert.equal((await read(await onTurn('', asked, requestId))).json['finish_reason'], null)
  const followers = [looks['turn stream']!(asked, requestId, ''), looks['resumed response stream']!(asked, requestId, '')]
  held.open()
  for (const said of await Promise.all([first, ...followers])) assertSays(said, expected.length, 'a follower')

  // Above the size that the admission reads by itself.
  app.model.script([...Array.from({ length: 20 }, () => 'rain '.repeat(2_000)), { finish: 'length' }])
  const large = { ...asked, key: 'key 2' }
  for (const place of Object.keys(firsts)) assertSays(await firsts[place]!(large), expected.length, place)
  await app.verify()
})

void test('turn.finish-reason: a cancelled turn and one without a reply have none', async () => {
  await using app = await startTestApp()
  const asked = { app, caller: app.caller, message: 'weather', user: 'user-1', key: 'key 1' }
  const held = gate()
  app.model.script(['It ', held, 'rains'])
  const streamed = firsts['completion stream']!(asked)
  await held.reached
  const [{ request_id: requestId }] = (await app.made('GET', '/turns?limit=1'))['data']
  const cancelled = await app.made('POST', `/turns/${requestId}/cancel`, {})
  held.open()
  assert.deepEqual([cancelled['state'], cancelled['incomplete'], cancelled['finish_reason']], ['completed', true, null])
  assert.deepEqual(await streamed, { chat: 'length' })
  assert.deepEqual(await looks['turn resource']!(asked, requestId, ''), { finish: null, incomplete: true })
  assert.deepEqual(await looks['message list']!(asked, requestId, ''), { incomplete: true })
  await app.verify()
})

/** Answers without any text, what their turn is called, and how many calls it costs to know. */
const withoutText: Record<string, { finish: string; kind: string; calls: number }> = {
  'a filter that removed the whole reply': { finish: 'content_filter', kind: 'filtered', calls: 1 },
  'an output limit that was used up before any text': { finish: 'length', kind: 'reply_cut_off', calls: 2 },
  'an empty reply': { finish: 'stop', kind: 'empty_reply', calls: 2 },
  'an empty reply with an unknown end': { finish: 'eos', kind: 'empty_reply', calls: 2 },
}
for (const [what, { finish, kind, calls }] of Object.entries(withoutText))
  void test(`turn.errors: ${what} is the cause ${kind} for the operator and the metrics, and internal_error for the caller`, async () => {
    await using app = await startTestApp()
    app.model.script([{ finish }], [{ finish }])
    const { json, status } = await app.chat('hello', { idempotencyKey: 'key 1' })
    assert.deepEqual([status, json['error'].code, app.model.calls.length], [500, 'internal_error', calls])
    const turn = await app.made('GET', `/turns/${json['error'].request_id}`)
    assert.deepEqual([turn['failure'].cause_kind, turn['finish_reason'], turn['incomplete']], [kind, null, false])
    const metrics = await (await fetch(`${app.adminUrl}/metrics`, { headers: { authorization: 'Bearer test-admin-token' } })).text()
    assert.match(metrics, new RegExp(`^turnkeep_turn_errors_total\\{cause="${kind}"\\} 1$`, 'm'))
    await app.verify()
  })
