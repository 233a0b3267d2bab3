/** Which files a run of test/run.ts runs, on which stores. */
import { globSync } from 'node:fs'
import { affectedBy } from './changed.ts'
import { failedLines, passesOf, readFailed } from './failed.ts'
import type { Pass } from './failed.ts'
import type { Options } from './options.ts'
import { runsIn, stores, tierOf } from './tiers.ts'
import type { Store, Tier } from './tiers.ts'

export type Choice = {
  /** Empty if there is rightly nothing to run. */
  passes: Pass[]
  /** The tier whose files run; undefined if files are named and no tier is. */
  tier: Tier | undefined
  /** Whether all files of the tier run. */
  isWhole: boolean
  /** What was chosen, and why. */
  lines: string[]
}

/** `stores`: those to run on. `scale`: the tier as which named files run. Throws if no file matches or git cannot list the changes. */
export function choose(root: string, options: Options, limits: { onlyStore: string | undefined; scale: Tier | undefined }): Choice {
  const { parts, again, changed } = options
  const { onlyStore } = limits
  const isNamed = (file: string): boolean => parts.length === 0 || parts.some((part) => file.includes(part))
  const isOnStore = (store: Store): boolean => onlyStore === undefined || store === onlyStore
  if (again) return chosenAgain(isNamed, isOnStore)

  const tier = options.tier ?? (parts.length === 0 || changed !== undefined ? 'fast' : undefined)
  const isWanted = (file: string, store: Store): boolean =>
    tier === undefined ? tierOf(file, store) !== undefined : runsIn(tier, file, store)
  const files = globSync(['test/**/*.test.ts', 'packages/*/test/**/*.test.ts'], { cwd: root }).filter(isNamed).toSorted()
  const passes = stores
    .filter(isOnStore)
    .map((store) => ({ store, tier: tier ?? limits.scale ?? 'fast', files: files.filter((file) => isWanted(file, store)) }))
    .filter((pass) => pass.files.length > 0)
  if (passes.length === 0) throw new Error(`no test file matches ${parts.join(' or ')}${onlyStore ? ` and runs on ${onlyStore}` : ''}`)
  if (changed !== undefined) return { ...affectedBy(root, changed, passes), tier, isWhole: false }
  return { passes, tier, isWhole: parts.length === 0 && onlyStore === undefined, lines: [] }
}

function chosenAgain(isNamed: (file: string) => boolean, isOnStore: (store: Store) => boolean): Choice {
  const failed = readFailed().filter(({ file, store }) => isNamed(file) && isOnStore(store))
  const lines =
    failed.length === 0
      ? ['no test file failed when it last ran']
      : [`failed when they last ran: ${failed.length} files`, ...failedLines(failed)]
  return { passes: passesOf(failed), tier: undefined, isWhole: false, lines }
}
