/**
 * Where the CPU time of a turn is spent, by part, from a profile of the server's threads under load. Profiling has a cost itself: compare
 * parts, not sums.
 */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { byPart, partsInOrder } from '../profile-parts.ts'
import type { CpuProfile } from '../profile-parts.ts'
import type { Bench, Mode, Pace, Row, Scenario } from '../scenario.ts'
import { eachInTurn, warm } from '../side-by-side.ts'
import { spread } from '../spread.ts'

const callers = 64
// Twice as fine as node's default, because a turn has many short parts.
const sampleEveryUs = 500
// Waiting for the disk would make the other bars too small.
const waiting = 'store thread: commit and flush'

const paced: Pace = { firstMs: 200, gapMs: 20 }

const loads: { name: string; mode: Mode; pace: Pace }[] = [
  { name: 'sync', mode: 'sync', pace: {} },
  { name: 'stream', mode: 'stream', pace: {} },
  { name: 'paced stream', mode: 'stream', pace: paced },
]

export const profile: Scenario = {
  name: 'profile',
  sentence: `CPU of one turn by part, microseconds, ${callers} callers, SQLite: of a sync turn, of a stream that the model writes at once, and of a paced one.`,
  async run(bench) {
    const columns = await eachInTurn(loads, async ({ name, mode, pace }) => {
      const quickPace = bench.quick ? {} : pace
      return { figure: `${name}, µs a turn`, parts: await profiled(bench, mode, quickPace) }
    })
    const rows = partsInOrder
      .filter((part) => columns.some(({ parts }) => parts.has(part)))
      .map((part): Row => ({
        labels: { part },
        figures: Object.fromEntries(columns.map(({ figure, parts }) => [figure, spread([parts.get(part) ?? 0])])),
      }))
    const notes = [
      'Samples are of time: a thread that waits for its disk counts as at work in `commit and flush`, and where other processes take the cores, every part is too large.',
      "`idle` is what the threads waited for work, the store's two included.",
    ]
    return {
      rows,
      notes,
      plots: [
        plotOf(
          rows,
          columns.map(({ figure }) => figure),
        ),
      ],
    }
  },
}

async function profiled(bench: Bench, mode: Mode, pace: Pace): Promise<Map<string, number>> {
  const folder = bench.makeFolder()
  const nodeArguments = ['--cpu-prof', `--cpu-prof-dir=${folder}`, `--cpu-prof-interval=${sampleEveryUs}`]
  const upstream = await bench.upstream()
  await upstream.configure({})
  const server = await bench.startServer({ nodeArguments })
  await warm(bench, server)
  await upstream.configure(pace)
  // The profile uses the machine's monotonic clock, as this does.
  const now = (): number => Number(process.hrtime.bigint() / 1000n)
  const from = now()
  const { turns } = await bench.measure(server, { calls: [server.call(mode)], callers, seconds: bench.seconds })
  const to = now()
  await bench.audit(server)
  await server.stop()
  const sums = new Map<string, number>()
  for (const file of readdirSync(folder)) {
    // CPU.<date>.<time>.<pid>.<thread>.<sequence>.cpuprofile; the main thread is 0.
    const thread = file.split('.').at(-3) === '0' ? 'main' : 'store'
    const read = JSON.parse(readFileSync(join(folder, file), 'utf8')) as CpuProfile
    for (const [part, us] of byPart(read, thread, from, to)) sums.set(part, (sums.get(part) ?? 0) + us / turns)
  }
  if (sums.size === 0) throw new Error('the server left no profile of the load')
  return sums
}

function plotOf(rows: Row[], figures: string[]) {
  const busy = rows.filter(({ labels }) => labels['part'] !== 'idle' && labels['part'] !== waiting)
  return {
    file: 'profile',
    title: 'CPU of one turn by part',
    x: '',
    y: 'µs a turn',
    kind: 'bars' as const,
    series: figures.map((figure) => ({
      name: figure,
      points: busy.map(({ labels, figures: of }) => ({ x: labels['part']!, y: of[figure]! })),
    })),
  }
}
