/**
 * The servers that are compared: the model itself, our server, and the peers of the run. Each is tried first, in every mode, so that one
 * with failing responses is named with the reason and has no figures, instead of fast ones.
 */
import { notWhole } from './bench.ts'
import { warmTurns } from './side-by-side.ts'
import type { Bench, Load, Mode, Server, ServerOptions, Target } from './scenario.ts'

export type Contender = { target: Target; modes: Mode[] }
export type Contenders = { server: Server; contenders: Contender[]; notes: string[] }

export async function startContenders(bench: Bench, options: ServerOptions = {}): Promise<Contenders> {
  const upstream = await bench.upstream()
  await upstream.configure({})
  const server = await bench.startServer(options)
  const notes: string[] = []
  const contenders: Contender[] = []
  for (const target of [upstream, server, ...(await bench.startPeers())]) {
    const modes: Mode[] = []
    for (const mode of ['sync', 'stream'] as const) {
      const failure = notWhole(await tried(bench, target, mode))
      if (failure === undefined) modes.push(mode)
      else if (target === server) throw new Error(`our own ${mode} answers fail: ${failure}`)
      else notes.push(`${target.name} is not measured in ${mode} mode: ${oneLine(failure)}`)
    }
    contenders.push({ target, modes })
  }
  for (const note of notes) bench.say(note)
  return { server, contenders, notes }
}

function tried(bench: Bench, { base, call }: Target, mode: Mode): Promise<Load> {
  const turns = bench.quick ? 8 : warmTurns
  return bench.load({ base, calls: [call(mode)], callers: 8, turns, timeoutMs: 60_000 })
}

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').replaceAll('|', '/').slice(0, 300)
