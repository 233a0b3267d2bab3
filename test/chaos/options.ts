/**
 * Parses and checks the options of `npm run chaos`. The options of a run to be repeated are in the first line of its history. Starts
 * nothing.
 */
import { randomInt } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { BadOptions } from '../support/command-line.ts'
import { readHistory } from './history.ts'
import { isFaultName, kindsFor } from './schedule.ts'
import type { ChaosOptions, FaultName, PlannedFault, StoreKind } from './schedule.ts'

export type RunOptions = ChaosOptions & {
  /** The bin/turnkeep.js of another copy of the source. */
  program: string | undefined
  historyFile: string | undefined
  jsonFile: string | undefined
  /** The history of the run to be repeated. */
  plan: PlannedFault[] | undefined
  /** Kinds that are not possible on this machine, and why; `asked`: the options name them. */
  impossible: { name: string; why: string; asked: boolean }[]
}

export const usage = `Usage: npm run chaos -- [options]
  --minutes N      inject faults for N minutes (default: 3)
  --store S        sqlite or postgres (default: sqlite)
  --processes N    servers on one PostgreSQL (default: 3)
  --callers N      clients that send turns (default: 24)
  --faults A,B     only these kinds of fault (default: all that are possible on this machine)
  --seed N         draw the same faults and callers again; a whole number (default: random)
  --replay FILE    repeat the run of a history: its seed, options and faults
  --tree FOLDER    test the server of another copy of the source
  --history FILE   keep the history of the run
  --json FILE      write the result as JSON
  --help           show this help`

const names = ['minutes', 'seed', 'store', 'processes', 'callers', 'faults', 'history', 'json', 'replay', 'tree'] as const

/** `impossible`: kinds of fault that are not possible on this machine, and why. */
export function readOptions(args: string[], impossible: Partial<Record<string, string>>): RunOptions {
  const given = parse(args)
  const { historyFile, jsonFile, program } = {
    historyFile: given['history'] === undefined ? undefined : resolve(given['history']),
    jsonFile: given['json'] === undefined ? undefined : resolve(given['json']),
    program: given['tree'] === undefined ? undefined : programOf(given['tree']),
  }
  const { plan, ...options } = given['replay'] === undefined ? { ...fresh(given), plan: undefined } : recorded(given['replay'])
  const asked = given['faults'] !== undefined || plan !== undefined
  const missing = options.faults.flatMap((name) => (impossible[name] === undefined ? [] : [{ name, why: impossible[name], asked }]))
  const faults = options.faults.filter((name) => impossible[name] === undefined)
  if (faults.length === 0) throw new BadOptions(`none of these faults can be made here: ${missing.map(({ why }) => why).join('; ')}`)
  return {
    ...options,
    faults,
    plan: plan?.filter(({ name }) => faults.includes(name)),
    program,
    historyFile,
    jsonFile,
    impossible: missing,
  }
}

function parse(args: string[]): Partial<Record<(typeof names)[number], string>> {
  try {
    return parseArgs({ args, options: Object.fromEntries(names.map((name) => [name, { type: 'string' as const }])) }).values
  } catch (error) {
    // The sentences after the first one explain how to pass a positional argument, which this command does not have.
    throw new BadOptions((error as Error).message.split(/\.\s/)[0]!)
  }
}

function fresh(given: Partial<Record<(typeof names)[number], string>>): ChaosOptions {
  const store = storeOf(given.store ?? 'sqlite')
  const minutes = numberOf('minutes', given.minutes ?? '3', { least: 0.05, most: 10_000 })
  const processes = wholeNumberOf('processes', given.processes ?? (store === 'sqlite' ? '1' : '3'), { least: 1, most: 20 })
  if (store === 'sqlite' && processes !== 1) throw new BadOptions('--processes: SQLite is for one process')
  const possible = kindsFor({ store, minutes })
  return {
    seed: wholeNumberOf('seed', given.seed ?? String(randomInt(1_000_000)), { least: 0, most: 2 ** 32 - 1 }),
    minutes,
    store,
    processes,
    callers: wholeNumberOf('callers', given.callers ?? '24', { least: 1, most: 10_000 }),
    faults: given.faults === undefined ? possible : given.faults.split(',').map((name) => faultOf(name.trim(), store)),
  }
}

function faultOf(name: string, store: StoreKind): FaultName {
  const known = kindsFor({ store, minutes: Infinity })
  if (isFaultName(name) && known.includes(name)) return name
  throw new BadOptions(`--faults: there is no ${name} on ${store}; there are ${known.join(', ')}`)
}

function storeOf(text: string): StoreKind {
  if (text === 'sqlite' || text === 'postgres') return text
  throw new BadOptions(`--store is sqlite or postgres, not ${text}`)
}

type Range = { least: number; most: number }

function numberOf(name: string, text: string, { least, most }: Range): number {
  const value = text.trim() === '' ? NaN : Number(text)
  if (value >= least && value <= most) return value
  throw new BadOptions(`--${name} is a number from ${least} to ${most}, not ${text}`)
}

function wholeNumberOf(name: string, text: string, range: Range): number {
  const value = numberOf(name, text, range)
  if (Number.isInteger(value)) return value
  throw new BadOptions(`--${name} is a whole number, not ${text}`)
}

function programOf(tree: string): string {
  const program = resolve(join(tree, 'bin/turnkeep.js'))
  if (!existsSync(program)) throw new BadOptions(`--tree: there is no ${program}`)
  return program
}

function recorded(file: string): ChaosOptions & { plan: PlannedFault[] } {
  if (!existsSync(file)) throw new BadOptions(`--replay: there is no ${file}`)
  const [first] = readHistory(file)
  if (first?.kind !== 'begin') throw new BadOptions(`--replay: ${file} does not begin as a history does`)
  return { ...(first.options as ChaosOptions), plan: first.schedule as PlannedFault[] }
}
