/** The arguments of test/run.ts. */
import { parseArgs } from 'node:util'
import { tiers } from './tiers.ts'
import type { Tier } from './tiers.ts'

export type Options = {
  tier: Tier | undefined
  costs: boolean
  watch: boolean
  /** Run the files that failed when they last ran; `list` only prints them. */
  again: boolean
  list: boolean
  /** The commit since which files have changed; undefined without `--changed`. */
  changed: string | undefined
  /** Parts of file names. */
  parts: string[]
}

const flag = { type: 'boolean', default: false } as const

/**
 * Reads the arguments. What follows `--changed` is a commit if `isCommit` says so, and otherwise a part of file names. Throws an error with
 * the known arguments if one is unknown.
 */
export function readOptions(args: string[], isCommit: (name: string) => boolean): Options {
  const { values, positionals } = parse(args.flatMap((arg, at) => withValue(arg, args[at - 1], args[at + 1], isCommit)))
  if (values.tier !== undefined && !tiers.some((tier) => tier === values.tier))
    throw new Error(`--tier is ${tiers.join(', ')}, not ${values.tier}`)
  return { ...values, tier: values.tier as Tier | undefined, changed: values.changed, parts: positionals }
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      options: { tier: { type: 'string' }, changed: { type: 'string' }, costs: flag, watch: flag, again: flag, list: flag },
      allowPositionals: true,
    })
  } catch (error) {
    const known = '--tier, --changed, --again, --list, --costs, --watch and parts of file names'
    throw new Error(`${(error as Error).message}. npm test takes ${known}.`, { cause: error })
  }
}

/** parseArgs has no optional values: `--changed` becomes `--changed=HEAD`, and `--changed main` becomes `--changed=main`. */
function withValue(arg: string, before: string | undefined, after: string | undefined, isCommit: (name: string) => boolean): string[] {
  if (arg === '--changed') return [`--changed=${after !== undefined && isCommit(after) ? after : 'HEAD'}`]
  return before === '--changed' && isCommit(arg) ? [] : [arg]
}
