/**
 * Streams at the pace of real models: 200 ms to the first chunk, then one every 20 ms. Every chunk is sent separately, so this is the
 * figure to quote for the cost of a stream. What the server adds to the pace is reported separately.
 */
import { startContenders } from '../contenders.ts'
import { addedFirstDelta50, addedFirstDelta99 } from '../goals.ts'
import type { Bench, Finding, Row, Scenario } from '../scenario.ts'
import { sideBySide } from '../side-by-side.ts'
import { headings } from '../spread.ts'
import type { Spread } from '../spread.ts'

const pace = { chunks: 50, firstMs: 200, gapMs: 20 }
const wholeMs = pace.firstMs + (pace.chunks - 1) * pace.gapMs
/** When callers begin: spread over the time of a stream, as independent ones do, or all at the same instant. */
const loads = [
  { callers: 64, begin: 'spread', spreadMs: wholeMs },
  { callers: 64, begin: 'together', spreadMs: 0 },
  { callers: 256, begin: 'spread', spreadMs: wholeMs },
  { callers: 1000, begin: 'spread', spreadMs: wholeMs },
]
// The limit is 1,000 by default, and a turn may still be ending when its caller sends the next request.
const maxTurns = 2_000
// Several streams for each caller.
const minSeconds = 6

export const paced: Scenario = {
  name: 'paced',
  sentence: `Streams of ${pace.chunks} chunks: ${pace.firstMs} ms to the first one, then ${pace.gapMs} ms each.`,
  async run(bench: Bench): Promise<Finding> {
    const { servers, contenders, notes } = await startContenders(bench, { env: { TURNKEEP_MAX_TURNS: String(maxTurns) } })
    const upstream = await bench.upstream()
    const able = contenders.filter(({ modes }) => modes.includes('stream')).map(({ target }) => target)
    await upstream.configure(bench.quick ? { ...pace, chunks: 5 } : pace)
    const seconds = bench.quick ? bench.seconds : Math.max(minSeconds, bench.seconds)
    const rows: Row[] = []
    for (const { callers, begin, spreadMs } of bench.quick ? [{ ...loads[0]!, callers: 4 }] : loads) {
      const lanes = able.map((target) => ({
        labels: { server: target.name, callers, begin },
        target,
        spec: { calls: [target.call('stream')], callers, seconds, spreadMs },
      }))
      rows.push(...(await sideBySide(bench, lanes)).map(abovePace))
      bench.say(`paced: ${callers} callers done, ${begin}`)
    }
    await upstream.configure({})
    for (const server of servers) await bench.audit(server)
    return {
      rows,
      notes: [
        ...notes,
        `Callers begin spread over the time of a stream. Together: all of them at the same instant, so their chunks come in bursts. The pace alone takes ${wholeMs.toLocaleString('en-US')} ms a turn.`,
      ],
      plots: [
        {
          file: 'paced-cpu',
          title: 'CPU of a stream of 50 chunks, paced',
          x: 'callers',
          y: headings.cpu,
          kind: 'bars',
          // The lower bound comes last, so that we have the same color in all plots.
          series: [...able.slice(1), able[0]!].map(({ name }) => ({
            name,
            points: rows
              .filter(({ labels }) => labels['server'] === name && labels['begin'] === 'spread')
              .map(({ labels, figures }) => ({ x: labels['callers']!, y: figures[headings.cpu]! })),
          })),
        },
      ],
    }
  },
}

/** What exceeds the pace, instead of the times to the first delta. */
function abovePace({ labels, figures }: Row): Row {
  const { [headings.firstDelta50]: first50, [headings.firstDelta99]: first99, ...rest } = figures
  return {
    labels,
    figures: {
      ...rest,
      ...(first50 && { [addedFirstDelta50]: less(first50, pace.firstMs) }),
      ...(first99 && { [addedFirstDelta99]: less(first99, pace.firstMs) }),
    },
  }
}

const less = ({ median, min, max, rounds }: Spread, by: number): Spread => ({ median: median - by, min: min - by, max: max - by, rounds })
