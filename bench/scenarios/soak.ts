/** Memory under a steady load of many minutes: does it grow? */
import { setTimeout as pass } from 'node:timers/promises'
import type { Scenario } from '../scenario.ts'
import { warm } from '../side-by-side.ts'
import { slope, spread } from '../spread.ts'

const callers = 32
// The heap first takes the space that it needs; growth is what comes after that.
const settleShare = 0.3
const lookEveryMs = 2_000
const minuteMs = 60_000

export const soak: Scenario = {
  name: 'soak',
  sentence: `Sync and streamed turns of ${callers} callers in turn, without a pause: the slope of the process's memory after the first third.`,
  async run(bench) {
    if (bench.soakMinutes === 0) return { rows: [], notRun: '--soak-minutes is 0' }
    await (await bench.upstream()).configure({})
    const server = await bench.startServer()
    await warm(bench, server)
    const until = performance.now() + bench.soakMinutes * minuteMs
    const startedAt = performance.now()
    const minutes = (): number => (performance.now() - startedAt) / minuteMs
    const looks: { x: number; y: number }[] = []
    let turns = 0
    const loads = (async () => {
      for (let round = 0; performance.now() < until; round++) {
        const left = (until - performance.now()) / 1000
        const calls = [server.call(round % 2 === 0 ? 'sync' : 'stream')]
        turns += (await bench.measure(server, { calls, callers, seconds: Math.min(10, Math.max(0.1, left)) })).turns
      }
    })()
    const watch = (async () => {
      for (; performance.now() < until; await pass(lookEveryMs)) looks.push({ x: minutes(), y: bench.rssMb(server.pid) })
    })()
    await Promise.all([loads, watch])
    await bench.audit(server)
    const settled = looks.filter(({ x }) => x >= bench.soakMinutes * settleShare)
    const memory = settled.map(({ y }) => y)
    return {
      rows: [
        {
          labels: { minutes: bench.soakMinutes, turns },
          figures: { 'RSS after a third, MB': spread(memory), 'growth, MB an hour': spread([slope(settled) * 60]) },
        },
      ],
      plots: [
        {
          file: 'soak',
          title: 'Memory under a steady load',
          x: 'minutes',
          y: 'RSS, MB',
          kind: 'lines',
          // As many points as a reader can distinguish.
          series: [{ name: 'turnkeep', points: thinned(looks, 40).map(({ x, y }) => ({ x: Math.round(x * 10) / 10, y: spread([y]) })) }],
        },
      ],
    }
  },
}

function thinned<Item>(items: Item[], most: number): Item[] {
  const step = Math.max(1, Math.ceil(items.length / most))
  return items.filter((_, index) => index % step === 0)
}
