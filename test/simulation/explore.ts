/**
 * Runs schedule after schedule from one seed, until the time is over or a check fails. At the end of a schedule, all faults stop and every
 * turn ends; then the invariants are checked on the rows, and every message is sent again, twice.
 */
import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { anyCommand } from './commands.ts'
import { realMs } from './moved-time.ts'
import { createSimulatedDatabase } from './simulated-database.ts'
import { Broken, createSimulation } from './simulation.ts'
import type { Simulation } from './simulation.ts'

export type Explored = {
  schedules: number
  commands: number
  events: number
  kills: number
  starts: number
  /** The number of different store contents after a command, without IDs and times. */
  states: number
  seconds: number
  /** How often each event happened, by its name. */
  seen: Record<string, number>
  failure: { check: string; what: string; seed: number; path: string; schedule: string; atSchedule: number } | undefined
}

export type ExploreOptions = {
  seconds: number
  seed: number
  /** The path of a failing case as it was printed: selects the schedule of the seed. The case is then shrunk again, in the same steps. */
  path?: string
  /** Whether to look for smaller failing cases. */
  shrink?: boolean
  /** Stops after this number of schedules, even if there is time left. */
  maxSchedules?: number
}

// The number of schedules per seed; the next batch uses the next seed.
// The time is checked between two batches, because fast-check's own time limit would stop in the middle of a schedule.
const batch = 20
const commandLimit = 40
// Parts of event names. The two empty entries slow down nothing.
const slowOnes = [
  '',
  '',
  'arrives',
  'answers',
  'admit',
  'settle',
  'advance',
  'claim',
  'renew',
  'timer',
  'model',
  'tool',
  'reads',
  'request',
  '0 ',
  '1 ',
]
// A `Set` holds about 16 million entries; further states are not counted.
const maxStates = 16_000_000
// Retries that a caller makes until a response is final. A released turn and a busy conversation need several.
const maxRetries = 8

export async function explore({ seconds, seed, path, shrink = true, maxSchedules = Infinity }: ExploreOptions): Promise<Explored> {
  const database = await createSimulatedDatabase()
  const states = new Set<string>()
  const found: Explored = { schedules: 0, commands: 0, events: 0, kills: 0, starts: 0, states: 0, seconds: 0, seen: {}, failure: undefined }
  const beganAt = realMs()
  const elapsed = (): number => (realMs() - beganAt) / 1000
  /** Set at the first failure: schedules that run while shrinking are not counted. */
  let failedAt: number | undefined

  const schedule = fc.asyncProperty(
    fc.scheduler(),
    fc.commands([anyCommand], { maxCommands: commandLimit, size: 'max' }),
    fc.record({
      seed: fc.nat(),
      mode: fc.constantFrom('embedded' as const, 'shared' as const, 'shared' as const),
      slow: fc.constantFrom(...slowOnes),
    }),
    async (scheduler, commands, drawn) => {
      const simulation = createSimulation({ database, scheduler, commandEnded, ...drawn })
      try {
        await simulation.start(0)
        await fc.asyncModelRun(() => ({ model: simulation, real: simulation }), commands)
        await finish(simulation)
      } catch (error) {
        failedAt ??= found.schedules
        throw error
      } finally {
        simulation.close()
        if (failedAt === undefined) {
          found.schedules++
          found.events += simulation.counts.steps
          found.kills += simulation.counts.kills
          found.starts += simulation.counts.starts
          for (const [what, count] of simulation.storeModel.seen) found.seen[what] = (found.seen[what] ?? 0) + count
        }
      }
    },
  )

  function commandEnded(simulation: Simulation): void {
    if (failedAt !== undefined) return
    found.commands++
    if (states.size < maxStates) states.add(stateOf(simulation))
  }

  const longest = path === undefined ? seconds : Infinity
  for (let next = seed; elapsed() < longest && found.schedules < maxSchedules; next++) {
    const numRuns = Math.min(batch, maxSchedules - found.schedules)
    const replay = path === undefined ? {} : { path }
    const result = await fc.check(schedule, { seed: next, numRuns, endOnFailure: !shrink, ...replay })
    if (result.failed && result.counterexample) {
      const [scheduler, commands, drawn] = result.counterexample
      const { errorInstance } = result as { errorInstance?: unknown }
      const text = `${drawn.mode} ${drawn.seed} ${drawn.slow}\n  ${[...commands].map(String).join('\n  ')}\n${String(scheduler).split('\n').length} events`
      const check = errorInstance instanceof Broken ? errorInstance.check : 'fault-of-the-simulation'
      const what =
        errorInstance instanceof Broken ? errorInstance.message : ((errorInstance as Error | undefined)?.stack ?? String(errorInstance))
      found.failure = {
        check,
        what,
        seed: result.seed,
        path: result.counterexamplePath!.split(':')[0]!,
        schedule: text,
        atSchedule: (failedAt ?? 0) + 1,
      }
      break
    }
    if (path !== undefined) break
  }
  return { ...found, states: states.size, seconds: elapsed() }
}

/** Ends the schedule: everything must finish, no check may fail, and every message must get one final response that does not change. */
async function finish(simulation: Simulation): Promise<void> {
  // The invariants must hold at every moment, also while processes are dead or frozen.
  if (simulation.isLookedAt()) await simulation.verify()
  await simulation.heal()
  checkHolds(simulation)
  await simulation.withoutLimits()
  const requests = new Map(simulation.callers.sent.map(({ request }) => [JSON.stringify(request), request]))
  for (const request of requests.values()) {
    const first = await untilFinal(simulation, request)
    const second = await untilFinal(simulation, request)
    if (!isDeepStrictEqual(first, second)) throw new Broken('replay', `${request.message}: ${JSON.stringify([first, second], plain)}`)
  }
  await simulation.verify()
  checkHolds(simulation)
  checkReported(simulation)
}

async function untilFinal(simulation: Simulation, request: Simulation['callers']['sent'][number]['request']): Promise<object> {
  const passing = new Set(['idempotency_in_progress', 'conversation_busy', 'service_unavailable'])
  for (let tries = 0; tries < maxRetries; tries++) {
    const sent = simulation.callers.send(request)
    const processRun = simulation.lifeAt(0)!
    await simulation.as(
      processRun,
      () => void processRun.turns.begin(request).then((started) => simulation.callers.hear(sent, started, false)),
    )
    await simulation.quiet()
    const { answer } = sent
    if (answer.kind === 'open') throw new Broken('liveness', `${request.message} has no answer`)
    if (answer.kind === 'reply') return { content: answer.reply }
    // The outcome of a released turn is for its first caller only; a retry runs the turn again.
    const maySucceed = answer.kind === 'failed' && answer.code !== 'insufficient_balance' && isReleased(simulation, answer.requestId)
    if (!passing.has(answer.code) && !maySucceed) return { code: answer.code }
  }
  const answers = simulation.callers.sent.slice(-maxRetries).map(({ answer }) => JSON.stringify(answer, plain))
  throw new Broken('liveness', `${request.message} comes to no final answer without a fault: ${answers.join(' ')}`)
}

const isReleased = (simulation: Simulation, requestId: string): boolean => simulation.storeModel.turns.get(requestId)?.state === 'released'

function checkHolds(simulation: Simulation): void {
  const [owner] = simulation.store.query('select sum(held) as held, sum(unpaid) as unpaid from owners')
  if (Number(owner!.held) !== 0) throw new Broken('holds', `${owner!.held} are held and nothing runs`)
  const { unpaid } = simulation.storeModel
  if (BigInt(owner!.unpaid as bigint) !== unpaid) throw new Broken('unpaid', `${owner!.unpaid} are reserved, and ${unpaid} were used`)
}

function checkReported(simulation: Simulation): void {
  for (const reply of simulation.callers.reported.values()) {
    if (simulation.storeModel.turns.get(reply.requestId)!.erased) continue
    const [row] = simulation.store.query('select content from messages where id = ? and request_id = ?', reply.messageId, reply.requestId)
    if (row?.content !== reply.content) throw new Broken('reply-stored', `${reply.requestId} was returned and is gone`)
  }
}

const plain = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? Number(value) : value)

function stateOf(simulation: Simulation): string {
  const rows = [
    ...simulation.store
      .query(`select state, run, attempt, fence, hold, message, idempotency_key, lease_until > 0 as leased, continues_from, charged, failure_code,
      erased_at is null as kept, agent_version, (select count(*) from journal j where j.request_id = t.request_id) as steps from turns t order by created_at, request_id`),
    ...simulation.store.query('select balance, held from owners'),
  ]
  return hash('sha1', JSON.stringify(rows, plain), 'base64').slice(0, 12)
}
