/** The turn resource over HTTP: status, stream with Last-Event-ID, cancel, respond-async and feedback, as a caller sees them. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import { cut, gate } from '../support/model-server.ts'
import type { Gate, Part } from '../support/model-server.ts'
import { read, startTestApp } from '../support/test-app.ts'
import type { Answer, Json, TestApp } from '../support/test-app.ts'

type IdEvent = { event: string; id: string; data: Json }

/** Every event with its ID, and nothing else but comments. */
function eventsOf(text: string): IdEvent[] {
  return text
    .split('\n\n')
    .filter((block) => block !== '' && block !== ':')
    .map((block) => {
      const match = /^event: (.+)\nid: (.+)\ndata: (.+)$/.exec(block)
      assert.ok(match, block)
      return { event: match[1]!, id: match[2]!, data: JSON.parse(match[3]!) as Json }
    })
}

const shown = (events: IdEvent[]): string =>
  events.reduce((text, { event, data }) => (event.endsWith('.reset') ? '' : event.endsWith('.delta') ? text + data['delta'] : text), '')

/** The turn of a message that the caller does not wait for. */
async function startTurn(app: TestApp, message: string, key: string = randomUUID(), user = 'user-1'): Promise<string> {
  const answer = await app.chat(message, { idempotencyKey: key, user, headers: { prefer: 'respond-async' } })
  assert.equal(answer.status, 202, answer.text)
  return answer.json['request_id']
}

async function onTurn(
  app: TestApp,
  requestId: string,
  what = '',
  options: { method?: string; headers?: Record<string, string>; body?: Json; apiKey?: string } = {},
): Promise<Answer> {
  const { method = 'GET', headers = {}, body, apiKey = app.caller.apiKey } = options
  return read(
    await fetch(`${app.url}/v1/agents/${app.caller.agentId}/turns/${requestId}${what}`, {
      method,
      headers: { authorization: `Bearer ${apiKey}`, ...(body ? { 'content-type': 'application/json' } : {}), ...headers },
      ...(body ? { body: JSON.stringify(body) } : {}),
    }),
  )
}
const cancel = (app: TestApp, requestId: string): Promise<Answer> => onTurn(app, requestId, '/cancel', { method: 'POST' })

/** Sends it again after a 503: a busy machine may take longer than the store's deadline. */
async function patiently(send: () => Promise<Answer>): Promise<Answer> {
  for (let left = 20; ; left--) {
    const answer = await send()
    if (answer.status !== 503 || left === 0) return answer
  }
}

/** Cancels a running turn, and reads it again if its end takes longer than the response waits for it. */
async function cancelToEnd(app: TestApp, requestId: string): Promise<Answer> {
  let from = 0
  let answer = await patiently(() => {
    from = performance.now()
    return cancel(app, requestId)
  })
  // `cancelWaitMs` of the service, less what its timer may be early.
  if (answer.json['status'] === 'running') assert.ok(performance.now() - from > 1_900, 'the response did not wait')
  for (; answer.json['status'] === 'running'; await pass(10)) answer = await patiently(() => onTurn(app, requestId))
  return answer
}

async function untilEnded(app: TestApp, requestId: string): Promise<Json> {
  for (;;) {
    const { json } = await patiently(() => onTurn(app, requestId))
    if (json['status'] !== 'running') return json
    await pass(10)
  }
}

const pieces = ['It ', 'rains ', 'in ', 'Oslo ', '🌧.']
const reply = pieces.join('')
const gated = (gates: Gate[]): Part[] => pieces.flatMap((piece, n) => [gates[n]!, piece])

/** Only the turn resource has them. */
const noDetails = {
  prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0 },
  tool_calls_usd: '0.00000000',
}

void test('turn.resource: a turn is read while it runs and after it, with the same reply and usage as the caller received', async () => {
  await using app = await startTestApp()
  const held = gate()
  app.model.when('weather', ['It ', held, 'rains.'])
  const requestId = await startTurn(app, 'weather', 'key 1')
  const running = await onTurn(app, requestId)
  const { conversation_id: conversationId, created_at: createdAt, ...rest } = running.json
  assert.deepEqual(rest, {
    request_id: requestId,
    external_user_id: 'user-1',
    status: 'running',
    ended_at: null,
    message: null,
    usage: null,
    error: null,
    finish_reason: null,
    cancel_requested: false,
  })
  held.open()
  const ended = await untilEnded(app, requestId)
  const replayed = await app.chat('weather', { idempotencyKey: 'key 1' })
  const usage = { ...replayed.json['usage'], ...noDetails }
  assert.deepEqual([ended['status'], ended['message'], ended['usage']], ['completed', replayed.json['message'], usage])
  assert.deepEqual([ended['conversation_id'], ended['created_at']], [conversationId, createdAt])
  assert.ok(ended['ended_at'] >= createdAt)
  assert.ok(running.headers.has('x-ratelimit-limit'))
})

void test('turn.resource: a key sees only the turns that it started; unknown, malformed and erased turns are 404', async () => {
  await using app = await startTestApp()
  const requestId = await startTurn(app, 'hello')
  await untilEnded(app, requestId)
  const otherKey = (await app.made('POST', `/agents/${app.caller.agentId}/keys`, { permission: 'full' }))['api_key']
  const readOnly = (await app.made('POST', `/agents/${app.caller.agentId}/keys`, { permission: 'read-only' }))['api_key']
  for (const what of ['', '/stream']) {
    for (const id of [randomUUID(), 'x', '%00', 'a'.repeat(3000)])
      assert.deepEqual([(await onTurn(app, id, what)).status, what], [404, what])
    assert.equal((await onTurn(app, requestId, what, { apiKey: otherKey })).json['error']?.code, 'not_found')
    assert.equal((await onTurn(app, requestId, what, { apiKey: readOnly })).status, 404)
  }
  for (const what of ['/cancel', '/feedback']) {
    const body = what === '/feedback' ? { rating: 'up' } : {}
    assert.equal((await onTurn(app, requestId, what, { method: 'POST', body, apiKey: otherKey })).status, 404)
    assert.equal((await onTurn(app, requestId, what, { method: 'POST', body, apiKey: readOnly })).json['error'].code, 'permission_denied')
  }
  const { conversation_id: conversationId } = (await onTurn(app, requestId)).json
  await app.made('DELETE', `/conversations/${conversationId}`)
  assert.equal((await onTurn(app, requestId)).status, 404)
  assert.equal((await onTurn(app, requestId, '/stream')).status, 404)
  await app.verify()
})

void test('fault.stream-resumed stream.resume: after any event, while the turn runs and after it, the rest follows: nothing twice, nothing missing', async () => {
  await using app = await startTestApp()
  const gates = pieces.map(() => gate())
  app.model.when('weather', gated(gates))
  const original = app.stream('weather', { idempotencyKey: 'key 1' })
  await gates[0]!.reached
  const listed = await app.made('GET', '/turns?status=running')
  const requestId = listed['data'][0].request_id as string
  // Followed from the start, by several listeners at once.
  const whole = [1, 2, 3].map(() => onTurn(app, requestId, '/stream'))
  for (const held of gates) {
    await held.reached
    held.open()
    await pass(20)
  }
  const sent = eventsOf((await original).text)
  for (const one of await Promise.all(whole)) {
    const events = eventsOf(one.text)
    assert.equal(events[0]!.event, 'response.created')
    assert.deepEqual([shown(events), events.at(-1)], [reply, sent.at(-1)])
  }
  for (const [n, { id }] of sent.entries()) {
    const rest = await onTurn(app, requestId, '/stream', { headers: { 'last-event-id': id } })
    if (n === sent.length - 1) assert.deepEqual([rest.status, rest.text], [204, ''])
    else {
      const events = eventsOf(rest.text)
      assert.equal(shown(sent.slice(0, n + 1)) + shown(events), reply)
      assert.ok(events.every(({ event }) => event !== 'response.created' && event !== 'response.output_text.reset'))
      assert.deepEqual(events.at(-1), sent.at(-1))
      assert.deepEqual((await onTurn(app, requestId, `/stream?after=${id}`)).text, rest.text)
    }
  }
})

void test('stream.resume: a stream that is cut after any delta continues live after its last event', async () => {
  await using app = await startTestApp()
  for (let n = 1; n <= pieces.length; n++) {
    const gates = pieces.map(() => gate())
    app.model.when(`weather ${n}`, gated(gates))
    const leave = new AbortController()
    const body = { external_user_id: `user-${n}`, message: `weather ${n}` }
    const response = await app.chatRequest(body, { path: 'chat/stream', signal: leave.signal })
    const requestId = response.headers.get('x-request-id')!
    let text = ''
    for (let opened = 0; opened < n; opened++) gates[opened]!.open()
    const decoder = new TextDecoder()
    for await (const bytes of response.body!) {
      text += decoder.decode(bytes, { stream: true })
      if (shown(eventsOf(text.slice(0, text.lastIndexOf('\n\n') + 2))).length >= pieces.slice(0, n).join('').length) break
    }
    leave.abort()
    const before = eventsOf(text)
    const rest = onTurn(app, requestId, '/stream', { headers: { 'last-event-id': before.at(-1)!.id } })
    for (const held of gates) held.open()
    assert.equal(shown(before) + shown(eventsOf((await rest).text)), reply)
  }
  await app.verify()
})

void test('stream.resume: a turn that was released and generated again with another text resets, and with the same text does not', async () => {
  await using app = await startTestApp()
  app.model.script(['It rains', cut('rst')], ['It snows.'])
  const first = eventsOf((await app.stream('weather', { idempotencyKey: 'key 1' })).text)
  const requestId = first[0]!.data['request_id'] as string
  assert.deepEqual([shown(first), first.at(-1)!.event], ['It rains', 'error'])
  const released = await onTurn(app, requestId, '/stream', { headers: { 'last-event-id': first.at(-1)!.id } })
  assert.deepEqual(
    eventsOf(released.text).map(({ event, data }) => [event, data['code']]),
    [['error', 'service_unavailable']],
  )
  assert.deepEqual((await onTurn(app, requestId)).json['error'].code, 'service_unavailable')
  await app.chat('weather', { idempotencyKey: 'key 1' })
  const other = eventsOf((await onTurn(app, requestId, '/stream', { headers: { 'last-event-id': first.at(-1)!.id } })).text)
  assert.deepEqual(
    other.map(({ event }) => event),
    ['response.output_text.reset', 'response.output_text.delta', 'response.completed'],
  )
  assert.equal(shown(other), 'It snows.')
  // "It " is the start of both.
  const id = `3-${crc32('It ')}`
  const same = eventsOf((await onTurn(app, requestId, '/stream', { headers: { 'last-event-id': id } })).text)
  assert.deepEqual(
    same.map(({ event, data }) => [event, data['delta']]),
    [
      ['response.output_text.delta', 'snows.'],
      ['response.completed', undefined],
    ],
  )
})

void test('stream.resume: an ID that is not one is refused', async () => {
  await using app = await startTestApp()
  const requestId = await startTurn(app, 'hello')
  for (const id of ['x', '-1', '1-', '0-0-0', '1-4294967296', '12345678-0', 'a-0', '😀', 'a'.repeat(60)]) {
    const answer = await onTurn(app, requestId, `/stream?after=${encodeURIComponent(id)}`)
    assert.deepEqual([answer.status, answer.json['error']?.code], [422, 'validation_error'], id)
  }
  assert.equal((await onTurn(app, requestId, '/stream?from=1')).status, 422)
})

void test('turn.background: with Prefer: respond-async, 202 with the place of the turn; the same key is in progress, then the replay', async () => {
  await using app = await startTestApp()
  const held = gate()
  app.model.when('weather', ['It ', held, 'rains.'])
  const headers = { prefer: 'wait=10, Respond-Async' }
  const accepted = await app.chat('weather', { idempotencyKey: 'key 1', headers })
  const { request_id: requestId, conversation_id: conversationId } = accepted.json
  assert.deepEqual(accepted.json, { request_id: requestId, conversation_id: conversationId, status: 'running' })
  assert.deepEqual(
    [accepted.status, accepted.headers.get('location'), accepted.headers.get('preference-applied'), accepted.headers.get('x-request-id')],
    [202, `/v1/agents/${app.caller.agentId}/turns/${requestId}`, 'respond-async', requestId],
  )
  assert.equal((await app.chat('weather', { idempotencyKey: 'key 1', headers })).json['error'].code, 'idempotency_in_progress')
  held.open()
  const ended = await untilEnded(app, requestId)
  const replay = await app.chat('weather', { idempotencyKey: 'key 1', headers })
  assert.deepEqual([replay.status, replay.json['message'], replay.headers.has('preference-applied')], [200, ended['message'], false])
  assert.equal((await app.chat('another', { headers: { prefer: 'respond-asynchronously' } })).status, 200)
  await app.verify()
})

void test('turn.cancel: before any text, the turn ends as cancelled: nothing charged, nothing in the history, and its key gets the same 409', async () => {
  await using app = await startTestApp()
  const held = gate()
  app.model.when('weather', [held, 'It rains.'])
  const waiting = app.chat('weather', { idempotencyKey: 'key 1' })
  await held.reached
  const requestId = (await app.made('GET', '/turns?status=running'))['data'][0].request_id as string
  const streamed = onTurn(app, requestId, '/stream')
  await pass(20)
  const cancelled = await cancelToEnd(app, requestId)
  assert.deepEqual(
    [
      cancelled.status,
      cancelled.json['status'],
      cancelled.json['error'].code,
      cancelled.json['cancel_requested'],
      cancelled.json['message'],
    ],
    [200, 'cancelled', 'turn_cancelled', true, null],
  )
  const answer = await waiting
  assert.deepEqual([answer.status, answer.json['error'].code, answer.json['error'].request_id], [409, 'turn_cancelled', requestId])
  const last = eventsOf((await streamed).text).at(-1)!
  assert.deepEqual([last.event, last.data['code'], last.id], ['error', 'turn_cancelled', 'end'])
  assert.equal(await (await app.model.waitForCalls(1))[0]!.ended, 'aborted')
  for (const path of ['chat', 'chat/stream']) {
    const again = await app.chat('weather', { idempotencyKey: 'key 1', path })
    assert.deepEqual([again.status, again.json['error'].code, again.json['error'].request_id], [409, 'turn_cancelled', requestId])
  }
  assert.deepEqual((await cancel(app, requestId)).json, cancelled.json)
  assert.deepEqual([await app.messages(), (await app.owner())['held_usd'], app.model.calls.length], [[], '0.00000000', 1])
  assert.equal(Number((await app.query('select count(*) as n from turn_errors'))[0]!['n']), 0)
  assert.equal((await app.chat('hello')).status, 200)
  await app.verify()
})

void test('turn.cancel: after text, the text so far is the reply: incomplete, charged for its tokens, in the history and replayed', async () => {
  await using app = await startTestApp()
  const held = gate()
  app.model.when('weather', ['It ', 'rains', held, ' in Oslo.'])
  const response = await app.chatRequest(
    { external_user_id: 'user-1', message: 'weather' },
    { path: 'chat/stream', idempotencyKey: 'key 1' },
  )
  const requestId = response.headers.get('x-request-id')!
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const readUntil = async (isSo: () => boolean): Promise<void> => {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      text += next.value
      if (isSo()) return
    }
  }
  await readUntil(() => shown(eventsOf(text.slice(0, text.lastIndexOf('\n\n') + 2))) === 'It rains')
  const cancelled = await cancelToEnd(app, requestId)
  const { message, usage } = cancelled.json
  assert.deepEqual(
    [cancelled.json['status'], message?.content, message?.incomplete, cancelled.json['error']],
    ['completed', 'It rains', true, null],
  )
  assert.ok(Number(usage.charged_usd) > 0 && usage.completion_tokens > 0)
  await readUntil(() => false)
  const last = eventsOf(text).at(-1)!
  assert.deepEqual([last.event, last.data['message']], ['response.completed', message])
  const again = await app.chat('weather', { idempotencyKey: 'key 1' })
  assert.deepEqual([again.status, again.json['message'], { ...again.json['usage'], ...noDetails }], [200, message, usage])
  assert.deepEqual(
    (await app.messages()).map(({ content }) => content),
    ['weather', 'It rains'],
  )
  assert.deepEqual(
    (await app.ledger()).map(({ kind, amount_usd: amount }) => [kind, amount]).filter(([kind]) => kind === 'charge'),
    [['charge', `-${usage.charged_usd}`]],
  )
  await app.verify()
})

void test('turn.cancel: a turn that has ended does not change, and a body is refused', async () => {
  await using app = await startTestApp()
  const requestId = await startTurn(app, 'hello')
  const ended = await untilEnded(app, requestId)
  assert.deepEqual((await cancel(app, requestId)).json, ended)
  assert.equal((await onTurn(app, requestId, '/cancel', { method: 'POST', body: {} })).status, 200)
  assert.equal((await onTurn(app, requestId, '/cancel', { method: 'POST', body: { why: 'x' } })).json['error'].code, 'validation_error')
  app.model.script({ status: 503 }, { status: 503 }, { status: 503 }, 'again')
  const released = await app.chat('goodbye', { idempotencyKey: 'key 2' })
  assert.equal(released.status, 503)
  const releasedId = released.json['error'].request_id as string
  assert.deepEqual(
    [(await cancel(app, releasedId)).json['status'], (await cancel(app, releasedId)).json['cancel_requested']],
    ['released', false],
  )
  assert.equal((await app.chat('goodbye', { idempotencyKey: 'key 2' })).json['message'].content, 'again')
})

/** Opens within 30 ms. */
function soon(): Gate {
  const held = gate()
  setTimeout(() => held.open(), Math.random() * 30)
  return held
}

void test('fault.cancel-race turn.cancel: races with the end of the turn: exactly one of reply, partial reply, cancel and failure, and the books agree', async (t) => {
  await using app = await startTestApp({ balanceUsd: '1000' })
  const outcomes: Record<string, number> = {}
  const races = Number(process.env['CANCEL_RACES'] ?? 60)
  const each = async (n: number): Promise<void> => {
    const message = `race ${n}`
    app.model.when(message, () => [soon(), 'one ', soon(), n % 4 === 0 ? cut('end') : 'two'])
    const key = randomUUID()
    const requestId = await startTurn(app, message, key, `user-${n}`)
    await pass(Math.random() * 40)
    const cancelOnce = (): Promise<Answer> => patiently(() => cancel(app, requestId))
    const answers = await Promise.all([cancelOnce(), cancelOnce()])
    const ended = await untilEnded(app, requestId)
    for (const { status } of answers) assert.equal(status, 200)
    const replay = await patiently(() => app.chat(message, { idempotencyKey: key, user: `user-${n}` }))
    if (ended['status'] === 'completed') assert.deepEqual([replay.status, replay.json['message']], [200, ended['message']])
    else if (ended['status'] === 'cancelled') assert.equal(replay.json['error'].code, 'turn_cancelled')
    const name = ended['message']?.incomplete ? 'partial reply' : ended['status']
    outcomes[name] = (outcomes[name] ?? 0) + 1
  }
  for (let n = 0; n < races; n += 20) await Promise.all(Array.from({ length: Math.min(20, races - n) }, (_, at) => each(n + at)))
  t.diagnostic(JSON.stringify(outcomes))
  assert.ok(Object.keys(outcomes).length > 1, JSON.stringify(outcomes))
  await app.verify()
})

void test('feedback: the last one counts; bad input is refused, and a running turn has none', async () => {
  await using app = await startTestApp()
  const requestId = await startTurn(app, 'hello')
  await untilEnded(app, requestId)
  const give = (body: Json): Promise<Answer> => onTurn(app, requestId, '/feedback', { method: 'POST', body })
  const first = await give({ rating: 'down', comment: 'No 😀', tags: ['wrong', 'old', 'wrong'] })
  const { created_at: createdAt, updated_at: updatedAt } = first.json
  assert.deepEqual(first.json, {
    request_id: requestId,
    rating: 'down',
    comment: 'No 😀',
    tags: ['wrong', 'old'],
    created_at: createdAt,
    updated_at: updatedAt,
  })
  const second = await give({ rating: 'up' })
  assert.deepEqual(
    [second.json['rating'], second.json['comment'], second.json['tags'], second.json['created_at']],
    ['up', null, [], createdAt],
  )
  for (const body of [
    {},
    { rating: 'sideways' },
    { rating: 'up', comment: 'x'.repeat(2001) },
    { rating: 'up', comment: '' },
    { rating: 'up', comment: 'a\0' },
    { rating: 'up', tags: Array.from({ length: 21 }, (_, n) => `t${n}`) },
    { rating: 'up', tags: [''] },
    { rating: 'up', stars: 5 },
  ])
    assert.equal((await give(body)).json['error']?.code, 'validation_error', JSON.stringify(body))
  assert.equal((await give({ rating: 'up', comment: '😀'.repeat(2000) })).status, 200)
  const held = gate()
  app.model.when('wait', [held, 'x'])
  const running = await startTurn(app, 'wait')
  assert.equal((await onTurn(app, running, '/feedback', { method: 'POST', body: { rating: 'up' } })).json['error'].code, 'validation_error')
  held.open()
  await untilEnded(app, running)
  await app.verify()
})

void test('overload.follows: many followers of a turn get all of its text in fewer, larger pieces, and a single one gets every piece', async () => {
  await using app = await startTestApp()
  const words = Array.from({ length: 300 }, (_, at) => `word ${at} `)
  const whole = `one ${words.join('')}`
  for (const followers of [1, 100]) {
    const held = gate()
    app.model.script(['one ', held, ...words])
    const requestId = await startTurn(app, 'go on', randomUUID(), `user of ${followers}`)
    await held.reached
    const follow = (): Promise<Response> =>
      fetch(`${app.url}/v1/agents/${app.caller.agentId}/turns/${requestId}/stream`, {
        headers: { authorization: `Bearer ${app.caller.apiKey}` },
      })
    const responses = await Promise.all(Array.from({ length: followers }, follow))
    held.open()
    for (const response of responses) {
      const events = eventsOf(await response.text())
      assert.equal(shown(events), whole)
      const received = events.filter(({ event }) => event.endsWith('.delta')).length
      // The first words of the reply came before it followed.
      if (followers === 1) assert.ok(received > words.length, `${received} pieces`)
      else assert.ok(received < words.length / 2, `${received} pieces`)
    }
  }
})
