/** The benchmark's arithmetic: a wrong median or a lost share would be a wrong figure on the page. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { filler } from '../../bench/call.ts'
import { merge } from '../../bench/load.ts'
import type { LoadNews } from '../../bench/load-process.ts'
import { byPart } from '../../bench/profile-parts.ts'
import type { CpuProfile } from '../../bench/profile-parts.ts'
import { percentile, slope, spread } from '../../bench/spread.ts'

void test('bench: the median of a spread is that of its rounds, and the mean of two middle values', () => {
  assert.deepEqual(spread([9, 1, 5]), { median: 5, min: 1, max: 9, rounds: 3 })
  assert.deepEqual(spread([4, 1, 2, 9]), { median: 3, min: 1, max: 9, rounds: 4 })
  assert.deepEqual(spread([7]), { median: 7, min: 7, max: 7, rounds: 1 })
  assert.throws(() => spread([]), /no round/)
})

void test('bench: a percentile is by nearest rank: of a hundred values p99 is the 99th', () => {
  const hundred = Array.from({ length: 100 }, (_, index) => index + 1)
  assert.deepEqual(
    [0.5, 0.99, 1].map((share) => percentile(hundred, share)),
    [50, 99, 100],
  )
  assert.equal(percentile([3], 0.99), 3)
  assert.equal(percentile([], 0.5), 0)
})

void test('bench: a slope is that of the line through the points, and 0 if there is none', () => {
  assert.equal(
    slope([
      { x: 0, y: 5 },
      { x: 1, y: 7 },
      { x: 2, y: 9 },
    ]),
    2,
  )
  assert.equal(slope([{ x: 1, y: 3 }]), 0)
})

const counted = (total: number[], refused: number[] = [], errors = 0) => ({
  total: Float64Array.from(total),
  firstDelta: Float64Array.from(total, (ms) => ms / 2),
  refused: Float64Array.from(refused),
  errors,
})

const news = (changes: Partial<LoadNews>): LoadNews => ({
  byLabel: new Map(),
  withRetryAfter: 0,
  errors: new Map(),
  reasons: new Map(),
  unsent: 0,
  timeline: [],
  seconds: 1,
  cpuMs: 0,
  ...changes,
})

void test('bench: the counts of several client processes are merged by value, not by the mean of their percentiles', () => {
  const load = merge([
    news({
      byLabel: new Map([['one', counted([1, 2, 3, 100], [5], 1)]]),
      errors: new Map([['ECONNRESET', 1]]),
      reasons: new Map([['503 service_unavailable', 1]]),
      withRetryAfter: 1,
      timeline: [{ turns: 4, refused: 1, errors: 1 }],
      seconds: 2,
      cpuMs: 3,
    }),
    news({
      byLabel: new Map([
        ['one', counted([4])],
        ['two', counted([6, 7])],
      ]),
      errors: new Map([['ECONNRESET', 2]]),
      timeline: [
        { turns: 2, refused: 0, errors: 0 },
        { turns: 1, refused: 0, errors: 2 },
      ],
      unsent: 2,
      seconds: 1,
      cpuMs: 4,
    }),
  ])
  assert.deepEqual([load.turns, load.seconds, load.perSecond, load.clientCpuMs, load.unsent], [7, 2, 3.5, 7, 2])
  assert.deepEqual(load.total, { p50: 4, p99: 100, most: 100 })
  assert.deepEqual(load.firstDelta, { p50: 2, p99: 50, most: 50 })
  assert.deepEqual(load.refused, {
    count: 1,
    withRetryAfter: 1,
    total: { p50: 5, p99: 5, most: 5 },
    reasons: { '503 service_unavailable': 1 },
  })
  assert.deepEqual(load.errors, { ECONNRESET: 3 })
  assert.deepEqual([load.byLabel['one']!.turns, load.byLabel['one']!.errors, load.byLabel['two']!.total.p50], [5, 1, 6])
  assert.deepEqual(load.timeline, [
    { turns: 6, refused: 1, errors: 1 },
    { turns: 1, refused: 0, errors: 2 },
  ])
})

void test('bench: every placeholder of a call is filled, in path, headers and body', () => {
  const fill = filler({
    path: '/a/{{user}}',
    headers: { key: 'k-{{key}}', plain: 'x' },
    body: '{"m":"{{text}}","u":"{{user}}"}',
    whole: [],
  })
  assert.deepEqual(fill({ user: 'u', text: 't', key: '1' }), {
    path: '/a/u',
    headers: { key: 'k-1', plain: 'x' },
    body: '{"m":"t","u":"u"}',
  })
})

/** root → src/http/http.ts → src/agent/models/transport/exchange.ts → a native function; every sample is 10 µs. */
const profile: CpuProfile = {
  nodes: [
    { id: 1, callFrame: { functionName: '(root)', url: '' }, children: [2, 5, 6] },
    { id: 2, callFrame: { functionName: 'onRequest', url: 'file:///t/src/http/http.ts' }, children: [3] },
    { id: 3, callFrame: { functionName: 'exchange', url: 'file:///t/src/agent/models/exchange.ts' }, children: [4] },
    { id: 4, callFrame: { functionName: 'writev', url: '' } },
    { id: 5, callFrame: { functionName: '(idle)', url: '' } },
    { id: 6, callFrame: { functionName: '(garbage collector)', url: '' } },
  ],
  startTime: 1000,
  samples: [2, 4, 3, 5, 6, 4],
  timeDeltas: [10, 10, 10, 10, 10, 10],
}

void test('bench: a sample counts for the nearest frame above it that has a part, and only during the load', () => {
  assert.deepEqual(Object.fromEntries(byPart(profile, 'main', 0, 2000)), { 'HTTP in': 10, 'model client': 30, idle: 10, GC: 10 })
  assert.deepEqual(Object.fromEntries(byPart(profile, 'main', 1015, 1045)), { 'model client': 20, idle: 10 })
})

void test('bench: in a store thread the statement counts, not the file that runs it', () => {
  const node = (id: number, file: string, children: number[]) => ({
    id,
    callFrame: { functionName: 'f', url: `file:///t/src/store/sqlite/${file}` },
    children,
  })
  const thread: CpuProfile = {
    nodes: [
      { id: 1, callFrame: { functionName: '(root)', url: '' }, children: [2, 5] },
      node(2, 'group-commit.ts', [3]),
      node(3, 'admit.ts', [4]),
      node(4, 'statements.ts', []),
      node(5, 'serve-thread.ts', []),
    ],
    startTime: 0,
    samples: [4, 2, 5],
    timeDeltas: [1, 2, 4],
  }
  assert.deepEqual(Object.fromEntries(byPart(thread, 'store', 0, 10)), {
    'store thread: admit': 1,
    'store thread: commit and flush': 2,
    'store thread: the rest': 4,
  })
})
