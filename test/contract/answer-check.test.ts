/**
 * Tests the response check that runs in every other test: a server whose response differs from the description makes `fetch` reject, one
 * test per kind of difference, and a response as described passes.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { chatEvents, chatResponse, conversation } from '../../src/http/public/examples.ts'
import { exampleId } from '../../src/http/public/answers.ts'
import { describeBoth } from '../support/answer-check-descriptions.ts'
import { fetchUnheld, holdFetch } from '../support/answer-check-fetch.ts'
import { sumUp } from '../support/answer-check-summary.ts'
import { AnswerCheck, operationNames } from '../support/answer-check.ts'
import type { SeenAnswer } from '../support/answer-check.ts'
import { adminToken, startTestApp } from '../support/test-app.ts'
import type { Json } from '../support/test-app.ts'

type Said = { status: number; headers: Record<string, string | string[]>; body: string }

const json = { 'content-type': 'application/json; charset=utf-8', 'x-request-id': exampleId }
const rate = { 'x-ratelimit-limit': '120', 'x-ratelimit-remaining': '119', 'x-ratelimit-reset': '1900000000' }
const failed = (code: string, message = 'm'): string => JSON.stringify({ error: { code, message, request_id: exampleId } })
const reply: Said = { status: 200, headers: { ...json, ...rate }, body: JSON.stringify(chatResponse) }
const busy: Said = { status: 409, headers: { ...json, 'retry-after': '2' }, body: failed('conversation_busy') }
const listed: Said = {
  status: 200,
  headers: { ...json, ...rate },
  body: JSON.stringify({ data: [conversation], next_cursor: null }),
}
const stream: Said = { status: 200, headers: { 'content-type': 'text/event-stream', 'x-request-id': exampleId }, body: '' }
const unknown: Said = { status: 404, headers: json, body: failed('not_found') }

let said = reply
const server = createServer((_request, response) => response.writeHead(said.status, said.headers).end(said.body)).listen(0, '127.0.0.1')
await once(server, 'listening')
after(() => server.close())
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const descriptions = await describeBoth()
const check = new AnswerCheck(descriptions)

function hold(answer: SeenAnswer): void {
  const problems = check.problems(answer)
  if (problems.length > 0) throw new Error(problems.join('; '))
}
const held = holdFetch(fetchUnheld, async () => ({ hold, isHeld: () => true }))

const chat = 'POST /v1/agents/agt_x/chat'
async function ask(what: string, answer: Said): Promise<Response> {
  said = answer
  const [method = '', path = ''] = what.split(' ')
  return held(`${url}${path}`, { method })
}

const { usage: _, ...withoutUsage } = chatResponse
const without = (answer: Said, name: string): Said => ({
  ...answer,
  headers: Object.fromEntries(Object.entries(answer.headers).filter(([each]) => each !== name)),
})
const also = (answer: Said, headers: Said['headers']): Said => ({ ...answer, headers: { ...answer.headers, ...headers } })
const saying = (answer: Said, value: unknown): Said => ({ ...answer, body: JSON.stringify(value) })

const wrong: [title: string, what: string, answer: Said, words: RegExp][] = [
  ['a status that is not described', chat, { ...reply, status: 206 }, /status 206 is not described/],
  ['a code under another status', chat, { ...busy, body: failed('not_found') }, /conversation_busy|not_found/],
  ['a content type that is not described', chat, also(reply, { 'content-type': 'text/html' }), /content type text\/html/],
  ['no content type', chat, without(reply, 'content-type'), /content type undefined/],
  ['not JSON', chat, { ...reply, body: '{' }, /no JSON/],
  ['a field that is missing', chat, saying(reply, withoutUsage), /usage/],
  ['a field that is not described', chat, saying(reply, { ...chatResponse, cost: 1 }), /cost/],
  [
    'a field that is not described, further within',
    chat,
    saying(reply, { ...chatResponse, usage: { ...chatResponse.usage, cached: 1 } }),
    /cached/,
  ],
  ['another type', chat, saying(reply, { ...chatResponse, usage: { ...chatResponse.usage, total_tokens: '430' } }), /total_tokens/],
  [
    'an amount in another form',
    chat,
    saying(reply, { ...chatResponse, usage: { ...chatResponse.usage, charged_usd: '0.1' } }),
    /charged_usd/,
  ],
  [
    'a time without milliseconds',
    chat,
    saying(reply, { ...chatResponse, message: { ...chatResponse.message, created_at: '2026-11-21T14:11:58Z' } }),
    /created_at/,
  ],
  ['a request_id that is not a UUID', chat, also(saying(reply, { ...chatResponse, request_id: 'r' }), { 'x-request-id': 'r' }), /uuid/],
  [
    'an X-Request-ID of another request',
    chat,
    saying(reply, { ...chatResponse, request_id: exampleId.replace('0', '1') }),
    /X-Request-ID is .*, and request_id/,
  ],
  ['no X-Request-ID', chat, without(reply, 'x-request-id'), /X-Request-ID is null/],
  ['no X-RateLimit-Reset on a 200', chat, without(reply, 'x-ratelimit-reset'), /X-RateLimit-Reset is missing/],
  ['X-RateLimit-Limit that is not a number', chat, also(reply, { 'x-ratelimit-limit': 'many' }), /number|integer/],
  ['X-RateLimit-Limit on a 409', chat, also(busy, rate), /X-RateLimit-Limit is not described here/],
  ['X-RateLimit-Limit on an event stream', `${chat}/stream`, also(stream, rate), /X-RateLimit-Limit is not described here/],
  ['JSON where a stream is described', `${chat}/stream`, reply, /content type application\/json/],
  ['no Retry-After of conversation_busy', chat, without(busy, 'retry-after'), /Retry-After is missing/],
  ['a Retry-After that differs from the table', chat, also(busy, { 'retry-after': '3' }), /Retry-After of conversation_busy is 3/],
  ['Retry-After of a code that has none', chat, { ...busy, body: failed('idempotency_conflict') }, /Retry-After is not described here/],
  ['Retry-After on a 200', chat, also(reply, { 'retry-after': '2' }), /Retry-After is not described here/],
  ['401 without WWW-Authenticate', chat, { status: 401, headers: json, body: failed('invalid_api_key') }, /WWW-Authenticate is missing/],
  [
    'an item of a list that is not described',
    'GET /v1/agents/agt_x/conversations',
    saying(listed, { data: [{ ...conversation, name: 'n' }], next_cursor: null }),
    /name/,
  ],
  ['a body with a 204', 'DELETE /admin/v1/agents/agt_x', { status: 204, headers: json, body: '' }, /content type application\/json/],
  ['an unknown route without the envelope', 'GET /v1/agents/x/y/z', { ...unknown, body: '{"message":"Not Found"}' }, /not the envelope/],
  [
    'an unknown route with more than the envelope',
    'GET /v1/agents/x/y/z',
    saying(unknown, { ...JSON.parse(failed('not_found')), more: 1 }),
    /not the envelope/,
  ],
  [
    'a wrong method without Allow',
    'PUT /v1/agents/agt_x/chat',
    { status: 405, headers: json, body: failed('method_not_allowed') },
    /Allow/,
  ],
  ['an unknown route that succeeds', 'GET /v1/agents/x/y/z', { ...unknown, status: 200 }, /no such operation is described/],
]

for (const [title, what, answer, words] of wrong)
  void test(`contract: fetch rejects: ${title}`, async () => {
    await assert.rejects(ask(what, answer), (error: Error) => words.test(error.message) || assert.fail(error.message))
  })

void test('contract: a response as described passes, whole and once, and is counted', async () => {
  for (const [what, answer] of [
    [chat, reply],
    [chat, busy],
    [`${chat}/stream`, stream],
    ['GET /v1/agents/agt_x/conversations?limit=1', listed],
    ['HEAD /v1/agents/agt_x/conversations', { ...listed, body: '' }],
    ['DELETE /admin/v1/agents/agt_x', { status: 204, headers: { 'x-request-id': exampleId }, body: '' }],
    ['GET /v1/agents/x/y/z', unknown],
    ['PUT /v1/agents/agt_x/chat', { status: 405, headers: { ...json, allow: 'POST' }, body: failed('method_not_allowed') }],
  ] as const) {
    const response = await ask(what, answer)
    assert.deepEqual([response.status, await response.text()], [answer.status, answer.body], what)
  }
  assert.equal(check.counts['DELETE /admin/v1/agents/{id} 204'], 2)
  assert.ok(check.counts['POST /v1/agents/{agent_id}/chat 200']! > 2)
})

void test('contract: events in another order, of another shape, and after the last one are reported', () => {
  const [created, delta, completed, error] = Object.values(chatEvents).map(({ value }) => value)
  assert.deepEqual(check.eventProblems([created!, delta!, delta!, completed!]), [])
  assert.deepEqual(check.eventProblems([created!, error!]), [])
  for (const events of [
    [],
    [delta!, completed!],
    [created!, delta!],
    [created!, completed!, error!],
    [created!, completed!, delta!],
    [created!, created!, completed!],
  ])
    assert.match(check.eventProblems(events).join(), /order of the events/)
  assert.match(check.eventProblems([created!, { event: 'response.output_text.delta', data: { delta: 7 } }, completed!]).join(), /delta/)
  assert.match(check.eventProblems([created!, { event: 'error', data: { ...(error!.data as Json), cause: 'c' } }]).join(), /cause/)
})

void test('contract: the descriptions used for the check are those that a real server serves', async () => {
  await using app = await startTestApp()
  assert.deepEqual(await (await fetch(`${app.url}/openapi.json`)).json(), descriptions.public)
  const headers = { authorization: `Bearer ${adminToken}` }
  assert.deepEqual(await (await fetch(`${app.adminUrl}/admin/v1/openapi.json`, { headers })).json(), descriptions.admin)
})

void test('contract: a whole run with an operation that was never called fails, and so does any run with a wrong response', () => {
  const operations = operationNames(descriptions)
  const whole = { isWhole: true, isStrict: true }
  const counts = Object.fromEntries(operations.map((name) => [`${name} 200`, 2]))
  const all = sumUp([{ counts, wrong: [] }], operations, whole)
  assert.equal(all.failed, false)
  assert.deepEqual(all.lines, [
    `contract: ${operations.length * 2} answers of ${operations.length} of ${operations.length} operations were held against the description`,
  ])
  const { [`${operations[0]} 200`]: _never, ...rest } = counts
  const some = sumUp([{ counts: rest, wrong: [] }], operations, whole)
  assert.deepEqual([some.failed, some.lines[1]], [true, `contract: never answered: ${operations[0]}`])
  assert.equal(sumUp([{ counts: rest, wrong: [] }], operations, { isWhole: true, isStrict: false }).failed, false)
  assert.equal(sumUp([{ counts: rest, wrong: [] }], operations, { isWhole: false, isStrict: true }).failed, false)
  assert.equal(sumUp([{ counts, wrong: ['w'] }], operations, { isWhole: false, isStrict: false }).failed, true)
})

const runModule = new URL('../support/answer-check-run.ts', import.meta.url).href
const asIn = (folder: string) => ({ env: { ...process.env, TEST_CONTRACT: folder }, encoding: 'utf8' }) as const
const runScript = (folder: string, script: string) => spawnSync(process.execPath, ['--input-type=module', '-e', script], asIn(folder))

void test('contract: a server on the port of an earlier, closed test server is not checked', () => {
  const { stdout, stderr } = runScript(
    tmpdir(),
    `import { createServer } from 'node:net'
    const { isHeld, isOurs } = await import('${runModule}')
    const listen = (port) => new Promise((resolve) => {
      const server = createServer().listen(port, '127.0.0.1', () => resolve(server))
    })
    const tell = (port) => console.log(isHeld(new URL('http://127.0.0.1:' + port + '/v1/agents/agt_x/chat'), new Headers()))
    const ours = await listen(0)
    const { port } = ours.address()
    isOurs('http://127.0.0.1:' + port)
    const other = await listen(0)
    tell(port)
    await new Promise((resolve) => ours.close(resolve))
    const next = await listen(port)
    tell(port)
    next.close()
    other.close()`,
  )
  assert.equal(stdout, 'true\nfalse\n', stderr)
})

void test('contract: two processes of a run with the same pid write a file each', () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-held-'))
  writeFileSync(join(folder, 'descriptions.json'), JSON.stringify(descriptions))
  const { status, stderr } = runScript(
    folder,
    `for (const time of [1, 2]) {
      const { holdEvents } = await import('${runModule}?' + time)
      try { holdEvents([]) } catch {}
    }`,
  )
  const left = readdirSync(folder).filter((name) => /^held-.*\.json$/.test(name))
  rmSync(folder, { recursive: true, force: true })
  assert.deepEqual([status, left.length], [0, 2], stderr)
})

// Alone, `node test/contract/answer-check.test.ts`, nothing is preloaded.
void test('contract: in a test run, fetch is the checking one', { skip: !process.env['TEST_CONTRACT'] && 'not in a run' }, () => {
  assert.match(globalThis.fetch.toString(), /checkOf\(/)
})
