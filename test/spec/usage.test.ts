/** GET /usage: usage by hour and day. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { usageByBucket } from '../../src/store/queries/usage.ts'
import type { Row, Sql } from '../../src/store/sql.ts'
import { allPages, refused, startAdminApp } from '../support/admin-app.ts'
import { adminToken, startTestApp } from '../support/test-app.ts'
import type { Json } from '../support/test-app.ts'

const app = await startAdminApp()
const hourMs = 60 * 60 * 1000

void test('usage: counts ended turns, adds up to the ledger, and filters by owner, agent and key', async () => {
  await using own = await startTestApp()
  const other = await own.makeCaller()
  for (let turn = 0; turn < 3; turn++) await own.chat('hi', { user: `user-${turn}` })
  await own.chat('hi', { caller: other })
  own.model.script({ status: 400, body: 'no' }, [{ finish: 'stop' }], [{ finish: 'stop' }])
  await own.chat('released')
  await own.chat('failed', { user: 'unlucky' })

  const { data, totals } = await own.made('GET', `/usage?owner_id=${own.caller.ownerId}`)
  assert.deepEqual([totals.turns, totals.completed, totals.failed, totals.released], [5, 3, 1, 1])
  const turns = (await allPages(own, `/turns?agent_id=${own.caller.agentId}`, 100)).filter(({ state }) => state === 'completed')
  assert.equal(
    totals.prompt_tokens,
    turns.reduce((sum, { usage }) => sum + usage.prompt_tokens, 0),
  )
  assert.equal(
    totals.completion_tokens,
    turns.reduce((sum, { usage }) => sum + usage.completion_tokens, 0),
  )
  const charged = (await own.ledger()).filter(({ kind }) => kind === 'charge').reduce((sum, entry) => sum - Number(entry.amount_usd), 0)
  assert.equal(totals.charged_usd, charged.toFixed(8))
  assert.equal(totals.written_off_usd, '0.00000000')
  assert.equal(data.length, 31)
  assert.deepEqual({ ...data.at(-1), bucket_start: 0 }, { bucket_start: 0, ...totals })
  const lengths = turns.map(({ started_at: from, ended_at: to }) => Date.parse(to) - Date.parse(from)).toSorted((a, b) => a - b)
  assert.deepEqual([totals.p50_ms, totals.p95_ms], [lengths[1], lengths[2]])
  const firsts = turns.map((turn) => turn.first_delta_ms).toSorted((a, b) => a - b)
  assert.deepEqual([totals.p50_first_delta_ms, totals.p95_first_delta_ms], [firsts[1], firsts[2]])

  const count = async (query: string): Promise<number> => (await own.made('GET', `/usage?${query}`)).totals.turns
  const [key] = (await own.made('GET', `/agents/${other.agentId}/keys`)).data
  assert.equal(await count(''), 6)
  for (const query of [`agent_id=${other.agentId}`, `key_id=${key.id}`, `key_id=${key.key_id}`, `owner_id=${other.ownerId}`])
    assert.equal(await count(query), 1, query)
  assert.equal(await count('key_id=key_x'), 0)
})

void test('turn.errors: every run without a reply is one error with its cause, also one that a retry has repeated', async () => {
  await using own = await startTestApp()
  const other = await own.makeCaller()
  const refusal = { status: 401, body: '{"error":{"message":"bad key"}}' }
  own.model.script(refusal, { status: 404, body: 'no' }, 'hello', { status: 503, headers: { 'retry-after': '60' } }, [], [])
  const key = { idempotencyKey: 'again' }
  for (const status of [500, 500, 200]) assert.equal((await own.chat('hi', key)).status, status)
  assert.equal((await own.chat('hi', key)).status, 200, 'a replay')
  assert.equal((await own.chat('hi', { user: 'busy' })).status, 503)
  const failed = await own.chat('hi', { user: 'empty', caller: other })
  assert.equal(failed.status, 500)

  const read = async (query: string): Promise<Json> => (await own.made('GET', `/usage?${query}`)).totals
  const totals = await read('')
  assert.deepEqual([totals.turns, totals.completed, totals.failed, totals.released, totals.errors], [3, 1, 1, 1, 4])
  assert.deepEqual(totals.errors_by_cause, { provider_401: 1, provider_404: 1, provider_503: 1, empty_reply: 1 })
  const others = { errors: 1, errors_by_cause: { empty_reply: 1 } }
  const [keyOfOther] = (await own.made('GET', `/agents/${other.agentId}/keys`)).data
  for (const query of [`owner_id=${other.ownerId}`, `agent_id=${other.agentId}`, `key_id=${keyOfOther.id}`]) {
    const { errors, errors_by_cause } = await read(query)
    assert.deepEqual({ errors, errors_by_cause }, others, query)
  }
  const turn = await own.made('GET', `/turns/${failed.json.error.request_id}`)
  assert.equal(turn.failure.cause_kind, 'empty_reply')
  assert.equal((await own.made('GET', '/status')).counted.errors, 4)
  const metrics = await (await fetch(`${own.adminUrl}/metrics`, { headers: { authorization: `Bearer ${adminToken}` } })).text()
  for (const cause of ['provider_401', 'provider_404', 'provider_503', 'empty_reply'])
    assert.match(metrics, new RegExp(`^turnkeep_turn_errors_total\\{cause="${cause}"\\} 1$`, 'm'))
})

void test('usage: what a provider reported beyond the hold is shown as written off', async () => {
  await using own = await startTestApp()
  own.model.script(['hi', { usage: { prompt_tokens: 4000, completion_tokens: 2048 } }])
  assert.equal((await own.chat('hi')).status, 200)
  const { totals } = await own.made('GET', '/usage?bucket=hour')
  const charge = (await own.ledger()).find(({ kind }) => kind === 'charge')
  assert.notEqual(charge!.written_off_usd, '0.00000000')
  assert.equal(totals.written_off_usd, charge!.written_off_usd)
  assert.equal((await own.made('GET', '/usage?agent_id=agt_x')).totals.written_off_usd, '0.00000000')
})

void test('usage: buckets start at full UTC hours and days, and the range has no gaps', async () => {
  const { data } = await app.made('GET', '/usage?bucket=hour&from=2026-03-01T10:20:00Z&to=2026-03-01T14:00:00%2B01:00')
  assert.deepEqual(
    data.map(({ bucket_start: start }: Json) => start),
    ['2026-03-01T10:00:00.000Z', '2026-03-01T11:00:00.000Z', '2026-03-01T12:00:00.000Z'],
  )
  assert.deepEqual(
    { ...data[0], bucket_start: 0 },
    {
      bucket_start: 0,
      turns: 0,
      completed: 0,
      failed: 0,
      released: 0,
      cancelled: 0,
      errors: 0,
      errors_by_cause: {},
      prompt_tokens: 0,
      completion_tokens: 0,
      charged_usd: '0.00000000',
      written_off_usd: '0.00000000',
      unpaid_usd: '0.00000000',
      p50_ms: null,
      p95_ms: null,
      p50_first_delta_ms: null,
      p95_first_delta_ms: null,
    },
  )
  assert.equal((await app.made('GET', '/usage?from=2025-01-01&to=2026-02-05')).data.length, 400)
  assert.equal((await app.made('GET', '/usage?bucket=hour')).data.length >= 24, true)
})

const refusals: Record<string, RegExp> = {
  'from=2025-01-01&to=2026-02-06': /400 days/,
  'bucket=hour&from=2026-01-01&to=2026-02-02': /31 days/,
  'from=2026-02-02&to=2026-02-02': /before/,
  'from=2026-02-02&to=2026-02-01': /before/,
  'from=yesterday00': /from/,
  'from=2026-13-01': /from/,
  'to=2026-01-01T00:00:00': /to/,
  'bucket=week': /bucket/,
  'from=1969-12-31': /from must be a date/,
  'days=7': /days/,
}
for (const [query, words] of Object.entries(refusals)) {
  void test(`usage: ${query} is refused with the parameter name`, () =>
    refused(app.admin('GET', `/usage?${query}`), 422, 'validation_error', words))
}

const impossible = {
  days: ['2026-02-29', '2026-02-31', '2026-04-31', '2026-00-10', '2026-13-01', '2026-01-00', '2026-01-32', '2026-13-01T00:00:00Z'],
  daysWithZone: ['2026-02-30T12:00:00Z', '2026-02-29T23:00:00-05:00'],
  times: ['2026-01-01T24:00Z', '2026-01-01T24:00:00.000+02:00', '2026-01-01T25:00Z', '2026-01-01T10:60Z', '2016-12-31T23:59:60Z'],
  zones: ['2026-01-01T10:00:00+24:00'],
}
void test('usage: days and times that do not exist are refused with the field, in queries and bodies', async () => {
  const { id: webhookId } = await app.made('POST', '/webhooks', { url: 'https://example.com/hook', events: ['*'] })
  for (const text of Object.values(impossible).flat()) {
    const query = encodeURIComponent(text)
    for (const path of ['/usage', '/ledger', '/audit', '/conversations', `/owners/${app.caller.ownerId}/ledger`]) {
      await refused(app.admin('GET', `${path}?from=${query}`), 422, 'validation_error', /^from is a day or a time that does not exist/)
      await refused(app.admin('GET', `${path}?to=${query}`), 422, 'validation_error', /^to is a day or a time that does not exist/)
    }
    const range = { from: '2026-01-01', to: text }
    await refused(app.admin('POST', `/webhooks/${webhookId}/replay`, range), 422, 'validation_error', /^to is a day/)
    const token = { name: text, role: 'viewer', expires_at: text }
    await refused(app.admin('POST', '/tokens', token), 422, 'validation_error', /^expires_at is a day/)
  }
  const possible = ['2024-02-29', '2000-02-29T23:59:59.999Z', '2026-03-01T00:30:00+14:00', '2026-02-28T23:30-11:00']
  for (const text of possible) assert.ok(await app.made('GET', `/audit?from=${encodeURIComponent(text)}`), text)
})

void test('usage: percentiles are exact by nearest rank, in every bucket and over all of them', async () => {
  const turn = fc.record({ endedAt: fc.integer({ min: 5 * hourMs, max: 9 * hourMs - 1 }), latency: fc.integer({ min: 0, max: 50 }) })
  const nearest = (values: number[], percent: number): number | null =>
    values.find((value) => values.filter((other) => other <= value).length * 100 >= values.length * percent) ?? null
  await fc.assert(
    fc.asyncProperty(fc.array(turn, { maxLength: 60 }), async (turns) => {
      const sql: Sql = {
        engine: 'sqlite',
        now: async () => 0,
        run: async () => 0,
        async all(text, from, to): Promise<Row[]> {
          if (!text.startsWith('select t.state')) return []
          return turns
            .filter(({ endedAt }) => endedAt >= Number(from) && endedAt < Number(to))
            .map(({ latency }) => ({
              state: 'completed',
              latency_ms: BigInt(latency),
              first_delta_ms: null,
              prompt_tokens: 1n,
              completion_tokens: 1n,
              charged: 1n,
            }))
        },
      }
      const { buckets, totals } = await usageByBucket(sql, { from: 5 * hourMs, to: 9 * hourMs, bucketMs: hourMs })
      for (const { bucketStart, latency, turns: count } of [...buckets, { bucketStart: null, ...totals }]) {
        const values = turns
          .filter(({ endedAt }) => bucketStart === null || (endedAt >= bucketStart && endedAt < bucketStart + hourMs))
          .map((one) => one.latency)
          .toSorted((a, b) => a - b)
        assert.equal(count, values.length)
        assert.deepEqual(latency, { p50: nearest(values, 50), p95: nearest(values, 95) })
      }
    }),
    { numRuns: 100 },
  )
})
