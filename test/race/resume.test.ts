/**
 * Three processes on one database: a stream is cut after a delta, and continued through another process with its last event ID, while
 * processes are killed. An independent parser reads the events. What a client shows in the end is the stored reply, in every run. `RESUMES=n`
 * sets the number of runs.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { createParser } from 'eventsource-parser'
import { Fleet, noFleet } from '../support/fleet.ts'
import { until } from '../support/until.ts'
import { gate } from '../support/model-server.ts'
import type { ModelServer, Part } from '../support/model-server.ts'

const skip = noFleet()
const deltas = 200
const thirdAttempts = `select 1 from turns where state = 'running' and (attempt = 3 or attempt = 2 and lease_until < now_ms() + 2000)`

/** 200 deltas in about a second. Messages with "differs" get another text from each call, so that a recovered turn starts over. */
function speakInDeltas(model: ModelServer): void {
  const calls = new Map<string, number>()
  model.when(/./, ({ lastUserMessage }) => {
    const call = (calls.get(lastUserMessage) ?? 0) + 1
    calls.set(lastUserMessage, call)
    const word = lastUserMessage.includes('differs') ? `w${call}` : 'w'
    const parts: Part[] = []
    for (let n = 0; n < deltas; n++) {
      if (n % 20 === 0) {
        const held = gate()
        setTimeout(() => held.open(), n * 5)
        parts.push(held)
      }
      parts.push(`${word}.${n} 😀 `)
    }
    return parts
  })
}

/** What a client shows, and how it got there. */
type Shown = { text: string; id: string | undefined; requestId: string | undefined; resets: number; resumes: number; places: Set<number> }
type Ended = { content: string } | { code: string } | undefined

/**
 * Reads a stream until it ends, breaks, or `cutAfter` more deltas have arrived. Undefined: it broke. The parser is not ours, and checks every
 * line.
 */
async function readStream(
  response: Response,
  shown: Shown,
  { cutAfter, isResumed }: { cutAfter: number; isResumed: boolean },
  abort: AbortController,
): Promise<Ended> {
  let ended: Ended
  let count = 0
  const parser = createParser({
    onEvent({ event, id, data }) {
      // A client that has cut its connection sees no more of it.
      if (abort.signal.aborted) return
      assert.ok(id !== undefined, `${event} without an ID`)
      // After an error, a client continues where its text ends.
      if (event !== 'error') shown.id = id
      const value = JSON.parse(data)
      switch (event) {
        case 'response.created':
          assert.ok(!isResumed, 'a resumed stream is not created again')
          shown.requestId ??= value.request_id
          assert.equal(value.request_id, shown.requestId)
          shown.text = ''
          return
        case 'response.output_text.reset':
          shown.text = ''
          shown.resets++
          return
        case 'response.output_text.delta':
          shown.text += value.delta
          if (++count >= cutAfter) abort.abort()
          return
        case 'response.completed':
          ended = { content: value.message.content }
          return
        case 'error':
          ended = { code: value.code }
          return
        default:
          assert.fail(`an unknown event ${event}`)
      }
    },
    onError: (error) => assert.fail(error),
  })
  const decoder = new TextDecoder()
  try {
    for await (const bytes of response.body!) parser.feed(decoder.decode(bytes, { stream: true }))
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error
  }
  return ended
}

/** One message, cut at `cutAfter` deltas, until its last event. `over`: another one has failed. */
async function follow(fleet: Fleet, n: number, cutAfter: number, over: AbortSignal): Promise<Shown> {
  const user = `user ${n}`
  const message = `${n} ${n % 3 === 0 ? 'differs' : 'is the same'}`
  const idempotencyKey = randomUUID()
  const shown: Shown = { text: '', id: undefined, requestId: undefined, resets: 0, resumes: 0, places: new Set() }
  let cut = cutAfter
  let sent = 0
  let met = 'nothing'
  let errors = 0
  let last: number | undefined
  for (const limit = performance.now() + 180_000; ;) {
    over.throwIfAborted()
    assert.ok(performance.now() < limit, `${message}: ${shown.requestId} has no end in time, after ${met}`)
    const others = fleet.alive.filter((one) => one !== last)
    const place = others[Math.floor(Math.random() * others.length)]
    if (place === undefined) {
      await pass(50)
      continue
    }
    const abort = new AbortController()
    const client = fleet.client(place)
    const headers = { authorization: `Bearer ${fleet.caller.apiKey}`, ...(shown.id === undefined ? {} : { 'last-event-id': shown.id }) }
    // A turn that was released runs again only with its key.
    const requestId = errors > 1 ? undefined : shown.requestId
    if (requestId === undefined) sent++
    const sending =
      requestId === undefined
        ? client.chatRequest({ external_user_id: user, message }, { idempotencyKey, path: 'chat/stream', signal: abort.signal })
        : fetch(`${client.url}/v1/agents/${fleet.caller.agentId}/turns/${requestId}/stream`, { headers, signal: abort.signal })
    const response = await sending.catch(() => undefined)
    met = `${response?.status ?? 'no response'}`
    if (!response?.ok) {
      // Not reachable, or the message is still in progress after its first stream broke before its first event.
      await response?.body?.cancel()
      errors = 0
      await pass(100)
      continue
    }
    shown.places.add(place)
    last = place
    if (requestId !== undefined) shown.resumes++
    const ended = await readStream(response, shown, { cutAfter: cut, isResumed: requestId !== undefined }, abort)
    if (ended && 'content' in ended) {
      // The first connection broke before its first event, and the turn had ended when its key was sent again: a replay has no deltas.
      if (requestId === undefined && sent > 1 && shown.text === '') shown.text = ended.content
      assert.equal(shown.text, ended.content, `${message}: what is shown is the reply`)
      return shown
    }
    if (ended) assert.equal(ended.code, 'service_unavailable', message)
    errors = ended && errors < 2 ? errors + 1 : 0
    met = ended?.code ?? 'a broken stream'
    cut = Number.POSITIVE_INFINITY
  }
}

/** Kills a process and starts it again, when all are running and no turn has its last attempt. */
async function killOne(fleet: Fleet, over: AbortSignal): Promise<void> {
  await until('three processes and no last attempt', async () => {
    return over.aborted || (fleet.alive.length === 3 && (await fleet.rows(thirdAttempts)).length === 0)
  })
  if (over.aborted) return
  const victim = fleet.alive[Math.floor(Math.random() * fleet.alive.length)]!
  await fleet.kill(victim)
  figures.kills++
  await fleet.start(victim)
}

const runs = Number(process.env['RESUMES'] ?? (process.env['TEST_TIER'] === 'deep' ? 2000 : 40))
// A kill ends the streams of a third of them, so a tenth of all streams and more.
const atOnce = 100
const streamsPerKill = Math.min(100, Math.ceil(runs / 4))
// Every part ends within the time that a test may take, and has its own processes.
const runsOfPart = 1000
/** Of all parts. */
const figures = { streams: 0, resumes: 0, 'through several processes': 0, kills: 0, 'turns recovered': 0, resets: 0 }

for (let first = 0; first < runs; first += runsOfPart)
  void test(
    `fault.stream-resumed stream.resume: cut at every delta, continued through other processes, with kills in between: the text is the reply, from ${first}`,
    { skip },
    async (t) => {
      const fleet = await Fleet.begin(t, { count: 3 })
      speakInDeltas(fleet.model)
      const key = await fleet.client().made('POST', `/agents/${fleet.caller.agentId}/keys`, {
        permission: 'full',
        rate_limit: { limit: 1_000_000, window_seconds: 60 },
      })
      fleet.caller = { ...fleet.caller, apiKey: key['api_key'] }
      const over = new AbortController()
      let killing = Promise.resolve()
      const done: Shown[] = []
      const end = Math.min(runs, first + runsOfPart)
      let next = first
      const worker = async (): Promise<void> => {
        for (let n = next++; n < end; n = next++) {
          done.push(await follow(fleet, n, 1 + (n % deltas), over.signal))
          if (done.length % streamsPerKill === 0) killing = killing.then(() => killOne(fleet, over.signal))
        }
      }
      try {
        await Promise.all(Array.from({ length: Math.min(atOnce, runs) }, worker))
      } finally {
        over.abort()
      }
      await killing
      await until('all three processes', () => fleet.alive.length === 3)
      assert.equal(new Set(done.map(({ requestId }) => requestId)).size, end - first)
      const stored = await fleet.rows(
        `select m.request_id, m.content, t.attempt from messages m join turns t on t.request_id = m.request_id where m.role = 'assistant'`,
      )
      const contentOf = new Map(stored.map(({ request_id: id, content }) => [id, content]))
      for (const { requestId, text } of done) assert.equal(text, contentOf.get(requestId!))
      const sum = (of: (one: Shown) => number): number => done.reduce((total, one) => total + of(one), 0)
      const resumes = sum((one) => one.resumes)
      figures.streams += done.length
      figures.resumes += resumes
      figures['through several processes'] += done.filter(({ places }) => places.size > 1).length
      for (const { cause_kind: kind, count } of await fleet.rows('select cause_kind, count(*) from turn_errors group by cause_kind'))
        t.diagnostic(`${count} runs ended as ${kind}`)
      figures['turns recovered'] += stored.filter(({ attempt }) => Number(attempt) > 1).length
      figures.resets += sum(({ resets }) => resets)
      t.diagnostic(
        `so far: ${Object.entries(figures)
          .map(([name, count]) => `${count} ${name}`)
          .join(', ')}`,
      )
      assert.ok(resumes >= (end - first) * 0.9)
      await fleet.verify()
    },
  )
