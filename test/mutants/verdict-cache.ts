/**
 * The verdicts of earlier runs: one small JSON file per mutant that was red, named by its key (verdict-key.ts). No other verdict is stored,
 * so a mutant that survived, no longer fits or could not run is run again every time.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Mutant } from './mutant.ts'

type Entry = { rule: string; removes: string; seconds: number }

const maxUnusedMs = 30 * 24 * 60 * 60 * 1000

export class VerdictCache {
  readonly #folder: string

  /** Creates the folder if it does not exist. */
  constructor(folder: string) {
    this.#folder = folder
    mkdirSync(folder, { recursive: true })
  }

  /** Returns the seconds that the red run under this key took, or undefined if there was none. Marks the entry as used. */
  find(key: string): number | undefined {
    const entry = this.#read(`${key}.json`)
    if (entry === undefined) return undefined
    const now = new Date()
    utimesSync(this.#fileOf(key), now, now)
    return entry.seconds
  }

  /** Stores that the mutant was red. Atomic: another run sees the whole entry or no entry. */
  addRed(key: string, { rule, removes }: Mutant, seconds: number): void {
    const entry: Entry = { rule, removes, seconds }
    const unfinished = `${this.#fileOf(key)}.${process.pid}.tmp`
    writeFileSync(unfinished, JSON.stringify(entry))
    renameSync(unfinished, this.#fileOf(key))
  }

  /** Returns how long each mutant took the last time it was red, by `nameOf`, whatever has changed since. */
  durations(): Map<string, number> {
    const found = this.#names().flatMap((name) => {
      const entry = this.#read(name)
      return entry === undefined ? [] : [{ ...entry, at: this.#usedAtMs(name) }]
    })
    return new Map(found.toSorted((a, b) => a.at - b.at).map((entry) => [nameOf(entry), entry.seconds]))
  }

  /** Deletes entries that no run has used for 30 days. */
  prune(nowMs = Date.now()): void {
    for (const name of readdirSync(this.#folder)) {
      const isEntry = /^[0-9a-f]{64}\.json/.test(name)
      if (isEntry && nowMs - this.#usedAtMs(name) > maxUnusedMs) rmSync(join(this.#folder, name), { force: true })
    }
  }

  #names(): string[] {
    return readdirSync(this.#folder).filter((name) => /^[0-9a-f]{64}\.json$/.test(name))
  }

  /** Returns 0 if another run has just deleted the entry. */
  #usedAtMs(name: string): number {
    return statSync(join(this.#folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0
  }

  /** Returns undefined if the entry does not exist or is incomplete; then its mutant runs again. */
  #read(name: string): Entry | undefined {
    try {
      const entry = JSON.parse(readFileSync(join(this.#folder, name), 'utf8')) as Partial<Entry>
      return typeof entry.seconds === 'number' ? (entry as Entry) : undefined
    } catch {
      return undefined
    }
  }

  #fileOf(key: string): string {
    return join(this.#folder, `${key}.json`)
  }
}

/** One name per mutant, stable across changes of its edits and its test. */
export const nameOf = ({ rule, removes }: Pick<Mutant, 'rule' | 'removes'>): string => `${rule}: ${removes}`
