/**
 * `operator.ends-streams`: what happens to a response in each of its states when its caller loses the access, over real connections, and how
 * long a store that does not answer is waited for.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import fastify from 'fastify'
import { adminTokenPrincipal, permissionsOf } from '../../src/operators/principal.ts'
import type { Principal } from '../../src/operators/principal.ts'
import { createAccessWatch } from '../../src/http/admin/access-watch.ts'
import type { AccessWatch, AccessWatchTimes } from '../../src/http/admin/access-watch.ts'
import { until } from '../support/until.ts'

const needs = { needs: ['conversations'] } as const
const viewer: Principal = { ...adminTokenPrincipal, role: 'viewer', permissions: permissionsOf('viewer', []) }

async function start(t: TestContext, times: AccessWatchTimes = { intervalMs: 5, maxUnknownMs: 60_000 }) {
  const known = new Map<string, Principal>()
  const reads: string[][] = []
  let answers = async (): Promise<Map<string, Principal>> => new Map(known)
  const app = fastify()
  const watch: AccessWatch = createAccessWatch(
    {
      findPrincipalsOfSessions: async () => new Map(),
      findPrincipalsOfTokens: (texts) => {
        reads.push(texts)
        return answers().then((found) => new Map([...found].map(([text, principal]) => [text, { principal, recordUse: undefined }])))
      },
    },
    () => performance.now(),
    times,
  )
  const stored: unknown[] = []
  let arrived = 0
  const goOn = Promise.withResolvers<void>()
  app.addHook('onRequest', async (request, reply) => {
    arrived++
    const text = String(request.headers['x-token'])
    const principal = known.get(text)!
    request.access = watch.add({ request, reply, credential: { kind: 'token', text }, principal, route: needs })
  })
  async function* forever(): AsyncGenerator<string> {
    for (let line = 0; ; line++) {
      yield `line ${line}\n`
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  app.get('/export', async (_request, reply) => reply.type('text/csv').send(Readable.from(forever())))
  app.get('/report', async () => {
    await goOn.promise
    return { secret: 'late' }
  })
  app.post('/write', async ({ body }) => {
    await goOn.promise
    stored.push(body)
    return { stored: true }
  })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  t.after(() => {
    goOn.resolve()
    app.server.closeAllConnections()
    return app.close()
  })
  return {
    known,
    reads,
    stored,
    arrived: () => arrived,
    goOn: () => goOn.resolve(),
    answer: (next: typeof answers) => (answers = next),
    ask(token: string, method: string, path: string, headers: Record<string, string> = {}): ClientRequest {
      return httpRequest(`${url}${path}`, { method, agent: false, headers: { 'x-token': token, ...headers } })
    },
  }
}

async function read(asked: ClientRequest): Promise<{ status: number; text: string; isWhole: boolean }> {
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  let text = ''
  answer.setEncoding('utf8').on('data', (piece: string) => (text += piece))
  await new Promise<void>((resolve) => answer.once('close', resolve).on('error', () => undefined))
  return { status: answer.statusCode!, text, isWhole: answer.complete }
}

/** Fails the test, instead of waiting for its timeout, if the response does not end. */
async function ending<Answer>(what: string, answer: Promise<Answer>): Promise<Answer> {
  let isOver = false
  void answer.finally(() => (isOver = true)).catch(() => undefined)
  await until(`${what} ends`, () => isOver)
  return answer
}

for (const [what, lose] of [
  ['a token that is gone', (known: Map<string, Principal>) => known.delete('a')],
  ['a token that may do less', (known: Map<string, Principal>) => known.set('a', viewer)],
  [
    'a token for another owner',
    (known: Map<string, Principal>) => known.set('a', { ...adminTokenPrincipal, scope: { ownerId: 'own_1', agentId: null } }),
  ],
] as const)
  void test(`operator.ends-streams: ${what}: a download is cut, a report and an unfinished request get an error, and a write is answered`, async (t) => {
    const { known, stored, goOn, ask, arrived } = await start(t)
    known.set('a', adminTokenPrincipal).set('b', adminTokenPrincipal)
    const download = ask('a', 'GET', '/export').end()
    const downloaded = read(download)
    const kept = ask('b', 'GET', '/export').end()
    const keptBody = read(kept)
    await Promise.all([once(download, 'response'), once(kept, 'response')])
    const report = read(ask('a', 'GET', '/report').end())
    const write = read(ask('a', 'POST', '/write', { 'content-type': 'application/json' }).end('{"n":1}'))
    const unfinished = ask('a', 'POST', '/write', { 'content-type': 'application/json', 'content-length': '100' })
    unfinished.write('{"n":')
    const refused = read(unfinished.on('error', () => undefined))
    await until('all have arrived', () => arrived() === 5)
    lose(known)
    const expected = what.includes('less') ? 403 : 401
    const cut = await ending('the download', downloaded)
    assert.deepEqual([cut.status, cut.isWhole], [200, false])
    const { status, text } = await ending('the report', report)
    assert.equal(status, expected)
    assert.ok(!text.includes('late'))
    assert.equal((await ending('the unfinished request', refused)).status, expected)
    goOn()
    assert.deepEqual(await write, { status: 200, text: '{"stored":true}', isWhole: true })
    assert.deepEqual(stored, [{ n: 1 }])
    kept.destroy()
    assert.equal((await keptBody).isWhole, false)
  })

void test('operator.ends-streams: one read asks for all open responses, each token once, and none while nothing is open', async (t) => {
  const { known, reads, ask } = await start(t)
  for (const token of ['a', 'b']) known.set(token, adminTokenPrincipal)
  const open = ['a', 'b', 'a', 'a'].map((token) =>
    ask(token, 'GET', '/export')
      .on('error', () => undefined)
      .end(),
  )
  await Promise.all(open.map((one) => once(one, 'response')))
  await until('a read of both', () => reads.at(-1)?.length === 2)
  assert.deepEqual(reads.at(-1)!.toSorted(), ['a', 'b'])
  for (const one of open) one.destroy()
  let before = -1
  await until('no more reads', async () => {
    const isSame = before === reads.length
    before = reads.length
    // Several times the interval.
    await new Promise((resolve) => setTimeout(resolve, 100))
    return isSame
  })
})

for (const [what, answer] of [
  ['fails', () => Promise.reject(new Error('no connection'))],
  ['does not answer', () => new Promise<never>(() => undefined)],
] as const)
  void test(`operator.ends-streams: a store that ${what} ends the responses after a bounded time`, async (t) => {
    const watched = await start(t, { intervalMs: 5, maxUnknownMs: 100 })
    watched.known.set('a', adminTokenPrincipal)
    const report = read(watched.ask('a', 'GET', '/report').end())
    await until('a read', () => watched.reads.length > 0)
    watched.answer(answer)
    const { status, text } = await ending('the report', report)
    assert.equal(status, 503)
    assert.match(text, /could not be confirmed/)
  })
