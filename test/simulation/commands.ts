/**
 * The commands that make up a schedule: callers send messages, disconnect and retry; an operator edits and erases; processes, the store,
 * the model and tools fail; and time passes. After each command, a random number of events run, so that the next command can fall between
 * any two events.
 * Faults of docs/fault-matrix.md that schedules explore best: `fault.duplicate-requests`, `fault.key-with-two-bodies`,
 * `fault.key-across-api-keys`, `fault.cancel-race`, `fault.stream-resumed`, `fault.concurrent-messages`, `fault.kill-in-recovery`, `fault.concurrent-recovery`, `fault.balance-lowered`.
 */
import fc from 'fast-check'
import { ApiError } from '../../src/errors.ts'
import { recordLifetimeMs } from '../../src/store/turn-records.ts'
import type { TurnRequest } from '../../src/turn/outcome.ts'
import type { ModelFault, ToolFault } from './scripted-model.ts'
import { agentId, apiKeyIds, contentOf, ownerId } from './simulated-database.ts'
import type { Simulation } from './simulation.ts'

export type Command = fc.AsyncCommand<Simulation, Simulation>

const plans = [
  '',
  '',
  'plan: effect',
  'plan: look',
  'plan: look, effect',
  'plan: effect+look',
  'plan: effect, effect',
  'plan: effect+effect',
]
const modelFaults: ModelFault[] = ['unavailable', 'unavailable', 'cut', 'hang', 'hang', 'refused', 'empty', 'too_long']
const toolFaults: ToolFault[] = ['hang', 'error']
const operations = ['any', 'admit', 'settle', 'settle', 'fail', 'advance', 'advance', 'claim', 'renew', 'release']
// Time steps in milliseconds, chosen around the deadlines and intervals of a turn: from just below each to well beyond it.
const moves = [1, 20, 60, 250, 1000, 1000, 1000, 3000, 4000, 4000, 8000, 11_999, 12_000, 13_000, 13_000, 30_000, 110_000, 116_000]

const dayMs = 24 * 60 * 60 * 1000

/** The index of a process. A shared store has three; an embedded store has only the first, and a command for another one goes to it. */
const place = fc.nat(2)

function command<Given extends object>(
  name: string,
  given: fc.Arbitrary<Given>,
  run: (simulation: Simulation, given: Given) => Promise<void> | void,
  check: (simulation: Simulation, given: Given) => boolean = () => true,
): fc.Arbitrary<Command> {
  const events = fc.oneof({ weight: 3, arbitrary: fc.nat(3) }, { weight: 3, arbitrary: fc.nat(12) }, { weight: 1, arbitrary: fc.nat(60) })
  return fc.tuple(given, events).map(([given, events]) => ({
    check: (simulation) => check(simulation, given),
    async run(_, simulation) {
      await run(simulation, given)
      await simulation.steps(events)
      simulation.commandEnded()
    },
    toString: () => `${name}(${JSON.stringify(given).slice(1, -1)}) +${events}`,
  }))
}

const at = (simulation: Simulation, place: number): number => place % simulation.places
const up = (simulation: Simulation, { place }: { place: number }): boolean => simulation.isUp(at(simulation, place))

const send = command(
  'send',
  fc.record({
    place,
    user: fc.nat(2),
    apiKey: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(1) }),
    key: fc.nat(4),
    /** Usually the same for a key, so that most repeated requests are retries. */
    body: fc.oneof({ weight: 8, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(1) }),
    plan: fc.nat(plans.length - 1),
    leaves: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
  }),
  (simulation, { place, leaves, ...drawn }) => request(simulation, at(simulation, place), messageOf(drawn), leaves),
)

/** Repeats an earlier request at any process, as callers do after a lost connection. */
const sendAgain = command(
  'sendAgain',
  fc.record({ place, which: fc.nat() }),
  (simulation, { place, which }) => {
    const { sent } = simulation.callers
    return request(simulation, at(simulation, place), sent[which % sent.length]!.request, false)
  },
  (simulation) => simulation.callers.sent.length > 0,
)

/** A key always has the same user and plan, whichever process gets the request; only the body may differ. */
function messageOf({
  user,
  apiKey,
  key,
  body,
  plan,
}: {
  user: number
  apiKey: number
  key: number
  body: number
  plan: number
}): TurnRequest {
  const message = `user ${user} key ${key} of ${apiKey}${body === 0 ? '' : ' reworded'} ${plans[(plan + key) % plans.length]}`.trim()
  return {
    apiKeyId: apiKeyIds[apiKey]!,
    agentId,
    idempotencyKey: `key ${key}`,
    externalUserId: `user ${user}`,
    message,
    traceparent: null,
    shareOf: 'own_a',
  }
}

/** Sends a request. A dead process drops it immediately, as a closed port does. */
async function request(simulation: Simulation, place: number, asked: TurnRequest, leaves: boolean): Promise<void> {
  const processRun = simulation.lifeAt(place)
  if (!processRun) return
  const sent = simulation.callers.send(asked)
  simulation.later(
    processRun,
    `${place} request`,
    () => void processRun.turns.begin(asked).then((started) => simulation.callers.hear(sent, started, leaves)),
  )
}

const kill = command('kill', fc.record({ place }), (simulation, { place }) => simulation.kill(at(simulation, place)), up)
const start = command(
  'start',
  fc.record({ place }),
  (simulation, { place }) => simulation.start(at(simulation, place)),
  (simulation, given) => !up(simulation, given),
)
/** Starts a process again in the same place, as after a crash of the program alone. */
const restart = command('restart', fc.record({ place }), async (simulation, { place }) => {
  if (simulation.isUp(at(simulation, place))) await simulation.kill(at(simulation, place))
  await simulation.start(at(simulation, place))
})
const freeze = command('freeze', fc.record({ place }), (simulation, { place }) => simulation.freeze(at(simulation, place)), up)
const thaw = command('thaw', fc.record({ place }), (simulation, { place }) => simulation.thaw(at(simulation, place)), up)
const drain = command(
  'drain',
  fc.record({ place, limitMs: fc.constantFrom(0, 1000, 30_000) }),
  (simulation, { place, limitMs }) => simulation.drain(at(simulation, place), limitMs),
  up,
)
const move = command('move', fc.record({ ms: fc.constantFrom(...moves) }), (simulation, { ms }) => simulation.move(ms))
/** Moves the time to the expiry of a record, or to one millisecond before or after it. */
const moveToExpiry = command('moveToExpiry', fc.record({ which: fc.nat(), by: fc.constantFrom(-1, 0, 1) }), (simulation, { which, by }) => {
  const ended = [...simulation.storeModel.turns.values()].filter(({ state }) => state !== 'running')
  if (ended.length === 0) return
  const ms = ended[which % ended.length]!.endedAt + recordLifetimeMs + by - simulation.now().now
  if (ms > 0) simulation.move(ms)
})
const skew = command(
  'skew',
  fc.record({ place, ms: fc.constantFrom(-3_600_000, -1000, 1000, 3_600_000) }),
  (simulation, { place, ms }) => simulation.skew(at(simulation, place), ms),
  up,
)

const storeFails = command(
  'storeFails',
  fc.record({
    place,
    operation: fc.constantFrom(...operations),
    when: fc.constantFrom('before' as const, 'after' as const),
    times: fc.constantFrom(1, 1, 2, 6),
  }),
  (simulation, { place, ...fault }) => void simulation.lifeAt(at(simulation, place))!.storeFaults.push(fault),
  up,
)
const diskFull = command('diskFull', fc.record({ times: fc.constantFrom(1, 2, 5) }), (simulation, { times }) =>
  simulation.store.failCommits(times),
)
const modelFails = command(
  'modelFails',
  fc.record({ fault: fc.constantFrom(...modelFaults) }),
  (simulation, { fault }) => void simulation.upstream.faults.model.push(fault),
)
const toolFails = command(
  'toolFails',
  fc.record({ fault: fc.constantFrom(...toolFaults) }),
  (simulation, { fault }) => void simulation.upstream.faults.tool.push(fault),
)

/** What the operator requests from a process. If the store fails, the operator has to ask again. */
function operate(
  simulation: Simulation,
  place: number,
  act: (processRun: NonNullable<ReturnType<Simulation['lifeAt']>>) => Promise<unknown>,
): void {
  const processRun = simulation.lifeAt(at(simulation, place))!
  simulation.later(processRun, `${place} operator`, () => void act(processRun).catch(ifUnavailable))
}

function ifUnavailable(error: unknown): void {
  if (error instanceof ApiError && (error.code === 'service_unavailable' || error.code === 'not_found')) return
  if (!(error instanceof Error && error.constructor.name === 'StoreUnavailable')) throw error
}

const balance = command(
  'balance',
  fc.record({ place, amount: fc.constantFrom(-60_000, -20_000, 40_000, 200_000), entry: fc.nat(1_000_000_000) }),
  (simulation, { place, amount, entry }) =>
    operate(simulation, place, ({ store }) =>
      store.write.appendLedgerEntry({
        id: `led_operator_${entry}`,
        ownerId,
        idempotencyKey: `entry ${entry}`,
        amount: BigInt(amount),
        note: null,
        maxBalance: 10n ** 17n,
      }),
    ),
  up,
)
const editAgent = command(
  'editAgent',
  fc.record({
    place,
    price: fc.constantFrom(0, 1, 3, 6),
    enabled: fc.oneof({ weight: 5, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
  }),
  (simulation, { place, price, enabled }) =>
    operate(simulation, place, async ({ store }) => {
      const agent = await store.read.findAgent(agentId)
      const next = { after: agent!.present.version, provider: null, content: contentOf(BigInt(price)) }
      await store.write.changeAgent({ id: agentId, enabled, next })
    }),
  up,
)
const limit = fc.record({
  scope: fc.constantFrom('end_user' as const, 'end_user' as const, 'api_key' as const, 'agent' as const),
  span: fc.constantFrom('day' as const, 'day' as const, 'month' as const, 'total' as const),
  // A turn of one step holds about 45,000.
  amount: fc.constantFrom(50_000, 60_000, 70_000, 100_000, 200_000, 400_000),
})
const setLimits = command(
  'setLimits',
  fc.record({ place, limits: fc.uniqueArray(limit, { minLength: 1, maxLength: 3, selector: ({ scope, span }) => `${scope} ${span}` }) }),
  (simulation, { place, limits }) =>
    operate(simulation, place, async ({ store }) => {
      const spendLimits = limits.map(({ amount, ...one }) => ({ ...one, amount: BigInt(amount) }))
      await store.write.changeAgent({ id: agentId, spendLimits })
    }),
  up,
)
/** To shortly before or after the end of the UTC day. */
const moveToNextDay = command('moveToNextDay', fc.record({ after: fc.constantFrom(-2000, -20, 0, 20) }), (simulation, { after }) => {
  const { now } = simulation.now()
  const ms = dayMs - (now % dayMs) + after
  simulation.move(ms > 0 ? ms : ms + dayMs)
})
const eraseUser = command(
  'eraseUser',
  fc.record({ place, user: fc.nat(2) }),
  (simulation, { place, user }) =>
    operate(simulation, place, async ({ store }) => {
      const conversationIds = await store.read.findConversationsOfEndUser(agentId, `user ${user}`)
      await store.write.eraseConversations({ conversationIds: conversationIds ?? [] })
    }),
  up,
)

/** A request to cancel a turn, at any process. */
const cancel = command(
  'cancel',
  fc.record({ place, which: fc.nat() }),
  (simulation, { place, which }) => {
    const { requestId, request } = turnOf(simulation, which)!
    operate(simulation, place, ({ turns }) => turns.resource.cancel({ requestId, apiKeyId: request.apiKeyId, shareOf: request.shareOf }))
  },
  (simulation, given) => up(simulation, given) && turnOf(simulation, given.which) !== undefined,
)

/** A client follows a turn at any process, from the beginning or after what it has seen, and may disconnect again. */
const follow = command(
  'follow',
  fc.record({ place, which: fc.nat(), again: fc.boolean(), leaves: fc.boolean() }),
  (simulation, { place, which, again, leaves }) => {
    const { callers } = simulation
    const seen = again ? callers.followings.findLast(({ ended, text }) => !ended && text !== '') : undefined
    const { requestId, request } =
      (seen && startedTurns(simulation).find((one) => one.requestId === seen.requestId)) ?? turnOf(simulation, which)!
    operate(simulation, place, async (processRun) => {
      const { turn } = await processRun.turns.resource.open({ requestId, apiKeyId: request.apiKeyId, shareOf: request.shareOf })
      callers.follow(turn, processRun, seen, leaves)
    })
  },
  (simulation, given) => up(simulation, given) && turnOf(simulation, given.which) !== undefined,
)

const startedTurns = ({ callers }: Simulation) =>
  callers.sent.filter((one): one is typeof one & { requestId: string } => one.requestId !== undefined)

/** A message whose turn has run. Usually one of the latest, because those may still run. */
function turnOf(simulation: Simulation, which: number) {
  const started = startedTurns(simulation)
  return started.at(-1 - (which % Math.min(3, started.length)))
}

export const anyCommand: fc.Arbitrary<Command> = fc.oneof(
  { weight: 10, arbitrary: send },
  { weight: 8, arbitrary: sendAgain },
  { weight: 4, arbitrary: kill },
  { weight: 5, arbitrary: start },
  { weight: 4, arbitrary: restart },
  { weight: 2, arbitrary: freeze },
  { weight: 3, arbitrary: thaw },
  { weight: 1, arbitrary: drain },
  { weight: 10, arbitrary: move },
  { weight: 1, arbitrary: moveToExpiry },
  { weight: 1, arbitrary: skew },
  { weight: 4, arbitrary: storeFails },
  { weight: 1, arbitrary: diskFull },
  { weight: 4, arbitrary: modelFails },
  { weight: 2, arbitrary: toolFails },
  { weight: 2, arbitrary: balance },
  { weight: 1, arbitrary: editAgent },
  { weight: 1, arbitrary: eraseUser },
  { weight: 4, arbitrary: setLimits },
  { weight: 1, arbitrary: moveToNextDay },
  { weight: 7, arbitrary: cancel },
  { weight: 8, arbitrary: follow },
)
