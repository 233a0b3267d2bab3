/** The cost of a turn on each store, of one owner compared with a hundred, of a slower disk on both, and of more processes. */
import type { Bench, Finding, Scenario, Server, StoreKind } from '../scenario.ts'
import { eachInTurn, sideBySide, storeNames, storesHere, warm } from '../side-by-side.ts'
import type { Lane } from '../side-by-side.ts'

const callers = 64
const owners = 100
const slowerFlushMs = 2
const workerCounts = [1, 2, 4]

export const stores: Scenario = {
  name: 'stores',
  sentence: `SQLite beside a durable PostgreSQL with Redis, each on a server of its own, ${callers} callers.`,
  async run(bench) {
    const { kinds, notes } = storesHere(bench)
    const servers = await startOn(bench, kinds)
    const lanes = (['sync', 'stream'] as const).flatMap((mode) =>
      servers.map(({ kind, server }): Lane => ({
        labels: { store: storeNames[kind], mode },
        target: server,
        spec: { calls: [server.call(mode)], callers, seconds: bench.seconds },
      })),
    )
    return finish(bench, servers, lanes, notes)
  },
}

export const hotOwner: Scenario = {
  name: 'owners',
  sentence: `All turns of one owner, whose balance every one of them writes, beside the same of ${owners} owners; sync, ${callers} callers.`,
  async run(bench) {
    const { kinds, notes } = storesHere(bench)
    const servers = await startOn(bench, kinds)
    const lanes: Lane[] = []
    for (const { kind, server } of servers) {
      const many = []
      for (let made = 0; made < (bench.quick ? 3 : owners); made++) many.push((await server.makeTenant()).call('sync'))
      for (const calls of [[server.call('sync')], many])
        lanes.push({
          labels: { store: storeNames[kind], owners: calls.length },
          target: server,
          spec: { calls, callers, seconds: bench.seconds },
        })
    }
    return finish(bench, servers, lanes, notes)
  },
}

export const slowFlush: Scenario = {
  name: 'slow-flush',
  sentence: `A disk whose every flush takes ${slowerFlushMs} ms longer beside the disk as it is; sync, one owner, ${callers} callers.`,
  async run(bench) {
    const impossible = bench.noShim()
    if (impossible !== false) return { rows: [], notRun: impossible }
    const { kinds, notes } = storesHere(bench)
    const asItIs = await startOn(bench, kinds)
    const slower = await startOn(bench, kinds, slowerFlushMs)
    const lanes = kinds.flatMap((kind, place) =>
      [asItIs, slower].map((servers): Lane => {
        const { server } = servers[place]!
        const labels = { store: storeNames[kind], flush: servers === asItIs ? 'as it is' : `${slowerFlushMs} ms slower` }
        return { labels, target: server, spec: { calls: [server.call('sync')], callers, seconds: bench.seconds } }
      }),
    )
    return finish(bench, [...asItIs, ...slower], lanes, notes)
  },
}

export const processes: Scenario = {
  name: 'processes',
  sentence: `One, two and four processes (TURNKEEP_WORKERS) on one PostgreSQL and one Redis each time; sync, ${callers} callers.`,
  async run(bench) {
    const impossible = bench.noPostgres()
    if (impossible !== false) return { rows: [], notRun: impossible }
    await (await bench.upstream()).configure({})
    const servers = await eachInTurn(workerCounts, async (workers) => {
      const server = await bench.startServer({ store: 'postgres', env: { TURNKEEP_WORKERS: String(workers) } })
      await warm(bench, server)
      return { kind: 'postgres' as const, server }
    })
    const lanes = servers.map(({ server }, place): Lane => ({
      labels: { processes: workerCounts[place]! },
      target: server,
      spec: { calls: [server.call('sync')], callers, seconds: bench.seconds },
    }))
    return finish(bench, servers, lanes, ['With more processes than cores, their CPU a turn is what is to be read.'])
  },
}

type Started = { kind: StoreKind; server: Server }

async function startOn(bench: Bench, kinds: StoreKind[], slowerMs?: number): Promise<Started[]> {
  await (await bench.upstream()).configure({})
  return eachInTurn(kinds, async (kind) => {
    const server = await bench.startServer({ store: kind, ...(slowerMs === undefined ? {} : { slowerFlushMs: slowerMs }) })
    await warm(bench, server)
    return { kind, server }
  })
}

async function finish(bench: Bench, servers: Started[], lanes: Lane[], notes: string[]): Promise<Finding> {
  const rows = await sideBySide(bench, lanes)
  for (const { server } of servers) await bench.audit(server)
  return { rows, notes }
}
