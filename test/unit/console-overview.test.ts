/** The calculations of the console's overview and owner page: changes in words, causes of failures, how long a balance lasts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { daysLeftOf, formatDays } from '../../packages/console/src/api/low.ts'
import type { Agent, Attention, Owner, Turn, Usage } from '../../packages/console/src/api/types.ts'
import { balancesOf, burnDownPlot, knownDays } from '../../packages/console/src/pages/money/burn-down.ts'
import { ledgerQuery, readLedgerFilters, writeLedgerFilters } from '../../packages/console/src/pages/money/ledger-filters.ts'
import { attentionItems } from '../../packages/console/src/pages/start/attention.ts'
import { failingProviders, turnsOfCurrent, wordsOf } from '../../packages/console/src/pages/providers/health.ts'
import { groupCauses } from '../../packages/console/src/pages/start/causes.ts'
import { latencyChange, relativeChange, shareChange } from '../../packages/console/src/pages/start/change.ts'
import { comparedSpans, spanOf } from '../../packages/console/src/show/usage-range.ts'

void test('console: a change is said in words, and is good or bad only for errors and latency', () => {
  const week = 'previous 7 days'
  assert.deepEqual(relativeChange(112, 100, week, '100'), { text: '+12% from the previous 7 days', tone: 'none' })
  assert.equal(relativeChange(88, 100, week, '100').text, '−12% from the previous 7 days')
  assert.equal(relativeChange(0, 0, week, '0').text, 'same as the previous 7 days')
  assert.equal(relativeChange(5, 0, week, '0').text, 'none in the previous 7 days')
  assert.equal(relativeChange(1_001, 1_000, week, '1_000').text, 'about the same as the previous 7 days')
  assert.equal(relativeChange(120, 10, week, '10').text, '10 in the previous 7 days')
  assert.deepEqual(shareChange(0.009, 0.005, week), { text: '+0.4 pt from the previous 7 days', tone: 'bad' })
  assert.deepEqual(shareChange(0.005, 0.009, week), { text: '−0.4 pt from the previous 7 days', tone: 'good' })
  assert.equal(shareChange(0.00901, 0.009, week)!.text, 'same as the previous 7 days')
  assert.equal(shareChange(0.1, null, week)!.text, 'no turns in the previous 7 days')
  assert.equal(shareChange(null, 0.1, week), null)
  assert.deepEqual(latencyChange(2_600, 2_900, week), { text: '−300 ms from the previous 7 days', tone: 'good' })
  assert.equal(latencyChange(2_600, 2_590, week)!.tone, 'none')
})

void test('console: a range is compared with as many hours or days before it, until the same time of day', () => {
  const now = Date.parse('2026-11-22T16:31:07.123Z')
  assert.deepEqual(comparedSpans('7d', now), {
    name: 'previous 7 days',
    current: { bucket: 'day', from: '2026-11-16T00:00:00.000Z' },
    previous: { bucket: 'day', from: '2026-11-09T00:00:00.000Z', to: '2026-11-15T16:31:07.123Z' },
  })
  assert.deepEqual(comparedSpans('24h', now).previous, {
    bucket: 'hour',
    from: '2026-11-20T17:00:00.000Z',
    to: '2026-11-21T16:31:07.123Z',
  })
  assert.deepEqual(spanOf({ range: 'last-month', from: '', to: '' }, Date.parse('2027-01-31T23:00:00Z')), {
    bucket: 'day',
    from: '2026-12-01T00:00:00.000Z',
    to: '2027-01-01T00:00:00.000Z',
  })
  assert.deepEqual(spanOf({ range: 'month', from: '', to: '' }, now), { bucket: 'day', from: '2026-11-01T00:00:00.000Z' })
})

const agents = [
  { id: 'agt_1', name: 'Order desk', model: 'openai/gpt', version: 2 },
  { id: 'agt_2', name: 'Reading room', model: 'openai/gpt', version: 2 },
  { id: 'agt_3', name: 'Night line', model: 'local/llama', version: 2 },
] as Agent[]
const turn = (id: string, at: string, cause: string | null, agentId = 'agt_1', words = 'the model server returned status 503'): Turn =>
  ({
    request_id: id,
    agent_id: agentId,
    agent_version: 2,
    state: cause === null ? 'completed' : 'released',
    failure: cause === null ? null : { code: 'service_unavailable', cause_kind: cause, cause: words },
    started_at: at,
    ended_at: at,
  }) as Turn

void test('console: turns without a reply are grouped by cause, with the first and the last one and what the provider said', () => {
  const days = [
    { bucket_start: '2026-11-20T00:00:00.000Z', errors_by_cause: {} },
    { bucket_start: '2026-11-21T00:00:00.000Z', errors_by_cause: { provider_503: 3, empty_reply: 2 } },
    { bucket_start: '2026-11-22T00:00:00.000Z', errors_by_cause: { provider_503: 2 } },
  ]
  const usage = { data: days, totals: { errors_by_cause: { provider_503: 5, empty_reply: 2 } } } as unknown as Usage
  const said = 'the model server returned status 503: {"error":{"message":"The model is overloaded."}}'
  const turns = [
    turn('before', '2026-11-19T09:00:00.000Z', 'provider_503'),
    turn('a', '2026-11-22T09:00:00.000Z', 'provider_503', 'agt_2', said),
    turn('b', '2026-11-21T09:00:00.000Z', 'provider_503'),
    turn('c', '2026-11-21T10:00:00.000Z', 'empty_reply'),
    turn('d', '2026-11-21T08:00:00.000Z', 'empty_reply'),
  ]
  assert.deepEqual(groupCauses(usage, turns, agents), [
    {
      cause: 'provider_503',
      count: 5,
      // Not all five are known, so the day of the first one.
      since: '2026-11-21T00:00:00.000Z',
      last: '2026-11-22T09:00:00.000Z',
      words: 'The model is overloaded.',
      requestId: 'a',
      providers: ['openai'],
      agents: ['Order desk', 'Reading room'],
    },
    {
      cause: 'empty_reply',
      count: 2,
      since: '2026-11-21T08:00:00.000Z',
      last: '2026-11-21T10:00:00.000Z',
      words: 'the model server returned status 503',
      requestId: 'c',
      providers: ['openai'],
      agents: ['Order desk'],
    },
  ])
  const [unknown] = groupCauses(usage, [], agents)
  assert.deepEqual([unknown!.requestId, unknown!.words, unknown!.last], [null, null, '2026-11-22T00:00:00.000Z'])
  assert.equal(wordsOf('status 500: {"error":"out of memory"}'), 'out of memory')
  assert.equal(wordsOf('status 500: {"error":{"mess'), 'status 500: {"error":{"mess')
})

void test('console: a provider fails if its newest turn or a quarter of the newest twenty ended because of it', () => {
  const at = (minute: number): string => `2026-11-22T09:${String(minute).padStart(2, '0')}:00.000Z`
  const good = (minute: number, agent?: string): Turn => turn(`g${minute}`, at(minute), null, agent)
  assert.deepEqual(failingProviders([good(3), turn('x', at(2), 'provider_503'), good(1), good(0), good(4)], agents), [])
  const [newest] = failingProviders([good(1), turn('x', at(5), 'provider_503'), good(2, 'agt_3')], agents)
  assert.deepEqual([newest!.provider, newest!.failed, newest!.of, newest!.since], ['openai', 1, 2, at(5)])
  const quarter = failingProviders([good(9), turn('y', at(8), 'provider_429'), good(7), turn('x', at(6), 'provider_503')], agents)
  assert.deepEqual([quarter[0]!.failed, quarter[0]!.of, quarter[0]!.cause, quarter[0]!.since], [2, 4, 'provider_429', at(6)])
  // Not the provider's fault.
  assert.deepEqual(failingProviders([turn('x', at(5), 'empty_reply'), turn('z', at(6), 'step_limit')], agents), [])
})

void test('console: turns of an earlier version of an agent, which may have had another model, say nothing about its provider', () => {
  const changed = agents.map((agent) => ({ ...agent, model: 'anthropic/claude', version: 3 }))
  const old = turn('old', '2026-11-22T09:00:00.000Z', 'provider_503')
  assert.equal(failingProviders([old], agents)[0]!.provider, 'openai')
  assert.deepEqual(failingProviders([old], changed), [])
  assert.deepEqual(turnsOfCurrent([old], changed), [])
  const own = { ...turn('new', '2026-11-22T10:00:00.000Z', 'provider_529', 'agt_2', 'Overloaded.'), agent_version: 3 }
  const [failing] = failingProviders([old, own], changed)
  assert.deepEqual([failing!.provider, failing!.of, failing!.words], ['anthropic', 1, 'Overloaded.'])

  const days = [{ bucket_start: '2026-11-22T00:00:00.000Z', errors_by_cause: { provider_503: 1, provider_529: 1 } }]
  const usage = { data: days, totals: { errors_by_cause: { provider_503: 1, provider_529: 1 } } } as unknown as Usage
  assert.deepEqual(
    groupCauses(usage, [old, own], changed).map(({ cause, providers, agents: names }) => [cause, providers, names]),
    [
      ['provider_529', ['anthropic'], ['Reading room']],
      ['provider_503', [], ['Order desk']],
    ],
  )
})

void test('console: what is broken comes before what will be, and the latest first', () => {
  const owner = (id: string, name: string, available: string, low: string | null = null): Owner =>
    ({ id, name, balance_usd: available, available_usd: available, low_balance_usd: low }) as Owner
  const limit = { kind: 'spend_limit', agent_id: 'agt_1', scope: 'end_user', window: 'day', key_id: null, external_user_id: 'user-7' }
  const amounts = { limit_usd: '5.00000000', held_usd: '0.00000000', unpaid_usd: '0.00000000', starts_at: null, ends_at: null }
  const attention = [
    { kind: 'document', agent_id: 'agt_1', document_id: 'doc_1', title: 'a.pdf', reason: 'No text.', since: '2026-11-20T00:00:00.000Z' },
    { ...limit, ...amounts, spent_usd: '4.50000000' },
    {
      kind: 'webhook',
      webhook_id: 'whk_1',
      url: 'https://a.example/x',
      disabled: false,
      reason: null,
      deliveries: 2,
      since: '2026-11-21T00:00:00.000Z',
    },
  ] as Attention[]
  const items = attentionItems({
    attention,
    providers: [],
    owners: [
      owner('own_1', 'Rich', '50.00000000'),
      owner('own_2', 'Warned', '9.00000000', '20.00000000'),
      owner('own_3', 'Out', '0.00000000'),
    ],
    spent: new Map(),
    agents,
    status: undefined,
    may: { billing: false, installation: true, conversations: true },
  })
  assert.deepEqual(
    items.map(({ level, title, action }) => [level, title, action.label]),
    [
      ['broken', 'Webhook a.example/x fails', 'Open webhook'],
      ['broken', 'Out has no available balance', 'View owner'],
      ['soon', '“a.pdf” was not indexed', 'Open document'],
      ['soon', 'Warned has a low balance', 'View owner'],
      ['soon', 'Spend limit 90% used', 'View limits'],
    ],
  )
})

void test('console: a balance lasts as long as at the spend of the last seven days', () => {
  assert.equal(daysLeftOf(700n, 70n), 70)
  assert.equal(daysLeftOf(700n, 0n), null)
  assert.equal(daysLeftOf(700n, undefined), null)
  assert.deepEqual([0.5, 1.2, 12.4, 365, 366].map(formatDays), [
    'less than a day',
    'about 1 day',
    'about 12 days',
    'about 365 days',
    'over a year',
  ])
})

void test('console: the balance by day is computed backward from now, and projected to the day it is used up', () => {
  const days = [
    { bucket_start: '2026-11-20T00:00:00.000Z', charged_usd: '1.00000000' },
    { bucket_start: '2026-11-21T00:00:00.000Z', charged_usd: '2.00000000' },
    { bucket_start: '2026-11-22T00:00:00.000Z', charged_usd: '0.50000000' },
  ] as Usage['data']
  const entries = [
    { amount_usd: '5.00000000', created_at: '2026-11-21T12:00:00.000Z' },
    { amount_usd: '-1.00000000', created_at: '2026-11-22T01:00:00.000Z' },
  ]
  const usd = 100_000_000n
  assert.deepEqual(balancesOf({ balance: '3.00000000', days, entries }), [(3n * usd) / 2n, (9n * usd) / 2n, 3n * usd])
  const plot = burnDownPlot({ balance: '3.00000000', available: '3.00000000', days, entries, spent: 7n * usd })
  assert.deepEqual(plot.series[0]!.values, [1.5, 4.5, 3, null, null, null])
  assert.deepEqual(plot.series[1]!.values, [null, null, 3, 2, 1, 0])
  assert.match(plot.summary, /\$1\.50 then, \$3\.00 now; lasts about 3 days/)
  const still = burnDownPlot({ balance: '3.00000000', available: '3.00000000', days, entries, spent: 0n })
  assert.deepEqual(still.series[1]!.values, [null, null, null])
})

void test('console: the balance by day starts at the oldest entry that was read, if there are more', () => {
  const days = ['2026-11-20', '2026-11-21', '2026-11-22'].map((day) => ({ bucket_start: `${day}T00:00:00.000Z` })) as Usage['data']
  const entries = ['2026-11-22T09:00:00.000Z', '2026-11-21T12:00:00.000Z'].map((at) => ({ created_at: at }))
  assert.deepEqual(knownDays(days, [entries, []], 3), days)
  assert.deepEqual(knownDays(days, [entries, []], 2), days.slice(1))
  assert.deepEqual(knownDays(days, [entries, entries.slice(0, 1)], 1), days.slice(2))
})

void test('console: the filters of a ledger are in the address, and the last day is included', () => {
  const filters = { kind: 'charge' as const, agentId: 'agt_1', from: '2026-11-01', to: '2026-11-30' }
  assert.deepEqual(readLedgerFilters(writeLedgerFilters(filters)), filters)
  assert.deepEqual(ledgerQuery(filters), {
    kind: 'charge',
    agent_id: 'agt_1',
    from: '2026-11-01T00:00:00.000Z',
    to: '2026-12-01T00:00:00.000Z',
  })
  assert.equal(ledgerQuery({ ...filters, to: '2026-10-31' }), null)
  assert.deepEqual(readLedgerFilters(new URLSearchParams('kind=gift&from=soon')), { kind: null, agentId: null, from: '', to: '' })
})
