/** What the benchmark writes for readers: tables, plots, the results of the goals, and the sections of docs/performance.md. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { goalsTable, judge } from '../../bench/goals.ts'
import { growthTable } from '../../bench/growth.ts'
import { svgOf } from '../../bench/plot.ts'
import { between, readResults, writeResults } from '../../bench/report.ts'
import type { Finding, Row } from '../../bench/scenario.ts'
import { headings, spread } from '../../bench/spread.ts'
import { sectionOf, tableOf, write, writeSpread } from '../../bench/table.ts'

void test('bench: a table has labels first, then the figures in the order of all tables, and empty cells for missing ones', () => {
  const rows: Row[] = [
    { labels: { server: 'turnkeep', callers: 1000 }, figures: { [headings.p50]: spread([1]), [headings.rate]: spread([1, 2, 3]) } },
    { labels: { server: 'peer', callers: 64 }, figures: { own: spread([0.123]) } },
  ]
  assert.equal(
    tableOf(rows),
    [
      '| server | callers | turns/s | p50, ms | own |',
      '| --- | --- | --- | --- | --- |',
      '| turnkeep | 1,000 | 2 (1–3) | 1 |  |',
      '| peer | 64 |  |  | 0.12 |',
    ].join('\n'),
  )
})

void test('bench: a figure has three significant digits', () => {
  assert.deepEqual([12_345.6, 123.4, 12.34, 1.234, 0.1234, 0.01234, 0, -2.5].map(write), [
    '12,346',
    '123',
    '12.3',
    '1.23',
    '0.12',
    '0.012',
    '0',
    '-2.5',
  ])
  assert.equal(writeSpread(spread([1, 2, 4])), '2 (1–4)')
})

void test('bench: a scenario that was not measured shows the reason instead of a table', () => {
  assert.equal(sectionOf({ rows: [], notRun: 'no compiler here' }), 'Not run: no compiler here.')
  assert.match(sectionOf({ rows: [{ labels: { a: 'b' }, figures: {} }], notes: ['One.', 'Two.'] }), /\| b \|\n\n- One\.\n- Two\.$/)
})

void test('bench: a plot is well-formed, shows every series and its spread, and escapes names in its markup', () => {
  const svg = svgOf({
    file: 'f',
    title: 'a < b & c',
    x: 'callers',
    y: 'ms',
    kind: 'lines',
    series: [
      { name: 'ours', points: [1, 16].map((x) => ({ x, y: spread([x, x * 2, x * 3]) })) },
      { name: 'theirs', points: [{ x: 16, y: spread([5]) }] },
    ],
  })
  assert.match(svg, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" viewBox="0 0 720 360"/)
  assert.ok(svg.includes('a &lt; b &amp; c') && !svg.includes('a < b'))
  assert.equal(svg.match(/<polyline /g)!.length, 2)
  assert.equal(svg.match(/<circle /g)!.length, 3)
  assert.ok(svg.includes('>ours<') && svg.includes('>theirs<'))
  // Every element is closed, in its order.
  const open: string[] = []
  for (const [, close, name, alone] of svg.matchAll(/<(\/?)([a-z]+)[^>]*?(\/?)>/g)) {
    if (close) assert.equal(open.pop(), name)
    else if (!alone) open.push(name!)
  }
  assert.deepEqual(open, [])
  assert.ok(!svg.includes('NaN') && !svg.includes('undefined'))
})

void test('bench: bars are within the frame, at heights in proportion', () => {
  const bar = (value: number) => ({ name: `bar ${value}`, points: [{ x: 'all', y: spread([value]) }] })
  const svg = svgOf({ file: 'f', title: 't', x: '', y: 'y', kind: 'bars', series: [bar(50), bar(100)] })
  const heights = [...svg.matchAll(/<rect [^>]*height="([\d.]+)" fill="[^"]+"><title>/g)].map(([, height]) => Number(height))
  assert.deepEqual(heights, [120, 240])
})

const finding = (rows: Row[]): Finding => ({ rows })
const cpu = (server: string, callers: number, ms: number): Row => ({
  labels: { server, callers },
  figures: { [headings.cpu]: spread([ms]) },
})
const rate = (server: string, perSecond: number): Row => ({
  labels: { server, callers: 64 },
  figures: { [headings.rate]: spread([perSecond]) },
})

void test('bench: a goal is met at its bound, not met beyond it, and not run without its figure or its peer', () => {
  const verdicts = (rows: Row[]) => judge(new Map([['sync', finding(rows)]])).map(({ figure, met, shown }) => ({ figure, met, shown }))
  const find = (rows: Row[], part: string) => verdicts(rows).find(({ figure }) => figure.includes(part))!
  const cpuGoal = 'server CPU of a sync turn'
  assert.deepEqual(find([cpu('turnkeep', 64, 0.35)], cpuGoal).met, true)
  assert.deepEqual(find([cpu('turnkeep', 64, 0.36)], cpuGoal).met, false)
  // Of 64 callers, and of Turnkeep.
  assert.deepEqual(find([cpu('turnkeep', 16, 0.1), cpu('glue', 64, 0.1)], cpuGoal).met, undefined)
  const besideGlue = 'beside glue'
  assert.deepEqual(find([rate('turnkeep', 240), rate('glue', 200)], besideGlue), {
    figure: find([], besideGlue).figure,
    met: true,
    shown: '1.2 ×',
  })
  assert.equal(find([rate('turnkeep', 230), rate('glue', 200)], besideGlue).met, false)
  assert.equal(find([rate('turnkeep', 240)], besideGlue).met, undefined)
  assert.match(goalsTable(judge(new Map())), /not run: needs sync with the peer glue/)
})

void test('bench: the table of growth has each size of what grows, of Turnkeep only, and of each store', () => {
  const stored = (store: string, turns: number, ms: number): Row => ({
    labels: { store, turns },
    figures: { [headings.cpu]: spread([ms]) },
  })
  const findings = new Map([
    ['sync', finding([cpu('turnkeep', 1, 2), cpu('glue', 1, 3), cpu('turnkeep', 64, 1)])],
    ['filled', finding([stored('SQLite', 1_000_000, 5), stored('PostgreSQL', 0, 4)])],
  ])
  assert.deepEqual(growthTable(findings).split('\n').slice(2), [
    '| callers that wait for their reply | 1 |  | 2 |  |  |',
    '| callers that wait for their reply | 64 |  | 1 |  |  |',
    '| stored turns, SQLite | 1,000,000 |  | 5 |  |  |',
    '| stored turns, PostgreSQL | 0 |  | 4 |  |  |',
  ])
})

void test('bench: the page keeps what is outside of the marks, and a scenario without a place in it is refused', () => {
  const page = 'a\n<!-- bench:one -->\nold\n<!-- /bench:one -->\nb\n'
  assert.equal(between(page, 'one', 'new'), 'a\n<!-- bench:one -->\nnew\n<!-- /bench:one -->\nb\n')
  assert.throws(() => between(page, 'two', 'new'), /no <!-- bench:two -->/)
})

void test('docs/performance.md has a place for every scenario, for the goals and for the machine', () => {
  const read = (file: string): string => readFileSync(join(import.meta.dirname, '..', '..', file), 'utf8')
  const names = [...read('docs/performance.md').matchAll(/<!-- bench:([\w-]+) -->/g)].map(([, name]) => name)
  const sources = [
    'callers',
    'openai',
    'paced',
    'stores',
    'long-conversation',
    'filled',
    'replays',
    'retrieval',
    'idle-streams',
    'spend-limits',
    'webhooks',
    'start',
    'orphans',
    'profile',
    'soak',
    'fairness',
  ]
  const scenarios = [...sources.map((name) => `bench/scenarios/${name}.ts`), 'bench/overload.ts'].flatMap((file) =>
    [...read(file).matchAll(/: Scenario = \{\n {2}name: '([\w-]+)'/g)].map(([, name]) => name),
  )
  assert.deepEqual(names.toSorted(), ['goals', 'machine', ...scenarios].toSorted())
})

void test('bench: a continued run has all of the previous run, its plots too', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-test-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const points = [{ x: 1, y: spread([2, 3]) }]
  const finding: Finding = {
    rows: [{ labels: { server: 'turnkeep' }, figures: { [headings.p50]: spread([1, 2]) } }],
    plots: [{ file: 'f', title: 't', x: 'x', y: 'y', kind: 'lines', series: [{ name: 'ours', points }] }],
    notes: ['One.'],
  }
  const findings = new Map([['sync', finding]])
  writeResults(
    { machine: 'two cores', scenarios: [{ name: 'sync', sentence: 's', run: () => Promise.resolve(finding) }], findings, judged: [] },
    folder,
  )
  assert.deepEqual(readResults(folder), { machine: 'two cores', findings })
})
