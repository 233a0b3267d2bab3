/**
 * A response is continued at a process that learns of another attempt of its turn only after the request: with real follower code, and messages
 * and a store that the test controls.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import type { TurnStatus } from '../../src/store/queries/turn-status.ts'
import { followTurns } from '../../src/turn/followed-turns.ts'
import type { FollowedTurnsOptions } from '../../src/turn/followed-turns.ts'
import { LiveTurn } from '../../src/turn/live-turn.ts'
import { createTurnResource } from '../../src/turn/turn-resource.ts'
import { createStoreWarnings } from '../../src/turn/store-warnings.ts'
import { dataOf } from '../support/openai-caller.ts'
import type { Json } from '../support/test-app.ts'
import { startTestLayer, storedReply } from '../support/test-http-layer.ts'
import { until } from '../support/until.ts'

const requestId = '01890000-0000-7000-8000-000000000001'
// "The", " first", " answer" and what follows have the numbers 4, 5, 6, …
const first = 'The first answer is long. '
const second = 'The second answer is another one. '
const firstOfSecond = 65_536

/** One process, which does not run the turn. */
async function startFollower() {
  const status: TurnStatus = {
    requestId,
    conversationId: 'conv_1',
    externalUserId: 'u',
    state: 'running',
    fence: 1,
    createdAt: 1_700_000_000_000,
    endedAt: null,
    reply: null,
    usage: null,
    failureCode: null,
    cancelRequested: false,
  }
  let receive: (text: string) => void = () => undefined
  let ended: TurnStatus[] = []
  const store = {
    read: { findTurnStatus: async () => ({ ...status }), listEnded: async () => ended },
    messages: { onMessage: (listener: typeof receive) => (receive = listener), send: async () => undefined },
  } as unknown as FollowedTurnsOptions['store'] & Parameters<typeof createTurnResource>[0]['store']
  const log = pino({ level: 'silent' })
  const live = new Map<string, LiveTurn>()
  const followed = followTurns({ store, live, log, warnings: createStoreWarnings(log) })
  const layer = await startTestLayer({ resource: createTurnResource({ store, live, followed }) })
  const send = (message: Json): void => receive(JSON.stringify({ turn: requestId, ...message }))
  return {
    status,
    live,
    say: (fence: number, text: string, offset = 0) => send({ kind: 'text', fence, offset, text }),
    complete(fence: number, content: string) {
      ended = [{ ...status, state: 'completed', fence, reply: storedReply(content, requestId) }]
      send({ kind: 'ended' })
    },
    /** Resolves when the stream has started, so that what follows comes after its request. */
    async open(after?: number) {
      const query = after === undefined ? '' : `&starting_after=${after}`
      const url = `${layer.url}/v1/responses/resp_${requestId.replaceAll('-', '')}?stream=true${query}`
      const response = await fetch(url, { headers: { authorization: 'Bearer good' } })
      let text = ''
      const read = (async () => {
        for await (const bytes of response.body!) text += Buffer.from(bytes).toString()
        return dataOf(text)
      })()
      return {
        status: response.status,
        events: read,
        until: (wanted: string) => until(`the stream has ${wanted}`, () => text.includes(wanted)),
      }
    },
    async [Symbol.asyncDispose]() {
      followed.stop()
      await layer.close()
    },
  }
}

const deltasOf = (events: Json[]): string => events.map(({ delta }) => (delta as string | undefined) ?? '').join('')
const shown = (events: Json[]): unknown[] => events.map(({ type, code, delta }) => [type, code ?? delta])
const isRegenerated = [['error', 'response_regenerated']]

void test('openai.resume: a client with text of one attempt gets no text of another one that starts after its request', async () => {
  await using follower = await startFollower()
  const { events } = await follower.open(6)
  follower.say(2, second)
  follower.complete(2, second)
  assert.deepEqual(shown(await events), isRegenerated)
})

void test('openai.resume: a client with text of one attempt gets no text of another one of which only the end arrives', async () => {
  await using follower = await startFollower()
  const { events } = await follower.open(6)
  follower.complete(2, second)
  assert.deepEqual(shown(await events), isRegenerated)
})

void test('openai.resume: a client with text of one attempt gets no text of another one that starts with the same word', async () => {
  await using follower = await startFollower()
  const { events } = await follower.open(5)
  follower.say(1, 'The ')
  follower.say(2, second)
  follower.complete(2, second)
  assert.deepEqual(shown(await events), isRegenerated)
})

void test('openai.resume: a client without text gets that of the new attempt, and the text of its own attempt continues', async () => {
  for (const [after, fence, text] of [
    [undefined, 2, second],
    [3, 2, second],
    [3, 1, first],
  ] as const) {
    await using follower = await startFollower()
    const { events } = await follower.open(after)
    follower.say(fence, text)
    follower.complete(fence, text)
    const read = await events
    assert.deepEqual([deltasOf(read), read.at(-1)!['type']], [text, 'response.completed'])
  }
  await using follower = await startFollower()
  const { events } = await follower.open(5)
  follower.say(1, first)
  follower.complete(1, first)
  assert.equal(deltasOf(await events), ' answer is long. ')
})

void test('openai.resume: the numbers of an attempt have its text, also where an earlier attempt of it is followed or has not ended yet', async () => {
  for (const isLive of [false, true]) {
    await using follower = await startFollower()
    // The process has text of the first attempt, which another process has taken over.
    let earlier: Awaited<ReturnType<typeof follower.open>> | undefined
    if (isLive) {
      const admitted = { requestId, conversationId: 'conv_1', fence: 1, journal: [], attempt: 1, run: 1 }
      const turn = new LiveTurn(admitted as unknown as LiveTurn['admitted'], { turnMs: 60_000, answerMs: 60_000 })
      turn.deliver(first)
      follower.live.set(requestId, turn)
    } else {
      earlier = await follower.open()
      follower.say(1, first)
      await earlier.until('" answer"')
    }
    follower.status.fence = 2
    const { events } = await follower.open()
    follower.say(2, second)
    follower.complete(2, second)
    follower.live.get(requestId)?.finish({ kind: 'failed', code: 'service_unavailable', state: null })
    const read = await events
    assert.deepEqual([deltasOf(read), read[4]!['sequence_number']], [second, firstOfSecond + 4])
    if (earlier) assert.equal((await earlier.events).at(-1)!['code'], 'response_regenerated')
  }
})
