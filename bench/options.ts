/** The command line of `npm run bench`, checked completely before anything starts. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { BenchOptions } from './bench.ts'
import { BadOptions } from '../test/support/command-line.ts'
import { peersUpstreamPort } from './peers.ts'

/**
 * `only` undefined: every scenario. `goesOn`: what is not run now is taken from the run in `output`. `write`: into docs/performance.md;
 * `output`: the folder for tables, figures and plots.
 */
export type RunOptions = BenchOptions & { only: string[] | undefined; goesOn: boolean; write: boolean; output: string }

export const usage = `Usage: npm run bench -- [options]
  --only A,B           only these scenarios (default: all)
  --continue           with --only: take the other results from the last run
  --rounds N           rounds of each measurement (default: 3)
  --seconds N          seconds of each measurement (default: 4)
  --soak-minutes N     minutes for which memory is watched (default: 10; 0: not at all)
  --stored-turns N     also measure a PostgreSQL with this many turns
  --peers FOLDER       a folder of peers (docs/performance.md)
  --with A,B           the peers to measure
  --upstream-port N    the port of the model's server
  --quick              does all of it run? Its figures say nothing
  --write              write the tables and plots into docs/
  --output FOLDER      where the results go (default: bench/results)
  --help               show this help`

// A quick check that everything runs. Its figures mean nothing.
const quick = { rounds: 1, seconds: 0.3, soakMinutes: 0 }
const initial = { rounds: 3, seconds: 4, soakMinutes: 10 }

/** Throws BadOptions. `names` are those of all scenarios. */
export function readOptions(args: string[], names: string[]): RunOptions {
  const given = parse(args)
  const defaults = given.quick ? quick : initial
  const only = given.only?.split(',')
  const unknown = only?.filter((name) => !names.includes(name)) ?? []
  if (unknown.length > 0) throw new BadOptions(`no scenario ${unknown.join(', ')}; there are ${names.join(', ')}`)
  if ((given.peers === undefined) !== (given.with === undefined)) throw new BadOptions('--peers and --with belong together')
  const peers = given.peers === undefined ? undefined : { folder: given.peers, names: given.with!.split(',') }
  if (given.continue && !only) throw new BadOptions('--continue needs --only: the scenarios to run again')
  if (given.quick && given.continue) throw new BadOptions('--quick measures nothing that could go on')
  if (given.quick && given.write) throw new BadOptions('--quick measures nothing that could be written')
  const missing = peers?.names.filter((name) => !existsSync(join(peers.folder, 'adapters', `${name}.mjs`))) ?? []
  if (missing.length > 0) throw new BadOptions(`${peers!.folder} has no adapter for ${missing.join(', ')}`)
  return {
    only,
    goesOn: given.continue ?? false,
    upstreamPort: number('upstream-port', given['upstream-port'], peers ? peersUpstreamPort : 0, 0),
    rounds: number('rounds', given.rounds, defaults.rounds, 1),
    seconds: number('seconds', given.seconds, defaults.seconds, 0.1),
    soakMinutes: number('soak-minutes', given['soak-minutes'], defaults.soakMinutes, 0),
    storedTurns: readStoredTurns(given['stored-turns']),
    quick: given.quick ?? false,
    write: given.write ?? false,
    output: given.output ?? join(import.meta.dirname, 'results'),
    peers,
  }
}

/** Each of ten owners has conversations of twenty turns. */
function readStoredTurns(text: string | undefined): number {
  const turns = number('stored-turns', text, 0, 0)
  if (turns % 200 !== 0) throw new BadOptions(`--stored-turns must be a multiple of 200, not ${text}`)
  return turns
}

function parse(args: string[]) {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean' } as const
  try {
    return parseArgs({
      args,
      options: {
        only: text,
        continue: flag,
        rounds: text,
        seconds: text,
        'soak-minutes': text,
        'stored-turns': text,
        quick: flag,
        write: flag,
        output: text,
        'upstream-port': text,
        peers: text,
        with: text,
      },
    }).values
  } catch (error) {
    // The sentences after the first one explain how to pass a positional argument, which this command does not have.
    throw new BadOptions((error as Error).message.split(/\.\s/)[0]!)
  }
}

function number(name: string, text: string | undefined, initially: number, least: number): number {
  const value = text === undefined ? initially : Number(text)
  if (!(value >= least)) throw new BadOptions(`--${name} must be a number from ${least} on, not ${text}`)
  return value
}
