/**
 * One owner that uses everything up to its limits, from the start of a run to its end: bodies of many small values, sent at once, slowly or
 * never to their end, many followers of a turn, lists, uploads, wrong keys, and turns of its own. Its turns are calls like those of all
 * others. Each other request is recorded with how it was answered. It makes no request again, and judges no response.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as pass } from 'node:timers/promises'
import type { History, UnfairRequest } from '../history.ts'
import type { Random } from '../random.ts'
import type { Target, Turn } from './about-turn.ts'
import { createAccessCalls } from './access-calls.ts'
import type { Asking } from './ask.ts'
import { keptAlive } from './ask.ts'
import type { Book } from './caller.ts'
import type { Testbed } from './operator.ts'
import { send } from './send.ts'
import type { Outgoing } from './send.ts'

export type UnfairOptions = {
  target: Target
  history: History
  testbed: Testbed
  asking: Asking
  random: Random
  book: Book
  stopped: AbortSignal
}
/** `access`: the request that creates its token. */
export type UnfairCounts = { unfair: number; access: number }

// The kind of body that costs the most for its size. The benchmark `fairness` sends larger ones and more of them; here they must leave the
// machine to the others.
const manyNames: object = Object.fromEntries(Array.from({ length: 20_000 }, (_, place) => [`n${place}`, 0]))
const documentElements = 10_000
const longCharacters = 200_000
const boundary = 'unfair'
const document =
  `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="page.html"\r\ncontent-type: text/html\r\n\r\n` +
  `<title>Unfair</title>unfair ${'<div>'.repeat(documentElements)}\r\n--${boundary}--\r\n`
/** What follows: a reply in this many pieces, this many milliseconds apart. */
const followedText = 'lingering 8 400'
const patienceMs: [number, number] = [8_000, 20_000]
// The caller of an unfinished body leaves after this time.
const unfinishedMs = 3_000
const restMs: [number, number] = [200, 1_500]

type Request = Pick<Outgoing, 'method' | 'body' | 'sends'> & { path: string; headers: Record<string, string>; patienceMs?: number }

export async function beUnfair(options: UnfairOptions, counts: UnfairCounts): Promise<void> {
  const { target, history, testbed, random, stopped } = options
  const [key, turnsKey] = [testbed.key('unfair'), testbed.key('unfair-turns')]
  const agent = `/v1/agents/${key.agentId}`
  const json = { 'content-type': 'application/json' }
  const bearer = { authorization: `Bearer ${key.text}` }
  const calls = createAccessCalls({ target, history, counts })
  const bodies = {
    chat: JSON.stringify({ external_user_id: 'unfair', message: 'hello', ...manyNames }),
    feedback: JSON.stringify({ rating: 'up', ...manyNames }),
    response: JSON.stringify({ model: key.agentId, input: 'hello', metadata: manyNames }),
    completion: JSON.stringify({ model: key.agentId, messages: [{ role: 'user', content: 'hello' }], metadata: manyNames }),
    mcp: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: manyNames } }),
    // Refused only when all of it has arrived, on every path.
    long: JSON.stringify({ external_user_id: 'unfair', message: 'l'.repeat(longCharacters) }),
  }
  const mcpHeaders = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-06-18' }
  const post = (path: string, body: string, headers: Record<string, string> = {}): Request => ({
    path,
    body,
    headers: { ...json, ...bearer, 'idempotency-key': randomUUID(), ...headers },
  })
  const withBody = {
    'chat of many names': () => post(`${agent}/chat`, bodies.chat),
    'stream of many names': () => post(`${agent}/chat/stream`, bodies.chat),
    'feedback of many names': () => post(`${agent}/turns/${randomUUID()}/feedback`, bodies.feedback),
    'response of many names': () => post('/v1/responses', bodies.response),
    'completion of many names': () => post('/v1/chat/completions', bodies.completion),
    'MCP message of many names': () => post('/mcp', bodies.mcp, mcpHeaders),
  } satisfies Partial<Record<UnfairRequest, () => Request>>

  async function ask(what: UnfairRequest, request: Request, draw: Random): Promise<number | null> {
    counts.unfair++
    const supervised = draw.int(0, target.urls.length - 1)
    const startedAt = history.now()
    const { path, ...rest } = request
    const came = await send({
      patienceMs: draw.int(...patienceMs),
      ...rest,
      url: `${target.urls[supervised]}${path}`,
      connections: undefined,
      now: history.now,
    })
    const { status, end, error } = came
    history.write({ kind: 'unfair', at: history.now(), startedAt, supervised, what, status, end, ...(error !== undefined && { error }) })
    return status
  }

  const atOnce = (many: number, draw: Random, one: (draw: Random, n: number) => Promise<unknown>): Promise<unknown> =>
    Promise.all(Array.from({ length: many }, (_, n) => one(draw.fork(`${n}`), n)))

  const anyBody = (draw: Random): Request => draw.pick(Object.values(withBody))()
  const longBody = (draw: Random): Request => ({ ...anyBody(draw), body: bodies.long })
  let token: Record<string, string> | undefined

  async function upload(draw: Random): Promise<void> {
    token ??= await createToken(calls, draw)
    if (!token) return
    const headers = { ...token, 'content-type': `multipart/form-data; boundary=${boundary}` }
    await ask('document of many elements', { path: `/admin/v1/agents/${key.agentId}/documents`, body: document, headers }, draw)
  }

  const acts: { share: number; act(draw: Random): Promise<unknown> }[] = [
    ...Object.entries(withBody).map(([what, request]) => ({
      share: 3,
      act: (draw: Random) => atOnce(draw.int(1, 3), draw, (own) => ask(what as UnfairRequest, request(), own)),
    })),
    { share: 2, act: (draw) => atOnce(6, draw, (own) => ask('slow body', { ...longBody(own), sends: 'slowly' }, own)) },
    {
      share: 1,
      act: (draw) =>
        atOnce(20, draw, (own) => ask('unfinished body', { ...longBody(own), sends: 'unfinished', patienceMs: unfinishedMs }, own)),
    },
    { share: 2, act: (draw) => atOnce(8, draw, (own) => ask('list', { ...listOf(agent), headers: bearer }, own)) },
    { share: 1, act: upload },
    {
      share: 2,
      act: (draw) =>
        atOnce(20, draw, (own) => ask('wrong key', { ...anyBody(own), headers: { ...json, authorization: `Bearer ${key.text}x` } }, own)),
    },
  ]
  const deck = acts.flatMap(({ share, act }) => Array.from({ length: share }, () => act))
  await Promise.all([
    untilStopped(stopped, random.fork('requests'), (draw) => draw.pick(deck)(draw)),
    // Not one after the other with the requests: a turn may have to wait for a process to start again.
    untilStopped(stopped, random.fork('turns'), followTurns(options, turnsKey, ask)),
  ])
}

async function untilStopped(stopped: AbortSignal, random: Random, act: (draw: Random, count: number) => Promise<unknown>): Promise<void> {
  for (let count = 0; !stopped.aborted; count++) {
    const draw = random.fork(`act ${count}`)
    await act(draw, count)
    await pass(draw.int(...restMs), undefined, { signal: stopped }).catch(() => undefined)
  }
}

const listOf = (agent: string): Pick<Request, 'method' | 'path'> => ({ method: 'GET', path: `${agent}/conversations?limit=100` })

/** Undefined if it was not acknowledged. */
async function createToken(calls: ReturnType<typeof createAccessCalls>, draw: Random): Promise<Record<string, string> | undefined> {
  const name = `unfair ${draw.int(0, 1e9)}`
  const { result, said } = await calls.ask(
    {
      what: 'create-token',
      by: calls.installation,
      method: 'POST',
      path: '/tokens',
      body: { name, role: 'editor' },
      about: { token: name },
    },
    draw,
  )
  return result === 'acknowledged' ? { authorization: `Bearer ${String(said['token'])}` } : undefined
}

/** Several turns at once, each with many who follow it to its end. */
function followTurns(
  { asking, book, testbed }: UnfairOptions,
  key: Turn['key'],
  ask: (what: UnfairRequest, request: Request, draw: Random) => Promise<unknown>,
): (draw: Random, count: number) => Promise<unknown> {
  const connections = keptAlive()
  const { canary } = testbed.tenantOf(key)
  const [turns, followers] = [2, 20]
  return (draw, count) =>
    Promise.all(
      Array.from({ length: turns }, async (_, n) => {
        const own = draw.fork(`turn ${n}`)
        const name = `unfair-${count}-${n}`
        const turn = { key, user: name, idempotencyKey: `k-${name}`, message: `${name} ${canary} ${followedText} | harbour opening hours` }
        const entry: Book['turns'][number] = { turn, outcome: 'open' }
        book.turns.push(entry)
        const came = await asking.once(turn, { transport: 'chat', prefersAsync: true }, own, connections)
        const path = `/v1/agents/${key.agentId}/turns/${came.headers['x-request-id']}/stream`
        const headers = { authorization: `Bearer ${key.text}` }
        if (came.status === 202)
          await Promise.all(
            Array.from({ length: followers }, (__, nth) => ask('follow', { method: 'GET', path, headers }, own.fork(`follower ${nth}`))),
          )
        entry.outcome = await asking.resolve(turn, { transport: 'chat' }, own.fork('tries'), connections)
      }),
    )
}
