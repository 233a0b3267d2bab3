/**
 * The cost of a turn late in a long conversation compared with an early one. Nine exchanges fill the history window, so both prompts have
 * the same size and only the age differs. One caller: milliseconds of a turn, and its CPU time.
 */
import { randomUUID } from 'node:crypto'
import type { Finding, Row, Scenario } from '../scenario.ts'
import { eachInTurn, figuresOf, storeNames, storesHere, warm } from '../side-by-side.ts'

const late = 10_000
const measured = 200
const youngs = 50
const turnsOfYoung = 9
// With the reply about 900 tokens of a window of 8,000, estimated as half the bytes.
const message = 'All work and no play. '.repeat(64).slice(0, 1_400)

export const longConversation: Scenario = {
  name: 'long-conversation',
  sentence: `Turns 10 to 13 of young conversations beside the turns past ${late.toLocaleString('en-US')} of one; one caller, sync.`,
  async run(bench): Promise<Finding> {
    await (await bench.upstream()).configure({})
    const { kinds, notes } = storesHere(bench)
    const [lateTurns, turns, many] = bench.quick ? [20, 8, 2] : [late, measured, youngs]
    const rows = await eachInTurn(kinds, async (kind): Promise<Row[]> => {
      const server = await bench.startServer({ store: kind })
      await warm(bench, server)
      const long = [`long-${randomUUID()}`]
      const ask = (users: string[], count: number) =>
        bench.measure(server, { calls: [server.call('sync')], callers: 1, message, users, turns: count })
      await ask(long, lateTurns)
      bench.say(`long-conversation: ${storeNames[kind]} has its ${lateTurns} turns`)
      const rounds = await bench.eachRound(async () => {
        const young = Array.from({ length: many }, () => `young-${randomUUID()}`)
        await ask(young, many * turnsOfYoung)
        return { tenth: await ask(young, turns), late: await ask(long, turns) }
      })
      await bench.audit(server)
      const row = (turn: string, of: 'tenth' | 'late'): Row => ({
        labels: { store: storeNames[kind], turn },
        figures: figuresOf(rounds.map((round) => round[of])),
      })
      return [row('tenth', 'tenth'), row('past 10,000', 'late')]
    })
    return { rows: rows.flat(), notes }
  },
}
