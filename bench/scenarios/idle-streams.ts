/** Ten thousand open streams with little traffic: the memory of each. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as pass } from 'node:timers/promises'
import { notWhole } from '../bench.ts'
import { kibAStream } from '../goals.ts'
import type { Bench, Load, Scenario, Server } from '../scenario.ts'
import { warm } from '../side-by-side.ts'
import { spread } from '../spread.ts'

const streams = 10_000
// Less than the 30 s after which a silent model is given up, and a third of the 110 s of a turn.
const pace = { chunks: 4, firstMs: 0, gapMs: 28_000 }
const quickPace = { chunks: 3, firstMs: 0, gapMs: 500 }
// A stream is two connections of the server, which needs some other files too.
const filesBesides = 200
const filesOf = (many: number): number => 2 * many + filesBesides
// They arrive gradually and not all at once; all are open long before the first one ends.
const opensPerSecond = 200
// The garbage of their start is collected by then.
const settleMs = 3_000

export const idleStreams: Scenario = {
  name: 'idle-streams',
  sentence: `${streams.toLocaleString('en-US')} streams open at once, each with one chunk in 28 s: memory of the server with them, less its memory before.`,
  async run(bench) {
    const { openFiles, many } = spaceFor(bench.quick ? 50 : streams)
    const upstream = await bench.upstream()
    await upstream.configure({})
    const server = await bench.startServer({ openFiles, env: { TURNKEEP_MAX_TURNS: String(2 * streams) } })
    await warm(bench, server)
    await upstream.configure(bench.quick ? quickPace : pace)
    await pass(bench.quick ? 0 : settleMs)
    const before = bench.rssMb(server.pid)
    const startedAt = performance.now()
    const load = bench.load({ base: server.base, calls: [server.call('stream')], callers: many, turns: many, perSecond: opensPerSecond })
    await opened(bench, server, many, load)
    const perSecond = (many * 1000) / (performance.now() - startedAt)
    await pass(bench.quick ? 0 : settleMs)
    const kib = ((bench.rssMb(server.pid) - before) * 1024) / many
    const ended = await load
    if (ended.turns !== many) throw new Error(`of ${many} streams ${ended.turns} were whole: ${JSON.stringify(ended.errors)}`)
    await bench.audit(server)
    await upstream.configure({})
    const figures = { [kibAStream]: spread([kib]), 'RSS before, MB': spread([before]), 'opened a second': spread([perSecond]) }
    const fewer = `A process may hold ${openFiles.toLocaleString('en-US')} files here, which is enough for this many streams.`
    const notes = [
      'Every stream was whole at its end. Measured once: it takes two minutes.',
      ...(many < streams && !bench.quick ? [fewer] : []),
    ]
    return { rows: [{ labels: { server: 'turnkeep', streams: many }, figures }], notes }
  },
}

/** The maximum that the machine allows one process; only a privileged user may raise it. */
function spaceFor(wanted: number): { openFiles: number; many: number } {
  const files = filesOf(wanted)
  try {
    execFileSync('prlimit', [`--nofile=${files}:${files}`, 'true'], { stdio: 'ignore' })
    return { openFiles: files, many: wanted }
  } catch {
    const [, most] = /Max open files\s+\d+\s+(\d+)/.exec(readFileSync('/proc/self/limits', 'latin1'))!
    const openFiles = Math.min(files, Number(most))
    return { openFiles, many: Math.floor((openFiles - filesBesides) / 2) }
  }
}

/** Until the model has been called for each of them; throws if the load ends before. */
async function opened(bench: Bench, server: Server, many: number, load: Promise<Load>): Promise<void> {
  const upstream = await bench.upstream()
  let over: Load | undefined
  void load.then((ended) => (over = ended))
  for (;;) {
    const { calls } = await upstream.stats()
    if (calls >= many) return
    if (over) throw new Error(`only ${calls} of ${many} streams of ${server.name} reached the model: ${notWhole(over)}`)
    await pass(50)
  }
}
