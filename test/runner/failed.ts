/**
 * The test files that failed when they last ran, in artifacts/test-costs/failed.json, for `npm run test:again` and the end of `.ci/run`. A
 * file leaves the list when it runs again and passes.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TestEvent } from 'node:test/reporters'
import { isShared } from './shared-process.ts'
import { stores, tiers } from './tiers.ts'
import type { Store, Tier } from './tiers.ts'

/** `tier`: the scale of tests that do more in later tiers. `files`: relative to the repository. */
export type Pass = { store: Store; tier: Tier; files: string[] }
/** `failed`: the titles of the failed tests. */
export type FileResult = { store: Store; tier: Tier; file: string; failed: string[] }

const repository = join(import.meta.dirname, '../..')
const keptIn = join(repository, 'artifacts/test-costs/failed.json')
const lost = 'its process ended before it reported its tests'

/** The failed tests of each file of a pass, from the events of its run. */
export class PassResults {
  readonly #root: string
  readonly #isStrict: boolean
  /** By the file with which a process was started: the failed tests that belong to no ended suite. */
  readonly #titles = new Map<string, string[]>()
  /** The files with a process of their own that reported all their tests. */
  readonly #ended = new Set<string>()
  /** By the generated file of a shared process: the files whose suites have ended, with their failed tests. */
  readonly #suites = new Map<string, Map<string, string[]>>()

  /** `isStrict`: a skipped test counts as failed. */
  constructor({ isStrict = false, root = repository } = {}) {
    this.#isStrict = isStrict
    this.#root = root
  }

  see({ type, data }: TestEvent): void {
    if (type === 'test:summary' && data.file !== undefined) this.#ended.add(data.file)
    if ((type !== 'test:pass' && type !== 'test:fail') || data.file === undefined) return
    // A test may be written in another file than that with which its process was started.
    const { entryFile: entry = data.file } = data as { entryFile?: string }
    const titles = this.#titles.get(entry) ?? []
    this.#titles.set(entry, titles)
    if (type === 'test:fail' && !isOfSubtests(data.details.error)) titles.push(data.name)
    if (this.#isStrict && (data.skip ?? data.todo)) titles.push(`${data.name} (skipped)`)
    if (data.nesting > 0) return
    // Node reports a file that has no tests under its own path.
    if (data.name === entry) this.#ended.add(entry)
    else if (data.details.type === 'suite' && isShared(entry)) {
      const suites = this.#suites.get(entry) ?? new Map<string, string[]>()
      this.#suites.set(entry, suites.set(data.name, titles))
      this.#titles.delete(entry)
    }
  }

  /** Returns a result for each file of the pass. A file that did not report all its tests has failed. */
  read({ store, tier, files }: Pass): FileResult[] {
    const suites = new Map([...this.#suites.values()].flatMap((ended) => [...ended]))
    const results = files.map((file) => {
      const path = join(this.#root, file)
      const failed = suites.get(file) ?? this.#titles.get(path) ?? []
      const isLost = failed.length === 0 && !suites.has(file) && !this.#ended.has(path)
      return { store, tier, file, failed: isLost ? [lost] : failed }
    })
    if (results.some(isLost)) return results
    // A shared process that failed after its last suite: any of its files may be the cause.
    const others = [...this.#suites].flatMap(([entry, ended]) => ((this.#titles.get(entry) ?? []).length > 0 ? [...ended.keys()] : []))
    return results.map((result) =>
      others.includes(result.file) ? { ...result, failed: [...result.failed, 'its shared process'] } : result,
    )
  }
}

/** Whether a suite or test only failed because one in it did. */
const isOfSubtests = (error: Error): boolean => (error as { failureType?: string }).failureType === 'subtestsFailed'

export const isLost = ({ failed }: FileResult): boolean => failed.includes(lost)

/** Without files that no longer exist. */
export function readFailed(path = keptIn): FileResult[] {
  try {
    const kept = JSON.parse(readFileSync(path, 'utf8')) as FileResult[]
    return kept.filter(({ file }) => existsSync(join(repository, file)))
  } catch {
    // No run has ended here yet, or the file is unreadable: the next run writes it.
    return []
  }
}

/** Replaces the results of the files that ran. */
export function keepFailed(ran: FileResult[], path = keptIn): void {
  const isSame = (a: FileResult, b: FileResult): boolean => a.store === b.store && a.file === b.file
  const others = readFailed(path).filter((one) => !ran.some((other) => isSame(one, other)))
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `${JSON.stringify([...others, ...ran.filter(({ failed }) => failed.length > 0)], undefined, 1)}\n`)
}

/** The passes that run these files again. */
export function passesOf(failed: FileResult[]): Pass[] {
  return stores
    .flatMap((store) => tiers.map((tier) => ({ store, tier })))
    .map((pass) => ({ ...pass, files: failed.filter((one) => one.store === pass.store && one.tier === pass.tier).map(({ file }) => file) }))
    .filter(({ files }) => files.length > 0)
}

/** Returns a line per file and one per failed test of it. */
export const failedLines = (failed: FileResult[]): string[] =>
  failed.flatMap(({ store, file, failed: titles }) => [`${store} ${file}`, ...titles.map((title) => `    ${title}`)])
