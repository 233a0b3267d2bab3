/**
 * The costs of a test run: wall time, CPU, processes and databases per file, from the runner's events and from the files that file-cost.ts
 * wrote. The figures of the last run are stored in artifacts/test-costs/ and decide which files start first.
 */
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, isAbsolute, join } from 'node:path'
import type { TestEvent } from 'node:test/reporters'
import type { FileCost } from './file-cost.ts'
import { isShared } from './shared-process.ts'
import { tiers } from './tiers.ts'
import type { Store } from './tiers.ts'

export type FileFigures = { file: string; store: Store; wallMs: number; cpuMs: number; processes: number; databases: number; tests: number }

const root = join(import.meta.dirname, '../..')
const keptIn = join(root, 'artifacts/test-costs')

/** The folder into which the test processes of one pass write. `read` combines it with the wall times and removes it. */
export class CostFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'turnkeep-costs-'))
  readonly #ended: { file: string; wallMs: number; tests: number }[] = []
  /** By the path of a shared file: the time that its suites have taken so far, in milliseconds. */
  readonly #sharedMs = new Map<string, number>()
  readonly #tests = new Map<string, number>()
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /** Reads the summary of each file and, for a process that several files share, the end of each file's suite. */
  see({ type, data }: TestEvent): void {
    if (type === 'test:summary' && data.file !== undefined) {
      const sharedMs = this.#sharedMs.get(data.file)
      if (sharedMs === undefined) this.#ended.push({ file: data.file, wallMs: data.duration_ms, tests: data.counts.tests })
      // The remainder is the start of the process.
      else this.#ended.push({ file: data.file, wallMs: data.duration_ms - sharedMs, tests: 0 })
    }
    if ((type !== 'test:pass' && type !== 'test:fail') || data.file === undefined) return
    // A test is reported under the file in which it is written, even if a generated file imported that file.
    const file = relative(data.file)
    if (data.details.type !== 'suite') this.#tests.set(file, (this.#tests.get(file) ?? 0) + 1)
    if (data.nesting > 0 || !isShared(data.file)) return
    const { duration_ms: wallMs } = data.details
    this.#ended.push({ file: data.name, wallMs, tests: this.#tests.get(data.name) ?? 0 })
    this.#sharedMs.set(data.file, (this.#sharedMs.get(data.file) ?? 0) + wallMs)
  }

  read(): FileFigures[] {
    const written = globSync('*.json', { cwd: this.path }).map((name): FileCost => JSON.parse(readFileSync(join(this.path, name), 'utf8')))
    rmSync(this.path, { recursive: true, force: true })
    const byFile = new Map(written.map((cost) => [cost.file, cost]))
    return this.#ended.map(({ file, wallMs, tests }) => {
      const { cpuMs = 0, processes = 0, databases = 0 } = byFile.get(file) ?? {}
      return { file: relative(file), store: this.#store, wallMs, cpuMs, processes, databases, tests }
    })
  }
}

/** The suites of a shared file are named by relative paths; the shared file itself is in a temporary folder. */
function relative(file: string): string {
  if (!isAbsolute(file)) return file
  return file.startsWith(root) ? file.slice(root.length + 1) : basename(file)
}

/** Returns the wall times of earlier runs by `<store> <file>`, in milliseconds; empty if no run has finished here yet. */
export function earlierWallMs(): Map<string, number> {
  const kept = tiers.map((tier) => join(keptIn, `${tier}.json`)).flatMap(readKept)
  return new Map(kept.map(({ store, file, wallMs }) => [`${store} ${file}`, wallMs]))
}

function readKept(path: string): FileFigures[] {
  try {
    return (JSON.parse(readFileSync(path, 'utf8')) as { files: FileFigures[] }).files
  } catch {
    // Nothing is stored yet, or it is unreadable. The figures only decide an order.
    return []
  }
}

export type RunFigures = { tier: string; wallMs: number; serverCpuMs: number; files: FileFigures[] }

export function keepFigures(figures: RunFigures): void {
  mkdirSync(keptIn, { recursive: true })
  writeFileSync(join(keptIn, `${figures.tier}.json`), `${JSON.stringify(figures, undefined, 1)}\n`)
}

/** Returns lines with the run's totals and its slowest files, up to `limit`. */
export function costLines({ tier, wallMs, serverCpuMs, files }: RunFigures, limit: number): string[] {
  const sum = (pick: (file: FileFigures) => number): number => files.reduce((total, file) => total + pick(file), 0)
  const cpu = seconds(sum(({ cpuMs }) => cpuMs) + serverCpuMs)
  const slowest = files.toSorted((a, b) => b.wallMs - a.wallMs).slice(0, limit)
  const head = `${'wall s'.padStart(8)} ${'CPU s'.padStart(7)} ${'procs'.padStart(6)} ${'dbs'.padStart(5)} ${'tests'.padStart(6)}  file`
  return [
    `${tier}: ${sum(({ tests }) => tests)} tests in ${files.length} files, ${seconds(wallMs)} s, ${cpu} s of CPU (PostgreSQL and Redis ${seconds(serverCpuMs)}), ${sum(({ processes }) => processes)} processes, ${sum(({ databases }) => databases)} databases`,
    head,
    ...slowest.map(
      ({ file, store, wallMs: wall, cpuMs, processes, databases, tests }) =>
        `${seconds(wall).padStart(8)} ${seconds(cpuMs).padStart(7)} ${String(processes).padStart(6)} ${String(databases).padStart(5)} ${String(tests).padStart(6)}  ${store} ${file}`,
    ),
  ]
}

const seconds = (ms: number): string => (ms / 1000).toFixed(1)
