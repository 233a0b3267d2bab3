/**
 * Clients of server-sent events, unmodified: they repeat their POST with the ID of the last event that they have, after a broken connection
 * and after a stream that has ended. A turn is never generated or charged again, and a client that has everything stops.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { fetchEventSource } from '@microsoft/fetch-event-source'
import { EventSource } from 'eventsource'
import { createEventSource } from 'eventsource-client'
import fc from 'fast-check'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { cut, gate } from '../support/model-server.ts'
import { read, startTestApp } from '../support/test-app.ts'
import type { Answer, TestApp } from '../support/test-app.ts'
import { until } from '../support/until.ts'

/** How many streams are generated. Each is continued after every one of its events. */
const streams = 40

type Event = { event: string; id: string; data: any }

const eventsOf = (text: string): Event[] =>
  [...text.matchAll(/^event: (.+)\nid: (.+)\ndata: (.+)$/gm)].map(([, event, id, data]) => ({
    event: event!,
    id: id!,
    data: JSON.parse(data!),
  }))
/** The text that a client shows. */
const shown = (events: { event?: string | undefined; data: any }[]): string =>
  events.reduce((text, { event, data }) => (event!.endsWith('.reset') ? '' : event!.endsWith('.delta') ? text + data.delta : text), '')

type Sent = { key: string; user?: string; after?: string; message?: string }
/** Of a continued stream, the first event is any one, so these are not checked as whole streams are. */
const post = async (app: TestApp, { key, user = 'user-1', after, message = 'weather' }: Sent): Promise<Answer> =>
  read(
    await app.chatRequest(
      { external_user_id: user, message },
      { path: 'chat/stream', idempotencyKey: key, ...(after === undefined ? {} : { headers: { 'last-event-id': after } }) },
    ),
  )
const follow = async (app: TestApp, requestId: string, after: string): Promise<string> => {
  const headers = { authorization: `Bearer ${app.caller.apiKey}`, 'last-event-id': after }
  return (await fetch(`${app.url}/v1/agents/${app.caller.agentId}/turns/${requestId}/stream`, { headers })).text()
}

void test('stream.resume: a POST that is repeated with the ID of any event gets the rest, and nothing after the last one', async () => {
  await using app = await startTestApp({ key: { rate_limit: { limit: 100_000, window_seconds: 60 } } })
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 5 }),
      async (pieces) => {
        const [key, user] = [randomUUID(), randomUUID()]
        app.model.script(pieces.map((piece) => `a${piece}`))
        const first = eventsOf((await post(app, { key, user })).text)
        const calls = app.model.calls.length
        const requestId = first[0]!.data.request_id
        for (const [at, { id }] of first.entries()) {
          const rest = await post(app, { key, user, after: id })
          assert.equal(rest.headers.get('x-request-id'), requestId)
          if (at === first.length - 1) {
            assert.deepEqual([rest.status, rest.text, rest.headers.get('content-type')], [204, '', null])
            continue
          }
          assert.equal(rest.text, await follow(app, requestId, id), 'as the turn resource does')
          const events = eventsOf(rest.text)
          assert.equal(shown(first.slice(0, at + 1)) + shown(events), shown(first))
          assert.deepEqual(events.at(-1), first.at(-1))
        }
        assert.equal(app.model.calls.length, calls)
      },
    ),
    { numRuns: streams },
  )
  await app.verify()
})

void test('stream.resume: a POST that is repeated with an ID while the turn runs joins it, and without one it is still refused', async () => {
  await using app = await startTestApp()
  const held = gate()
  app.model.script(['It ', 'rains', held, ' in Oslo.'])
  const key = randomUUID()
  const leave = new AbortController()
  const response = await app.chatRequest(
    { external_user_id: 'user-1', message: 'weather' },
    { path: 'chat/stream', idempotencyKey: key, signal: leave.signal },
  )
  let text = ''
  const decoder = new TextDecoder()
  for await (const bytes of response.body!) {
    text += decoder.decode(bytes, { stream: true })
    if (shown(eventsOf(text)) === 'It rains') break
  }
  leave.abort()
  const before = eventsOf(text)
  assert.equal((await post(app, { key })).json.error.code, 'idempotency_in_progress')
  assert.equal((await post(app, { key, after: 'end', message: 'other' })).json.error.code, 'idempotency_conflict')
  assert.equal((await post(app, { key, after: 'of-another-service' })).json.error.code, 'idempotency_in_progress')
  const rests = before.map(({ id }) => post(app, { key, after: id }))
  held.open()
  for (const [at, rest] of (await Promise.all(rests)).entries())
    assert.equal(shown(before.slice(0, at + 1)) + shown(eventsOf(rest.text)), 'It rains in Oslo.')
  assert.equal(app.model.calls.length, 1)
  await app.verify()
})

void test('stream.resume: an ID that the client has of another message, or of another service, does not change a new message', async () => {
  await using app = await startTestApp()
  app.model.when('weather', ['It ', 'rains.'])
  const whole = eventsOf((await post(app, { key: 'key 1' })).text)
  for (const after of [...whole.map(({ id }) => id), 'end', '', '7', 'null', 'x'.repeat(200), '99999999-1']) {
    const events = eventsOf((await post(app, { key: randomUUID(), after })).text)
    assert.deepEqual(
      events.map(({ event }) => event),
      whole.map(({ event }) => event),
      after,
    )
  }
  await app.verify()
})

void test('stream.resume: a turn that failed or was cancelled ends the stream of a client that repeats its POST', async () => {
  await using app = await startTestApp()
  const held = gate()
  app.model.script([held, 'late'])
  const key = randomUUID()
  const original = post(app, { key })
  await held.reached
  const [turn] = (await app.made('GET', '/turns?status=running')).data
  const cancelled = await fetch(`${app.url}/v1/agents/${app.caller.agentId}/turns/${turn.request_id}/cancel`, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.caller.apiKey}` },
  })
  assert.equal(cancelled.status, 200)
  held.open()
  const first = eventsOf((await original).text)
  assert.deepEqual([first.at(-1)!.event, first.at(-1)!.id], ['error', 'end'])
  assert.equal((await post(app, { key })).json.error.code, 'turn_cancelled', 'without an ID, as before')
  assert.deepEqual(eventsOf((await post(app, { key, after: first[0]!.id })).text), [first.at(-1)])
  assert.equal((await post(app, { key, after: 'end' })).status, 204)
  await app.verify()
})

void test('stream.resume: a released turn that a repeated POST runs again continues its text, or starts it again', async () => {
  await using app = await startTestApp()
  for (const [again, expected] of [
    [
      ['It rains', ' in Oslo.'],
      ['response.output_text.delta', 'response.completed'],
    ],
    [['It snows.'], ['response.output_text.reset', 'response.output_text.delta', 'response.completed']],
  ] as const) {
    const key = randomUUID()
    app.model.script(['It rains', cut('rst')], [...again])
    const first = eventsOf((await post(app, { key })).text)
    assert.deepEqual([shown(first), first.at(-1)!.event], ['It rains', 'error'])
    const rest = eventsOf((await post(app, { key, after: first.at(-1)!.id })).text)
    assert.deepEqual([...new Set(rest.map(({ event }) => event))], expected)
    assert.equal(shown([...first, ...rest]), again.join(''))
  }
  await app.verify()
})

type Request = { url: string; method: 'POST'; headers: Record<string, string>; body: string }
/** One message, as each client repeats it. `port`: of a proxy. */
const requestOf = (app: TestApp, port?: number): Request => ({
  url: `${port === undefined ? app.url : `http://127.0.0.1:${port}`}/v1/agents/${app.caller.agentId}/chat/stream`,
  method: 'POST',
  headers: { authorization: `Bearer ${app.caller.apiKey}`, 'idempotency-key': randomUUID(), 'content-type': 'application/json' },
  body: JSON.stringify({ external_user_id: 'user-1', message: 'weather' }),
})

/** A reply long enough to be cut in the middle of its text. */
const pieces = Array.from({ length: 40 }, (_, n) => `piece ${n} `)
const cutAt = 2000

async function startCutApp(): Promise<{ app: TestApp; port: number; close: () => Promise<void> }> {
  const app = await startTestApp()
  app.model.when('weather', pieces)
  const proxy = await startFaultProxy(Number(new URL(app.url).port))
  void proxy.cutAfter(cutAt)
  const close = async (): Promise<void> => {
    assert.ok(proxy.accepted >= 2, 'it was cut')
    assert.equal(app.model.calls.length, 1)
    assert.equal((await app.messages()).length, 2)
    await app.verify()
    await app.close()
    await proxy.close()
  }
  return { app, port: proxy.port, close }
}

void test('openai.clients stream.resume: eventsource-client continues a POST that was cut, and stops after its end', async () => {
  const { app, port, close } = await startCutApp()
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const events: { event?: string | undefined; data: any }[] = []
  const statuses: number[] = []
  const source = createEventSource({
    ...requestOf(app, port),
    fetch: async (url, init) => {
      const response = await fetch(url, init as RequestInit)
      statuses.push(response.status)
      return response as never
    },
    onMessage: ({ event, data }) => void events.push({ event, data: JSON.parse(data) }),
    onDisconnect: () => (statuses.at(-1) === 204 ? resolve() : undefined),
  })
  await closed
  await until('the client has stopped', () => source.readyState === 'closed')
  assert.deepEqual(statuses, [200, 200, 204])
  assert.deepEqual([shown(events), events.at(-1)!.event], [pieces.join(''), 'response.completed'])
  await close()
})

void test('openai.clients stream.resume: eventsource continues a POST that was cut, and stops after its end', async () => {
  const { app, port, close } = await startCutApp()
  const { url, ...request } = requestOf(app, port)
  const events: { event?: string; data: any }[] = []
  const statuses: number[] = []
  const source = new EventSource(url, {
    fetch: async (input, init) => {
      const response = await fetch(input, {
        ...request,
        headers: { ...init.headers, ...request.headers },
        signal: init.signal as AbortSignal,
      })
      statuses.push(response.status)
      return response
    },
  })
  for (const name of ['response.created', 'response.output_text.delta', 'response.output_text.reset', 'response.completed'])
    source.addEventListener(name, ({ type, data }) => void events.push({ event: type, data: JSON.parse(data) }))
  await until('the client has stopped', () => source.readyState === EventSource.CLOSED)
  assert.deepEqual(statuses, [200, 200, 204])
  assert.deepEqual([shown(events), events.at(-1)!.event], [pieces.join(''), 'response.completed'])
  await close()
})

void test('openai.clients stream.resume: fetch-event-source continues a POST that was cut, and ends', async () => {
  const { app, port, close } = await startCutApp()
  const { url, ...request } = requestOf(app, port)
  const events: { event?: string; data: any }[] = []
  // The package is for browsers: it uses their window, and their document to unsubscribe from its visibility.
  const browser = { window: globalThis, document: { removeEventListener: () => undefined } }
  Object.assign(globalThis, browser)
  await fetchEventSource(url, {
    ...request,
    openWhenHidden: true,
    onmessage: ({ event, data }) => void (event !== '' && events.push({ event, data: JSON.parse(data) })),
    onerror: () => 10,
  })
  for (const name of Object.keys(browser)) Reflect.deleteProperty(globalThis, name)
  assert.deepEqual([shown(events), events.at(-1)!.event], [pieces.join(''), 'response.completed'])
  await close()
})
