/**
 * The servers that are compared: the model itself, our server, the peers of the run, and with peers also our server on PostgreSQL and Redis.
 * Each is tried first, in every mode, so that one with failing responses is named with the reason and has no figures, instead of fast ones.
 */
import { notWhole } from './bench.ts'
import { warmTurns } from './side-by-side.ts'
import type { Bench, Load, Mode, Server, ServerOptions, Target } from './scenario.ts'

export type Contender = { target: Target; modes: Mode[] }
/** `servers` are those of Turnkeep, the first one on SQLite. `contenders` are the model itself, `servers` and `peers`. */
export type Contenders = { servers: [Server, ...Server[]]; peers: Contender[]; contenders: Contender[]; notes: string[] }

/** The name in tables of Turnkeep on PostgreSQL and Redis. */
export const onPostgres = 'turnkeep, PostgreSQL'

export async function startContenders(bench: Bench, options: ServerOptions = {}): Promise<Contenders> {
  const upstream = await bench.upstream()
  await upstream.configure({})
  const notes: string[] = []
  const servers: [Server, ...Server[]] = [await bench.startServer(options)]
  const others = await bench.startPeers()
  const missing = bench.noPostgres()
  if (others.length > 0 && missing === false)
    servers.push({ ...(await bench.startServer({ ...options, store: 'postgres' })), name: onPostgres })
  else if (others.length > 0) notes.push(`${onPostgres} is not measured: ${missing}.`)
  const contenders: Contender[] = []
  for (const target of [upstream, ...servers, ...others]) {
    const modes: Mode[] = []
    for (const mode of ['sync', 'stream'] as const) {
      const failure = notWhole(await tried(bench, target, mode))
      if (failure === undefined) modes.push(mode)
      else if (servers.some((ours) => ours === target)) throw new Error(`our own ${mode} answers fail: ${failure}`)
      else notes.push(`${target.name} is not measured in ${mode} mode: ${oneLine(failure)}`)
    }
    contenders.push({ target, modes })
  }
  for (const note of notes) bench.say(note)
  return { servers, peers: contenders.slice(1 + servers.length), contenders, notes }
}

function tried(bench: Bench, { base, call }: Target, mode: Mode): Promise<Load> {
  const turns = bench.quick ? 8 : warmTurns
  return bench.load({ base, calls: [call(mode)], callers: 8, turns, timeoutMs: 60_000 })
}

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').replaceAll('|', '/').slice(0, 300)
