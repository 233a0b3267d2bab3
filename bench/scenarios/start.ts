/** The time from the spawn to a response of /readyz, and the memory of a process after its start and after a load. */
import { setTimeout as pass } from 'node:timers/promises'
import { readyMs, rssAfter, rssIdle, rssLater } from '../goals.ts'
import type { Bench, Finding, Row, Scenario, Server } from '../scenario.ts'
import { spread } from '../spread.ts'
import type { Spread } from '../spread.ts'

const callers = 64
// The garbage of the start is collected by then.
const settleMs = 1_500
// An idle process has given its memory back by then: it checks every ten seconds, and collects after six idle checks.
const laterMs = 75_000

export const start: Scenario = {
  name: 'start',
  sentence: `Spawned to 200 of /readyz: on an empty folder without a compile cache, on an empty folder with the cache that an install has filled, and again on the folder that this one left; memory idle, after ${callers} callers of both modes, and when nothing has run for a minute after that (measured once).`,
  async run(bench): Promise<Finding> {
    await (await bench.upstream()).configure({})
    const uncached: number[] = []
    const first: number[] = []
    const processRuns = await bench.eachRound(async (round) => {
      const slow = await bench.startServer({ env: { NODE_DISABLE_COMPILE_CACHE: '1' } })
      uncached.push(slow.startMs)
      await slow.stop()
      const folder = bench.makeFolder()
      const server = await bench.startServer({ folder })
      first.push(server.startMs)
      await server.stop()
      return liveOnce(bench, await bench.startServer({ folder }), round === 0 && !bench.quick)
    })
    const over = (of: (life: ProcessRun) => number): Spread => spread(processRuns.map(of))
    const rows: Row[] = [
      { labels: { server: 'turnkeep', start: 'nothing cached' }, figures: { [readyMs]: spread(uncached) } },
      { labels: { server: 'turnkeep', start: 'first' }, figures: { [readyMs]: spread(first) } },
      {
        labels: { server: 'turnkeep', start: 'again' },
        figures: {
          [readyMs]: over(({ startMs }) => startMs),
          [rssIdle]: over(({ idle }) => idle),
          [rssAfter]: over(({ after }) => after),
          ...(processRuns[0]?.later === undefined ? {} : { [rssLater]: spread([processRuns[0].later]) }),
        },
      },
    ]
    for (const peer of await bench.startPeers()) {
      await pass(settleMs)
      const idle = bench.rssMb(peer.pid)
      for (const mode of ['sync', 'stream'] as const)
        await bench.load({ base: peer.base, calls: [peer.call(mode)], callers, seconds: bench.seconds })
      const figures = { [readyMs]: spread([peer.startMs]), [rssIdle]: spread([idle]), [rssAfter]: spread([bench.rssMb(peer.pid)]) }
      rows.push({ labels: { server: peer.name, start: 'again' }, figures })
    }
    return { rows }
  },
}

type ProcessRun = { startMs: number; idle: number; after: number; later?: number }

async function liveOnce(bench: Bench, server: Server, waits: boolean): Promise<ProcessRun> {
  await pass(settleMs)
  const idle = bench.rssMb(server.pid)
  for (const mode of ['sync', 'stream'] as const)
    await bench.measure(server, { calls: [server.call(mode)], callers, seconds: bench.seconds })
  const after = bench.rssMb(server.pid)
  await bench.audit(server)
  if (waits) await pass(laterMs)
  const later = waits ? { later: bench.rssMb(server.pid) } : {}
  await server.stop()
  return { startMs: server.startMs, idle, after, ...later }
}
