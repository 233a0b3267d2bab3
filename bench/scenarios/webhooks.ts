/** What webhooks cost a turn, and whether an endpoint that hangs delays the deliveries to another one. */
import { startReceiver } from '../../test/support/webhook-receiver.ts'
import type { Bench, Measured, Scenario, Server, StoreKind } from '../scenario.ts'
import { eachInTurn, figuresOf, storeNames, storesHere, warm } from '../side-by-side.ts'
import { percentile, spread } from '../spread.ts'

type Receiver = Awaited<ReturnType<typeof startReceiver>>
type Contender = { labels: Record<string, string | number>; server: Server; paths: string[] }

const callers = 64
// The deliveries keep up with it, so their whole cost is in the measured time.
const perSecond = 100
const deliveryLimitMs = 30_000
const slowMs = 1_000

/** A server with a webhook for each of these paths of the receiver. */
async function startWith(bench: Bench, store: StoreKind, receiver: Receiver, paths: string[]): Promise<Server> {
  const server = await bench.startServer({ store, env: { TURNKEEP_ALLOW_PRIVATE_HOSTS: receiver.host } })
  for (const path of paths) await server.admin('POST', '/webhooks', { url: receiver.url(path), events: ['turn.completed'] })
  await warm(bench, server)
  return server
}

/** Turns at an even rate, and then all of their deliveries to the paths. */
async function measure(bench: Bench, receiver: Receiver, { server, paths }: Contender): Promise<Measured> {
  receiver.received.length = 0
  const measured = await bench.measure(server, { calls: [server.call('sync')], callers, perSecond, seconds: bench.seconds })
  for (const until = performance.now() + deliveryLimitMs; ; await new Promise((resolve) => setTimeout(resolve, 20))) {
    const missing = paths.filter((path) => receiver.at(path).length < measured.turns)
    if (missing.length === 0) return measured
    if (performance.now() > until) throw new Error(`not all of ${measured.turns} deliveries arrived at ${missing.join(', ')}`)
  }
}

export const webhooks: Scenario = {
  name: 'webhooks',
  sentence: `Turns without a webhook, with one and with five, which get every completed turn; sync, ${perSecond} turns a second.`,
  async run(bench) {
    await (await bench.upstream()).configure({})
    const { kinds, notes } = storesHere(bench)
    await using receiver = await startReceiver()
    const contenders: Contender[] = []
    for (const kind of kinds)
      for (const count of [0, 1, 5]) {
        const paths = Array.from({ length: count }, (_, place) => `/${kind}-${count}-${place}`)
        contenders.push({
          labels: { store: storeNames[kind], webhooks: count },
          server: await startWith(bench, kind, receiver, paths),
          paths,
        })
      }
    const rounds = await bench.eachRound(() => eachInTurn(contenders, (contender) => measure(bench, receiver, contender)))
    for (const { server } of contenders) await bench.audit(server)
    return { rows: contenders.map(({ labels }, place) => ({ labels, figures: figuresOf(rounds.map((round) => round[place]!)) })), notes }
  },
}

/** Milliseconds from the end of a turn to its delivery, in order. The server and the receiver have the same clock. */
function delaysTo(receiver: Receiver, path: string): number[] {
  return receiver
    .at(path)
    .map(({ epochMs, json }) => epochMs - Date.parse(json.timestamp))
    .toSorted((one, other) => one - other)
}

export const hangingWebhook: Scenario = {
  name: 'hanging-webhook',
  sentence: `From the end of a turn to its delivery to a fast endpoint: alone, and beside an endpoint that never answers and one that takes ${slowMs / 1000} s; sync, ${perSecond} turns a second.`,
  async run(bench) {
    await (await bench.upstream()).configure({})
    const { kinds, notes } = storesHere(bench)
    await using receiver = await startReceiver()
    const contenders: Contender[] = []
    for (const kind of kinds)
      for (const beside of ['nothing', 'one that hangs, one that is slow']) {
        const alone = beside === 'nothing'
        const fast = `/${kind}-${alone ? 'alone' : 'beside'}`
        const others = alone ? [] : [`/${kind}-hang`, `/${kind}-slow`]
        receiver.on(`/${kind}-hang`, () => undefined)
        receiver.on(`/${kind}-slow`, (_, response) => void setTimeout(() => response.writeHead(204).end(), slowMs))
        const server = await startWith(bench, kind, receiver, [fast, ...others])
        contenders.push({ labels: { store: storeNames[kind], beside }, server, paths: [fast] })
      }
    const rounds = await bench.eachRound(() =>
      eachInTurn(contenders, async (contender) => {
        const measured = await measure(bench, receiver, contender)
        return { measured, delays: delaysTo(receiver, contender.paths[0]!) }
      }),
    )
    for (const { server } of contenders) await bench.audit(server)
    const rows = contenders.map(({ labels }, place) => {
      const own = rounds.map((round) => round[place]!)
      const over = (of: (delays: number[]) => number) => spread(own.map(({ delays }) => of(delays)))
      const delays = {
        'delivery p50, ms': over((all) => percentile(all, 0.5)),
        'delivery p99, ms': over((all) => percentile(all, 0.99)),
        'slowest delivery, ms': over((all) => all.at(-1)!),
      }
      return { labels, figures: { ...delays, ...figuresOf(own.map(({ measured }) => measured)) } }
    })
    return { rows, notes }
  },
}
