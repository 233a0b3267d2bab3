/** Parses and checks the options of `npm run simulate`. Starts nothing. */
import { parseArgs } from 'node:util'
import { BadOptions } from '../support/command-line.ts'

/** `seed` undefined: any. `path`: the one schedule of the seed to run again. */
export type SimulationOptions = {
  minutes: number
  seed: number | undefined
  path: string | undefined
  jsonFile: string | undefined
  shrink: boolean
}

export const usage = `Usage: npm run simulate -- [options]
  --minutes N      run schedules for N minutes (default: 30)
  --seed N         draw the same schedules again; a whole number (default: random)
  --path P         run one schedule of --seed again, as a failed run printed it
  --no-shrink      show a failure without searching for a shorter schedule
  --json FILE      write the result as JSON
  --help           show this help`

/** Throws BadOptions. */
export function readOptions(args: string[]): SimulationOptions {
  const given = parse(args)
  const minutes = numberOf(given.minutes ?? '30')
  if (!(minutes > 0)) throw new BadOptions(`--minutes must be a number above 0, not ${given.minutes}`)
  const seed = given.seed === undefined ? undefined : numberOf(given.seed)
  if (seed !== undefined && !Number.isInteger(seed)) throw new BadOptions(`--seed must be a whole number, not ${given.seed}`)
  if (given.path !== undefined && seed === undefined) throw new BadOptions('--path needs --seed, which its failed run printed beside it')
  return {
    minutes,
    seed,
    path: given.path,
    jsonFile: given.json,
    shrink: !given['no-shrink'],
  }
}

function parse(args: string[]) {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean' } as const
  try {
    return parseArgs({ args, options: { minutes: text, seed: text, path: text, json: text, 'no-shrink': flag } }).values
  } catch (error) {
    // The sentences after the first one explain how to pass a positional argument, which this command does not have.
    throw new BadOptions((error as Error).message.split(/\.\s/)[0]!)
  }
}

const numberOf = (text: string): number => (text.trim() === '' ? NaN : Number(text))
