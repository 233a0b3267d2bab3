/**
 * What a run of tests cost: wall time, CPU, processes and databases per file, from the runner's events and from what file-cost.ts wrote. The
 * figures of the last run are kept in artifacts/test-costs/ and decide which files start first.
 */
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FileCost } from './file-cost.ts'
import { tiers } from './tiers.ts'
import type { Store } from './tiers.ts'

export type FileFigures = { file: string; store: Store; wallMs: number; cpuMs: number; processes: number; databases: number; tests: number }

const root = join(import.meta.dirname, '../..')
const keptIn = join(root, 'artifacts/test-costs')

/** The folder into which the test processes of one pass write; `read` joins it with the wall times and removes it. */
export class CostFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'turnkeep-costs-'))
  readonly #ended: { file: string; wallMs: number; tests: number }[] = []
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /** Called with each file's own summary. */
  ended(file: string, wallMs: number, tests: number): void {
    this.#ended.push({ file, wallMs, tests })
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

const relative = (file: string): string => (file.startsWith(root) ? file.slice(root.length + 1) : file.slice(file.lastIndexOf('/') + 1))

/** Wall times of earlier runs by `<store> <file>`, in milliseconds; empty where nothing ran here yet. */
export function earlierWallMs(): Map<string, number> {
  const kept = tiers.map((tier) => join(keptIn, `${tier}.json`)).flatMap(readKept)
  return new Map(kept.map(({ store, file, wallMs }) => [`${store} ${file}`, wallMs]))
}

function readKept(path: string): FileFigures[] {
  try {
    return (JSON.parse(readFileSync(path, 'utf8')) as { files: FileFigures[] }).files
  } catch {
    // Nothing was kept yet. It only decides an order.
    return []
  }
}

export type RunFigures = { tier: string; wallMs: number; serverCpuMs: number; files: FileFigures[] }

export function keepFigures(figures: RunFigures): void {
  mkdirSync(keptIn, { recursive: true })
  writeFileSync(join(keptIn, `${figures.tier}.json`), `${JSON.stringify(figures, undefined, 1)}\n`)
}

/** The run's totals and its slowest files, or all of them; a line each. */
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
