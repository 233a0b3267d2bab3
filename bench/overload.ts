/**
 * Three times the load that the server can sustain: what it still answers, and to whom, with how much memory, and how soon everything is
 * normal again. One owner floods it, in an open loop and with callers that never wait, while another one continues at a low rate.
 * docs/decisions/0025-overload.md.
 */
import type { Bench, Finding, Load, Row, Scenario, Server, Tenant } from './scenario.ts'
import { headings, spread } from './spread.ts'

const steadyCallers = 64
const floodFactor = 3
// Above TURNKEEP_MAX_TURNS, so that some are refused.
const floodCallers = 1500
// Concurrent requests. With more the client would measure its own sockets.
const maxOutput = 3000
const calmCallers = 4
// Long enough for a percentile, short enough to say when it was.
const lookSeconds = 0.25
const lookCallers = 16
// A p99 twice as long as before is within the normal variation of an idle machine.
const normalFactor = 2
const maxRecoveryMs = 30_000

const floods = {
  [`${floodFactor} times the best rate, whoever waits`]: (best: number) => ({ perSecond: floodFactor * best, callers: maxOutput }),
  [`${floodCallers} callers, none waits`]: () => ({ callers: floodCallers }),
}

const figures = {
  refused: 'refused/s',
  refusal: 'refusal p99, ms',
  memory: 'RSS, MB',
  normal: 'normal again after, s',
} as const

type Measured = { labels: Row['labels']; values: Record<string, number> }

export const overload: Scenario = {
  name: 'overload',
  sentence: `${floodFactor} times the sustainable load from one owner, beside ${calmCallers} calm callers of another.`,
  async run(bench): Promise<Finding> {
    const server = await bench.startServer()
    const calm = await server.makeTenant()
    const rounds = await bench.eachRound(() => once(bench, server, calm))
    const rows = rounds[0]!.map(({ labels }, row): Row => {
      const names = Object.keys(rounds[0]![row]!.values)
      return { labels, figures: Object.fromEntries(names.map((name) => [name, spread(rounds.map((round) => round[row]!.values[name]!))])) }
    })
    return {
      rows,
      notes: [
        'Client, model and server share the machine: the more the client asks, the less is left for the server, so the CPU of a turn says more than its rate.',
        `RSS is the most that was seen, before and after it what was there then. Normal again: from the last answer of the flood until ${lookCallers} callers have a p99 of at most ${normalFactor} times the one before it.`,
      ],
    }
  },
}

async function once(bench: Bench, server: Server, calm: Tenant): Promise<Measured[]> {
  const flood = server.tenant.call('sync', 'flood')
  const meek = calm.call('sync', 'calm')
  const { base, pid } = server
  const look = () => bench.load({ base, calls: [meek], callers: lookCallers, seconds: lookSeconds })
  const measured: Measured[] = []
  const note = (load: string, owner: string, values: Record<string, number>): void =>
    void measured.push({ labels: { load, owner }, values })

  await look()
  const usual = (await look()).total.p99
  const cpuBefore = bench.cpuMs(pid)
  const best = await bench.load({ base, calls: [flood], callers: steadyCallers, seconds: bench.seconds })
  assertAnswered(best)
  note(`${steadyCallers} callers: the best rate`, 'one', { ...times(best), [headings.cpu]: (bench.cpuMs(pid) - cpuBefore) / best.turns })

  for (const [name, spec] of Object.entries(floods)) {
    const before = { cpu: bench.cpuMs(pid), rss: bench.rssMb(pid) }
    let most = before.rss
    const sampler = setInterval(() => (most = Math.max(most, bench.rssMb(pid))), 250)
    const { seconds } = bench
    const [flooding, beside] = await Promise.all([
      bench.load({ base, calls: [flood], seconds, ...spec(best.perSecond) }),
      bench.load({ base, calls: [meek], seconds, callers: calmCallers }),
    ]).finally(() => clearInterval(sampler))
    assertAnswered(flooding, beside)
    const cpu = (bench.cpuMs(pid) - before.cpu) / (flooding.turns + beside.turns)
    const normal = await secondsUntilNormal(look, usual)
    note(name, 'who floods', { ...times(flooding), [headings.cpu]: cpu, [figures.memory]: most, [figures.normal]: normal })
    note(name, 'who is calm', times(beside))
    note(name, 'before and after', { [figures.memory]: Math.max(before.rss, bench.rssMb(pid)) })
  }
  await bench.audit(server)
  return measured
}

const times = (load: Load): Record<string, number> => ({
  [headings.rate]: load.perSecond,
  [headings.p50]: load.total.p50,
  [headings.p99]: load.total.p99,
  [figures.refused]: load.refused.count / load.seconds,
  [figures.refusal]: load.refused.total.p99,
})

/** Accepts complete responses, and a 503 that says when to retry. */
function assertAnswered(...loads: Load[]): void {
  for (const { errors, refused } of loads) {
    if (Object.keys(errors).length > 0) throw new Error(`not answered: ${JSON.stringify(errors)}`)
    if (refused.withRetryAfter < refused.count) throw new Error('a refusal without Retry-After')
  }
}

async function secondsUntilNormal(look: () => Promise<Load>, usualMs: number): Promise<number> {
  const endedAt = performance.now()
  for (;;) {
    const lookedAt = performance.now()
    const { total } = await look()
    if (total.p99 <= normalFactor * usualMs) return (lookedAt - endedAt) / 1000
    if (lookedAt - endedAt > maxRecoveryMs) throw new Error(`p99 is ${total.p99} ms and was ${usualMs} ms`)
  }
}
