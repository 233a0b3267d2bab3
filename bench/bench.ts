/**
 * What scenarios use (scenario.ts), for one run: starts what they request and ends all of it, even if a scenario throws. Counts every
 * complete response of our server, so that it can be compared with the number of turns in the store.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { noPostgresServer } from '../test/support/postgres-server.ts'
import { noRedisServer } from '../test/support/redis-server.ts'
import { cpuMs, rssMb } from './accounting.ts'
import { openLoadClients } from './load.ts'
import { startPeer } from './peers.ts'
import type { PeersOptions } from './peers.ts'
import type { Bench, Load, Target, Upstream } from './scenario.ts'
import { compileSlowFlush, noCompiler } from './slow-flush.ts'
import { startTurnkeep } from './turnkeep-server.ts'
import type { Preload } from './turnkeep-server.ts'
import { startUpstream } from './upstream.ts'

export type BenchOptions = {
  rounds: number
  seconds: number
  quick: boolean
  soakMinutes: number
  storedTurns: number
  upstreamPort: number
  peers: PeersOptions | undefined
}

export type OpenBench = Bench & {
  /** Ends what the previous scenario has started, except the upstream and the clients. */
  endScenario(): Promise<void>
  close(): Promise<void>
}

export function openBench({ rounds, seconds, quick, soakMinutes, storedTurns, upstreamPort, peers }: BenchOptions): OpenBench {
  const clients = openLoadClients()
  const folders: string[] = []
  const running = new Set<Target>()
  /** Complete responses by the URL of the server, and whether there was any other response. */
  const counted = new Map<string, { whole: number; others: number }>()
  let upstream: Promise<Upstream> | undefined
  let slower: ((milliseconds: number) => Preload) | undefined

  const makeFolder = (): string => {
    const folder = mkdtempSync(join(tmpdir(), 'turnkeep-bench-'))
    folders.push(folder)
    return folder
  }
  const ending = <Kind extends Target>(target: Kind): Kind => {
    const stopped: Kind = {
      ...target,
      async stop() {
        if (running.delete(stopped)) await target.stop()
      },
    }
    running.add(stopped)
    return stopped
  }

  const bench: OpenBench = {
    rounds,
    seconds,
    quick,
    soakMinutes,
    storedTurns,
    upstream: () => (upstream ??= startUpstream(upstreamPort)),
    async startServer(options = {}) {
      const { modelUrl } = await bench.upstream()
      if (options.slowerFlushMs !== undefined) slower ??= compileSlowFlush(makeFolder())
      const preload = options.slowerFlushMs === undefined ? undefined : slower!(options.slowerFlushMs)
      const server = await startTurnkeep(options, { folder: makeFolder(), modelUrl, preload })
      counted.set(server.base, { whole: 0, others: 0 })
      return ending(server)
    },
    async startPeers() {
      const started = []
      for (const name of peers?.names ?? []) started.push(ending(await startPeer({ folder: peers!.folder, name }, makeFolder)))
      return started
    },
    async load(spec) {
      const load = await clients.load(spec)
      const count = counted.get(spec.base)
      if (count) {
        if (!spec.replays) count.whole += load.turns
        count.others += load.refused.count + Object.values(load.errors).reduce((sum, errors) => sum + errors, 0)
      }
      return load
    },
    async measure(target, spec) {
      const model = await bench.upstream()
      const used = (): number[] =>
        [[target.pid], [model.pid], target.databasePids ?? []].map((pids) => pids.reduce((sum, pid) => sum + cpuMs(pid), 0))
      const before = used()
      const load = await bench.load({ ...spec, base: target.base })
      const [own, upstreams, databases] = used().map((after, place) => (after - before[place]!) / load.turns)
      const failed = notWhole(load)
      if (failed !== undefined) throw new Error(`${target.name}: ${failed}`)
      return {
        ...load,
        cpuMsPerTurn: own!,
        databaseCpuMsPerTurn: target.databasePids === undefined ? undefined : databases,
        upstreamCpuMsPerTurn: upstreams!,
        clientCpuMsPerTurn: load.clientCpuMs / load.turns,
      }
    },
    async eachRound(once) {
      const results = []
      for (let round = 0; round < rounds; round++) results.push(await once(round))
      return results
    },
    async audit(server) {
      const { completed } = await server.usage()
      const { whole, others } = counted.get(server.base)!
      if (completed === whole || (others > 0 && completed > whole)) return
      throw new Error(`the store has ${completed} completed turns, the callers counted ${whole} whole answers`)
    },
    cpuMs,
    rssMb,
    noShim: noCompiler,
    noPostgres: () => noPostgresServer() || noRedisServer(),
    makeFolder,
    say: (line) => console.error(line),
    async endScenario() {
      for (const target of running) await target.stop()
    },
    async close() {
      await bench.endScenario()
      clients.close()
      await (await upstream)?.stop()
      for (const folder of folders) rmSync(folder, { recursive: true, force: true })
    },
  }
  return bench
}

/** What was wrong with the responses of a load, in a sentence; undefined if each was complete. */
export function notWhole({ turns, errors, refused }: Load): string | undefined {
  const [first] = Object.entries(errors).toSorted(([, a], [, b]) => b - a)
  const failed = Object.values(errors).reduce((sum, count) => sum + count, 0)
  if (first) return `${failed} of its answers failed, ${first[1]} of them with ${first[0]}`
  if (refused.count > 0) return `${refused.count} turns were refused: ${Object.keys(refused.reasons).join(', ')}`
  return turns === 0 ? 'no turn was answered in time' : undefined
}
