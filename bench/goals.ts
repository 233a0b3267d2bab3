/**
 * The goals of the design, each with the place of its figure in the findings: met, not met, or not run. Only this file judges figures. A
 * ratio is one of medians of the same run; a goal relative to a peer needs that peer.
 */
import { onPostgres } from './contenders.ts'
import type { Finding, Row } from './scenario.ts'
import { headings, ratio } from './spread.ts'
import type { Spread } from './spread.ts'
import { markdown, write } from './table.ts'

export type Findings = ReadonlyMap<string, Finding>
/** `value` is undefined if what it needs was not measured. */
export type Judged = { figure: string; goal: string; shown: string; met: boolean | undefined; why: string }

type Goal = {
  figure: string
  /** In the unit of the figure: a maximum, or a minimum. */
  bound: { atMost: number } | { atLeast: number }
  unit: string
  value: (find: Find) => number | undefined
  /** What has to run for it. */
  needs: string
}

export type Labels = Record<string, string | number>
/** The figure of the row with these labels; undefined if there is none. */
type Find = (scenario: string, labels: Labels, figure: string) => Spread | undefined

/** The name in tables of Turnkeep on SQLite. */
export const us = 'turnkeep'
const model = 'the model itself'

/** One figure divided by the other; undefined if one of them is missing. */
const beside = (these: Spread | undefined, those: Spread | undefined): number | undefined => these && those && ratio(these, those)
const above = (these: Spread | undefined, those: Spread | undefined): number | undefined => these && those && these.median - those.median

const paced = { server: us, callers: 64, begin: 'spread' }

const goals: Goal[] = [
  {
    figure: 'sync turns/s at 64 callers, SQLite, beside glue',
    bound: { atLeast: 1.2 },
    unit: '×',
    needs: 'sync with the peer glue',
    value: (find) =>
      beside(find('sync', { server: us, callers: 64 }, headings.rate), find('sync', { server: 'glue', callers: 64 }, headings.rate)),
  },
  {
    figure: 'server CPU of a sync turn at 64 callers',
    bound: { atMost: 0.35 },
    unit: 'ms',
    needs: 'sync',
    value: (find) => find('sync', { server: us, callers: 64 }, headings.cpu)?.median,
  },
  {
    figure: 'stream turns/s at 64 callers, 50 chunks without delay, beside portkey',
    bound: { atLeast: 1.3 },
    unit: '×',
    needs: 'stream with the peer portkey',
    value: (find) =>
      beside(find('stream', { server: us, callers: 64 }, headings.rate), find('stream', { server: 'portkey', callers: 64 }, headings.rate)),
  },
  {
    figure: 'server CPU of a paced stream of 50 chunks',
    bound: { atMost: 2.4 },
    unit: 'ms',
    needs: 'paced',
    value: (find) => find('paced', paced, headings.cpu)?.median,
  },
  {
    figure: "the same beside the upstream's own",
    bound: { atMost: 2 },
    unit: '×',
    needs: 'paced',
    value: (find) => beside(find('paced', paced, headings.cpu), find('paced', { ...paced, server: model }, headings.cpu)),
  },
  {
    figure: 'added time to the first delta, idle, p50',
    bound: { atMost: 0.5 },
    unit: 'ms',
    needs: 'stream',
    value: (find) =>
      above(
        find('stream', { server: us, callers: 1 }, headings.firstDelta50),
        find('stream', { server: model, callers: 1 }, headings.firstDelta50),
      ),
  },
  {
    figure: 'added time to the first delta, 64 paced streams, p50',
    bound: { atMost: 5 },
    unit: 'ms',
    needs: 'paced',
    value: (find) => find('paced', paced, addedFirstDelta50)?.median,
  },
  {
    figure: 'the same, p99',
    bound: { atMost: 25 },
    unit: 'ms',
    needs: 'paced',
    value: (find) => find('paced', paced, addedFirstDelta99)?.median,
  },
  {
    figure: 'added latency of a lone sync turn, p50',
    bound: { atMost: 1.3 },
    unit: 'ms',
    needs: 'sync',
    value: (find) =>
      above(find('sync', { server: us, callers: 1 }, headings.p50), find('sync', { server: model, callers: 1 }, headings.p50)),
  },
  {
    figure: 'sync turns/s at 64 callers, PostgreSQL and Redis beside SQLite',
    bound: { atLeast: 0.6 },
    unit: '×',
    needs: 'stores',
    value: (find) =>
      beside(
        find('stores', { store: 'PostgreSQL', mode: 'sync' }, headings.rate),
        find('stores', { store: 'SQLite', mode: 'sync' }, headings.rate),
      ),
  },
  {
    figure: 'sync turns/s at 64 callers, PostgreSQL and Redis, beside the turn on Restate',
    bound: { atLeast: 6 },
    unit: '×',
    needs: 'sync with the peer restate',
    value: (find) =>
      beside(
        find('sync', { server: onPostgres, callers: 64 }, headings.rate),
        find('sync', { server: 'restate', callers: 64 }, headings.rate),
      ),
  },
  {
    figure: 'a lone sync turn, PostgreSQL and Redis, p50',
    bound: { atMost: 2.5 },
    unit: 'ms',
    needs: 'sync with a peer',
    value: (find) => find('sync', { server: onPostgres, callers: 1 }, headings.p50)?.median,
  },
  ...(['SQLite', 'PostgreSQL'] as const).flatMap((store): Goal[] => [
    {
      figure: `one hot owner beside 100 owners, ${store}`,
      bound: { atLeast: 0.9 },
      unit: '×',
      needs: 'owners',
      value: (find) => beside(find('owners', { store, owners: 1 }, headings.rate), find('owners', { store, owners: 100 }, headings.rate)),
    },
    {
      figure: `2 ms slower flush, 64 callers, ${store}`,
      bound: { atLeast: 0.5 },
      unit: '×',
      needs: 'slow-flush',
      value: (find) =>
        beside(
          find('slow-flush', { store, flush: '2 ms slower' }, headings.rate),
          find('slow-flush', { store, flush: 'as it is' }, headings.rate),
        ),
    },
    {
      figure: `turn 10,001 of a conversation beside turn 10, time, ${store}`,
      bound: { atMost: 1.1 },
      unit: '×',
      needs: 'long-conversation',
      value: (find) =>
        beside(
          find('long-conversation', { store, turn: 'past 10,000' }, headings.p50),
          find('long-conversation', { store, turn: 'tenth' }, headings.p50),
        ),
    },
    {
      figure: `a store of 1,000,000 turns beside an empty one, ${store}`,
      bound: { atLeast: 0.9 },
      unit: '×',
      needs: 'filled',
      value: (find) =>
        beside(find('filled', { store, turns: 1_000_000 }, headings.rate), find('filled', { store, turns: 0 }, headings.rate)),
    },
  ]),
  {
    figure: 'first start to ready',
    bound: { atMost: 500 },
    unit: 'ms',
    needs: 'start',
    value: (find) => find('start', { server: us, start: 'first' }, readyMs)?.median,
  },
  {
    figure: 'start to ready, again',
    bound: { atMost: 500 },
    unit: 'ms',
    needs: 'start',
    value: (find) => find('start', { server: us, start: 'again' }, readyMs)?.median,
  },
  {
    figure: 'RSS idle',
    bound: { atMost: 110 },
    unit: 'MB',
    needs: 'start',
    value: (find) => find('start', { server: us, start: 'again' }, rssIdle)?.median,
  },
  {
    figure: 'RSS after load',
    bound: { atMost: 250 },
    unit: 'MB',
    needs: 'start',
    value: (find) => find('start', { server: us, start: 'again' }, rssAfter)?.median,
  },
  {
    figure: 'memory of one of 10,000 open streams',
    bound: { atMost: 30 },
    unit: 'KiB',
    needs: 'idle-streams',
    value: (find) => find('idle-streams', { server: us }, kibAStream)?.median,
  },
  {
    figure: 'an orphaned turn answered after kill -9, PostgreSQL, p99',
    bound: { atMost: 5 },
    unit: 's',
    needs: 'orphans',
    value: (find) => find('orphans', { server: us, store: 'PostgreSQL' }, orphanP99)?.median,
  },
]

export const addedFirstDelta50 = 'first delta p50 above the pace, ms'
export const addedFirstDelta99 = 'first delta p99 above the pace, ms'
export const readyMs = 'ready after, ms'
export const rssIdle = 'RSS idle, MB'
export const rssAfter = 'RSS after load, MB'
export const rssLater = 'RSS a minute after load, MB'
export const kibAStream = 'KiB a stream'
export const orphanP99 = 'p99, s'

export function judge(findings: Findings): Judged[] {
  const find: Find = (scenario, labels, figure) => {
    const fits = (row: Row): boolean => Object.entries(labels).every(([name, value]) => row.labels[name] === value) && figure in row.figures
    return findings.get(scenario)?.rows.find(fits)?.figures[figure]
  }
  return goals.map(({ figure, bound, unit, value, needs }) => {
    const found = value(find)
    const goal = `${'atMost' in bound ? '≤' : '≥'} ${'atMost' in bound ? bound.atMost : bound.atLeast} ${unit}`
    if (found === undefined) return { figure, goal, shown: '', met: undefined, why: `needs ${needs}` }
    const met = 'atMost' in bound ? found <= bound.atMost : found >= bound.atLeast
    return { figure, goal, shown: `${write(found)} ${unit}`, met, why: '' }
  })
}

export function goalsTable(judged: Judged[]): string {
  const verdict = ({ met, why }: Judged): string => (met === undefined ? `not run: ${why}` : met ? 'met' : '**not met**')
  return markdown(
    ['figure', 'goal', 'measured', ''],
    judged.map((one) => [one.figure, one.goal, one.shown, verdict(one)]),
  )
}
