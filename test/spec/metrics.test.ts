/** `GET /metrics`: who may read it, that any scraper can parse it, and that its figures match the turns. docs/operate/metrics.md */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parseExposition } from '../support/exposition.ts'
import type { Exposition } from '../support/exposition.ts'
import { gate } from '../support/model-server.ts'
import { exchange } from '../support/raw-socket.ts'
import type { RawAnswer } from '../support/raw-socket.ts'
import { adminToken, read, startTestApp } from '../support/test-app.ts'
import type { TestApp } from '../support/test-app.ts'
import { until } from '../support/until.ts'

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })

async function scrape(app: TestApp): Promise<Exposition> {
  const response = await fetch(`${app.adminUrl}/metrics`, { headers: bearer(adminToken) })
  assert.equal(response.status, 200)
  assert.equal(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  return parseExposition(await response.text())
}

/** Turnkeep's own series that are not at zero, without buckets, sums and the process metrics. */
function counted({ values }: Exposition): Record<string, number> {
  const ours = [...values].filter(([series, value]) => /^turnkeep_\w+(_total|_count)(\{|$)/.test(series) && value !== 0)
  return Object.fromEntries(ours.map(([series, value]) => [series.replace('turnkeep_', ''), value]))
}

void test('metrics.access: need the admin token on the shared port; without it the response is the 401 envelope', async () => {
  await using app = await startTestApp()
  for (const headers of [{}, bearer('wrong'), bearer(app.caller.apiKey)]) {
    const answer = await read(await fetch(`${app.url}/metrics`, { headers: headers as Record<string, string> }))
    assert.deepEqual([answer.status, answer.json.error?.code], [401, 'unauthorized'])
    assert.equal(answer.json.error.request_id, answer.headers.get('x-request-id'))
    assert.ok(!answer.text.includes('turnkeep_'))
  }
  await scrape(app)
  const described = JSON.stringify([
    (await read(await fetch(`${app.url}/openapi.json`))).json,
    (await app.admin('GET', '/openapi.json')).json,
  ])
  assert.ok(!described.includes('/metrics'), 'is not part of the API description')
})

void test('metrics.access: an admin port that other machines can reach needs the token', async () => {
  await using app = await startTestApp({ env: { TURNKEEP_ADMIN_PORT: '0', TURNKEEP_ADMIN_HOST: '0.0.0.0' } })
  assert.equal((await fetch(`${app.adminUrl}/metrics`)).status, 401)
  parseExposition(await (await fetch(`${app.adminUrl}/metrics`, { headers: bearer(adminToken) })).text())
})

void test('metrics.access: open on an admin port of this machine, which is the default, and 404 on the public one', async () => {
  await using app = await startTestApp({ env: { TURNKEEP_ADMIN_PORT: '0', TURNKEEP_HOST: '0.0.0.0' } })
  assert.notEqual(app.url, app.adminUrl)
  parseExposition(await (await fetch(`${app.adminUrl}/metrics`)).text())
  assert.equal((await fetch(`${app.url}/metrics`, { headers: bearer(adminToken) })).status, 404)
})

void test('metrics.access: without a token, the port of this machine serves requests with a loopback Host only', async () => {
  await using app = await startTestApp({ env: { TURNKEEP_ADMIN_PORT: '0' } })
  const ask = async (host: string[], ...more: string[]): Promise<RawAnswer> => {
    const lines = ['GET /metrics HTTP/1.1', ...host.map((name) => `Host: ${name}`), 'Connection: close', ...more]
    return (await exchange(Number(new URL(app.adminUrl).port), `${lines.join('\r\n')}\r\n\r\n`))[0]!
  }
  const own = ['localhost', 'LocalHost:8081', '127.0.0.1', '127.0.0.1:80', '127.9.8.7:1', '[::1]', '[::1]:8081']
  for (const host of own) assert.equal((await ask([host])).status, 200, host)
  const foreign = [
    'evil.example',
    'evil.example:8081',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '127.0.0.1@evil.example',
    '0.0.0.0',
  ]
  for (const host of [...foreign, '::1', '[::]', '10.0.0.1', 'localhost:', 'localhost:x', 'evil.example/localhost', '']) {
    const answer = await ask([host])
    assert.deepEqual([answer.status, answer.json?.error.code], [403, 'forbidden'], host)
    assert.match(answer.json.error.message, /Host is localhost.*Send the admin token/)
    assert.ok(!answer.body.includes('turnkeep_'))
  }
  assert.equal((await ask(['turnkeep.internal'], `Authorization: Bearer ${adminToken}`)).status, 200, 'a scraper with the token')
  assert.equal((await ask(['turnkeep.internal'], 'Authorization: Bearer wrong')).status, 401)
})

void test('metrics: an idle service shows every series at zero, named as in the documentation', async () => {
  await using app = await startTestApp()
  const { values, types } = await scrape(app)
  assert.deepEqual(counted({ values, types }), {})
  for (const code of ['rate_limit_exceeded', 'insufficient_balance', 'service_unavailable', 'conversation_busy']) {
    assert.equal(values.get(`turnkeep_refusals_total{code="${code}"}`), 0)
  }
  assert.equal(values.get('turnkeep_dependency_up{dependency="store"}'), 1)
  assert.equal(values.get('turnkeep_dependency_up{dependency="limiter"}'), 1)
  assert.equal([...values].filter(([series, value]) => series.startsWith('turnkeep_build_info{version="') && value === 1).length, 1)
  const page = readFileSync(new URL('../../docs/operate/metrics.md', import.meta.url), 'utf8')
  const documented = [...page.matchAll(/^\| `(turnkeep_\w+)/gm)].map(([, name]) => name)
  assert.deepEqual(documented.toSorted(), [...types.keys()].filter((name) => name.startsWith('turnkeep_')).toSorted())
  for (const name of page.matchAll(/`((?:nodejs|process)_\w+)`/g)) assert.ok(types.has(name[1]!), name[1])
})

void test('metrics: count turns of every outcome, replays, refusals, model calls, tokens and dollars exactly', async () => {
  await using app = await startTestApp()
  const first = await app.chat('one', { idempotencyKey: 'k1' })
  const second = await app.stream('two')
  assert.equal((await app.chat('one', { idempotencyKey: 'k1' })).status, 200)
  assert.equal((await app.stream('one', { idempotencyKey: 'k1' })).events.length, 2)

  app.model.script({ status: 503 }, 'at the second try')
  const third = await app.chat('three')
  assert.equal(third.status, 200, third.text)

  app.model.script([], [])
  assert.equal((await app.chat('empty', { idempotencyKey: 'k2' })).status, 500)
  assert.equal((await app.stream('empty', { idempotencyKey: 'k2' })).status, 500, 'the stored failure')
  app.model.script({ status: 503, headers: { 'retry-after': '60' } })
  assert.equal((await app.chat('busy model')).status, 503)
  app.model.script({ status: 400 })
  assert.equal((await app.stream('refusing model')).events.at(-1)?.event, 'error')

  const held = gate()
  app.model.script(['Hel', held, 'lo'])
  const running = app.chat('long', { user: 'user-2', idempotencyKey: 'k3' })
  await held.reached
  assert.equal((await app.chat('long', { user: 'user-2', idempotencyKey: 'k3' })).json.error.code, 'idempotency_in_progress')
  assert.equal((await app.chat('other', { user: 'user-2', idempotencyKey: 'k3' })).json.error.code, 'idempotency_conflict')
  assert.equal((await app.chat('next', { user: 'user-2' })).json.error.code, 'conversation_busy')
  held.open()
  const fourth = await running
  const poor = await app.makeCaller({ balanceUsd: '0.00000001', key: { rate_limit: { limit: 1, window_seconds: 60 } } })
  assert.equal((await app.chat('x', { caller: poor })).status, 402)
  assert.equal((await app.chat('x', { caller: poor })).status, 429)
  assert.equal((await app.chat('x', { apiKey: 'wrong' })).status, 401)
  assert.equal((await app.chat('')).status, 422)
  assert.equal((await app.admin('GET', '/owners/own_none')).status, 404)

  const answers = [first.json, second.events.at(-1)!.data, third.json, fourth.json]
  const total = (field: string): number => answers.reduce((sum, { usage }) => sum + usage[field], 0)
  const units = answers.reduce((sum, { usage }) => sum + BigInt(usage.charged_usd.replace('.', '')), 0n)
  const { totals } = await app.made('GET', '/usage')
  const scraped = await scrape(app)
  assert.deepEqual(counted(scraped), {
    'turns_total{outcome="completed",code="none"}': 4,
    'turns_total{outcome="failed",code="internal_error"}': 1,
    'turns_total{outcome="released",code="service_unavailable"}': 1,
    'turns_total{outcome="released",code="internal_error"}': 1,
    'replies_total{finish_reason="stop"}': 4,
    'turn_errors_total{cause="empty_reply"}': 1,
    'turn_errors_total{cause="provider_400"}': 1,
    'turn_errors_total{cause="provider_503"}': 1,
    turn_duration_seconds_count: 4,
    first_delta_seconds_count: 4,
    'tokens_total{kind="prompt"}': total('prompt_tokens'),
    'tokens_total{kind="completion"}': total('completion_tokens'),
    charged_usd_total: Number(units) / 1e8,
    unpaid_usd_total: Number(totals.unpaid_usd),
    replays_total: 3,
    'refusals_total{code="invalid_api_key"}': 1,
    'refusals_total{code="validation_error"}': 1,
    'refusals_total{code="idempotency_conflict"}': 1,
    'refusals_total{code="idempotency_in_progress"}': 1,
    'refusals_total{code="conversation_busy"}': 1,
    'refusals_total{code="insufficient_balance"}': 1,
    'refusals_total{code="rate_limit_exceeded"}': 1,
    'refusals_total{code="not_found"}': 1,
    'model_calls_total{outcome="answered"}': 6,
    'model_calls_total{outcome="unavailable"}': 2,
    'model_calls_total{outcome="refused"}': 1,
    model_retries_total: 1,
  })
  assert.deepEqual(counted(await scrape(app)), counted(scraped), 'a scrape changes nothing')
  const names = [app.caller.agentId, app.caller.ownerId, poor.agentId, 'user-2', 'k3', 'scripted', 'test-model', 'Test agent']
  for (const name of names) assert.ok(![...scraped.values.keys()].some((series) => series.includes(name)), name)
})

void test('metrics: show 45 running streams, the limit of 50, and the refusal of the next one of their owner', async () => {
  // Recovery reserves slots while it looks for orphans; those are not counted here.
  const turnSettings = { sweepMs: 60_000, leaseMs: 300_000 }
  await using app = await startTestApp({ env: { TURNKEEP_MAX_TURNS: '50' }, turnSettings })
  const held = gate()
  app.model.when(/./, ['Hel', held, 'lo'])
  const streams: ReturnType<typeof app.stream>[] = []
  // Nine at a time: on a busy machine the last of all might wait longer than the admission timeout.
  for (let nines = 0; nines < 5; nines++) {
    for (let index = 0; index < 9; index++) streams.push(app.stream('long', { user: `user-${nines}${index}` }))
    await app.model.waitForCalls(streams.length)
  }
  const during = (await scrape(app)).values
  assert.equal(during.get('turnkeep_turns_running'), 45)
  assert.equal(during.get('turnkeep_turns_running_limit'), 50)
  assert.equal(during.get('turnkeep_turns_total{outcome="completed",code="none"}'), 0)
  for (const kind of ['admission', 'advance', 'settlement', 'failure'])
    assert.equal(during.get(`turnkeep_queue_length{kind="${kind}"}`), 0, kind)
  assert.equal((await app.stream('one more', { user: 'user-50' })).status, 503)
  held.open()
  for (const stream of await Promise.all(streams)) assert.equal(stream.events.at(-1)?.event, 'response.completed')
  const { values } = await scrape(app)
  assert.equal(values.get('turnkeep_turns_running'), 0)
  assert.equal(values.get('turnkeep_turns_total{outcome="completed",code="none"}'), 45)
  assert.equal(values.get('turnkeep_refusals_total{code="service_unavailable"}'), 1)
})

void test('metrics: a turn whose lease was taken is counted as lost, and its recovery and completion once each', async () => {
  // The lease is longer than a busy machine may stand still: a second claim, by this process, would be one attempt more.
  await using app = await startTestApp({ turnSettings: { leaseMs: 120_000, renewMs: 50, sweepMs: 50 } })
  const held = gate()
  app.model.script(['Hel', held], 'recovered')
  const left = app.chat('long')
  await held.reached
  // As another process would take it; if a renewal comes in between and keeps the lease, it is tried again.
  for (let taken = 0; taken === 0;) {
    await app.moveClock(120_000)
    taken = (await app.app.store.claimOrphans({ which: 'fresh', limit: 1, leaseMs: 1, running: [] })).turns.length
  }
  assert.equal((await left).status, 503)
  let figures: ReturnType<typeof counted> = {}
  await until('the recovered turn is completed', async () => {
    figures = counted(await scrape(app))
    return figures['turns_total{outcome="completed",code="none"}'] !== undefined
  })
  assert.equal(figures['turns_total{outcome="lost",code="none"}'], 1)
  assert.equal(figures['turns_total{outcome="completed",code="none"}'], 1)
  assert.equal(figures['recoveries_total'], 1)
  assert.equal(figures['model_calls_total{outcome="stopped"}'], 1)
  assert.equal(figures['first_delta_seconds_count'], 2)
})
