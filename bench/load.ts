/**
 * The load client: divides a load among client processes, which are reused so that none of them starts cold, and merges their counts.
 * Percentiles are calculated from the times of all processes together, never as a mean of percentiles.
 */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Counted, LoadNews, LoadOrder } from './load-process.ts'
import type { Load, LoadSpec, Times } from './scenario.ts'
import { percentile } from './spread.ts'

const program = fileURLToPath(new URL('load-process.ts', import.meta.url))
// With more callers one process would need a whole core for the chunks of paced streams.
const callersAProcess = 500
// Until every process has created its clients.
const startInMs = 50

export type LoadClients = { load(spec: LoadSpec): Promise<Load>; close(): void }

export function openLoadClients(): LoadClients {
  const idle: ChildProcess[] = []
  const all: ChildProcess[] = []

  async function send(order: LoadOrder): Promise<LoadNews> {
    const child = idle.pop() ?? fork(program, { serialization: 'advanced' })
    if (!all.includes(child)) all.push(child)
    child.send(order)
    const ended = new AbortController()
    const dies = once(child, 'exit', { signal: ended.signal }).then(([code]) => {
      throw new Error(`a client process ended with ${code}`)
    })
    const [news] = (await Promise.race([once(child, 'message', { signal: ended.signal }), dies])) as [LoadNews]
    dies.catch(() => undefined)
    ended.abort()
    idle.push(child)
    return news
  }

  return {
    async load({ processes, ...spec }) {
      const many = Math.min(spec.callers, processes ?? Math.ceil(spec.callers / callersAProcess))
      const startAt = Date.now() + startInMs
      const orders = Array.from({ length: many }, (_, index): LoadOrder => {
        const share = shareOf(index, many)
        return {
          ...spec,
          startAt,
          prefix: randomUUID().slice(0, 13),
          callers: share(spec.callers),
          ...(spec.turns === undefined ? {} : { turns: share(spec.turns) }),
          ...(spec.perSecond === undefined ? {} : { perSecond: spec.perSecond / many }),
          ...(spec.users && many > 1 ? { users: spec.users.filter((_user, place) => place % many === index) } : {}),
          ...(spec.keys && many > 1 ? { keys: spec.keys.filter((_key, place) => place % many === index) } : {}),
        }
      })
      return merge(await Promise.all(orders.map(send)))
    },
    close() {
      for (const child of all) child.disconnect()
    },
  }
}

/** Shares of a whole number that add up to it. */
function shareOf(index: number, many: number): (whole: number) => number {
  return (whole) => Math.floor(((index + 1) * whole) / many) - Math.floor((index * whole) / many)
}

export function merge(news: LoadNews[]): Load {
  const labels = [...new Set(news.flatMap(({ byLabel }) => [...byLabel.keys()]))]
  const everyone = news.flatMap(({ byLabel }) => [...byLabel.values()])
  const seconds = Math.max(...news.map((one) => one.seconds))
  const turns = everyone.reduce((sum, { total }) => sum + total.length, 0)
  return {
    turns,
    seconds,
    perSecond: turns / seconds,
    total: timesOf(everyone, 'total'),
    firstDelta: timesOf(everyone, 'firstDelta'),
    refused: {
      count: everyone.reduce((sum, { refused }) => sum + refused.length, 0),
      withRetryAfter: news.reduce((sum, { withRetryAfter }) => sum + withRetryAfter, 0),
      total: timesOf(everyone, 'refused'),
      reasons: summed(news.map((one) => one.reasons)),
    },
    errors: summed(news.map((one) => one.errors)),
    unsent: news.reduce((sum, { unsent }) => sum + unsent, 0),
    byLabel: Object.fromEntries(labels.map((label) => [label, ofLabel(news.flatMap(({ byLabel }) => byLabel.get(label) ?? []))])),
    timeline: Array.from({ length: Math.max(...news.map(({ timeline }) => timeline.length)) }, (_, second) => {
      const then = news.flatMap(({ timeline }) => timeline[second] ?? [])
      const sum = (of: 'turns' | 'refused' | 'errors'): number => then.reduce((total, one) => total + one[of], 0)
      return { turns: sum('turns'), refused: sum('refused'), errors: sum('errors') }
    }),
    clientCpuMs: news.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
  }
}

function summed(counts: Map<string, number>[]): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const one of counts) for (const [what, count] of one) sums[what] = (sums[what] ?? 0) + count
  return sums
}

function ofLabel(counted: Counted[]): Load['byLabel'][string] {
  const sum = (of: (one: Counted) => number): number => counted.reduce((total, one) => total + of(one), 0)
  return {
    turns: sum(({ total }) => total.length),
    refused: sum(({ refused }) => refused.length),
    errors: sum(({ errors }) => errors),
    total: timesOf(counted, 'total'),
    firstDelta: timesOf(counted, 'firstDelta'),
  }
}

function timesOf(counted: Counted[], kind: 'total' | 'firstDelta' | 'refused'): Times {
  const sorted = Float64Array.from(counted.flatMap((one) => [...one[kind]])).toSorted()
  return { p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99), most: percentile(sorted, 1) }
}
