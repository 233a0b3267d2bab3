/**
 * Selects the mutants to run: those of changed rules, a rotating tenth of the others, a shard. Pure functions; git.ts finds out what
 * changed.
 */
import type { Mutant } from './mutant.ts'
import { sha256 } from './source-graph.ts'
import { nameOf } from './verdict-cache.ts'
import { testFileOf } from './verdict-key.ts'

export type Selection = {
  /** The files that changed, or undefined if `--changed-since` is not set. */
  changed?: string[] | undefined
  /** 0 to 9, or undefined for no rotating tenth. */
  tenth?: number | undefined
}

export type Files = {
  /** The files that a mutant edits. */
  filesOf(mutant: Mutant): string[]
  /** The text of a changed list of mutants, for the rules that it defines. */
  listOf(file: string): string
}

/**
 * The mutants of rules whose files changed, together with the tenth of the others; all of them if the selection names neither.
 */
export function select(mutants: Mutant[], { changed, tenth }: Selection, files: Files): Mutant[] {
  if (changed === undefined && tenth === undefined) return mutants
  const rules = changedRules(mutants, changed ?? [], files)
  return mutants.filter((mutant) => rules.has(mutant.rule) || tenthOf(mutant) === tenth)
}

/** A rule's files are those its mutants edit, the tests that notice them, and the list that defines them. */
function changedRules(mutants: Mutant[], changed: string[], { filesOf, listOf }: Files): Set<string> {
  const files = new Set(changed)
  const lists = changed.filter((file) => /^test\/mutants\/[\w-]+-mutants\.ts$/.test(file)).map(listOf)
  const hasChanged = (mutant: Mutant): boolean =>
    files.has(testFileOf(mutant)) ||
    filesOf(mutant).some((file) => files.has(file)) ||
    lists.some((text) => text.includes(`'${mutant.rule}'`))
  return new Set(mutants.filter(hasChanged).map(({ rule }) => rule))
}

/** 0 to 9. Depends only on the mutant's name, so that adding a mutant does not move the others. */
function tenthOf(mutant: Pick<Mutant, 'rule' | 'removes'>): number {
  return Number.parseInt(sha256(nameOf(mutant)).slice(0, 8), 16) % 10
}

/** Reads `--tenth`: a digit, or `today`. Days are counted in UTC across years, so that any ten consecutive days cover all tenths. */
export function parseTenth(text: string, nowMs: number): number {
  if (text === 'today') return Math.floor(nowMs / 86_400_000) % 10
  if (!/^\d$/.test(text)) throw new Error(`--tenth takes a digit from 0 to 9 or "today", not ${text}`)
  return Number(text)
}

/**
 * Reads `--shard`, such as `2/3`, and returns that part. The sizes of shards differ by at most one mutant; together they are the whole
 * list.
 */
export function shardOf<Item>(items: Item[], text: string): Item[] {
  const [, index, count] = (/^([1-9]\d*)\/([1-9]\d*)$/.exec(text) ?? []).map(Number)
  if (index === undefined || count === undefined || index > count) throw new Error(`--shard takes I/N such as 2/3, not ${text}`)
  return items.filter((_, at) => at % count === index - 1)
}

/**
 * Orders the mutants of one test file one after another, and files and mutants so that the slowest start first and no slow one is left for
 * the end. `seconds` contains how long each took before, by `nameOf`; one that never ran counts as slow.
 */
export function slowestFirst(mutants: Mutant[], seconds: Map<string, number>): Mutant[] {
  const secondsOf = (mutant: Mutant): number => seconds.get(nameOf(mutant)) ?? Infinity
  const groups = Map.groupBy(mutants, testFileOf)
    .values()
    .map((group) => group.toSorted((a, b) => compare(secondsOf(b), secondsOf(a))))
  return [...groups].toSorted(([a], [b]) => compare(secondsOf(b!), secondsOf(a!))).flat()
}

/** Handles two Infinities, whose difference is NaN. */
const compare = (a: number, b: number): number => (a === b ? 0 : a - b)
