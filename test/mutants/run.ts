/**
 * `npm run mutants`: plants one mutant at a time into a copy of the source and runs the test that should notice it. Every rule of
 * docs/rules.md has a mutant. The run fails if no test notices a mutant, if a mutant no longer fits the source, or if it cannot be run. A
 * mutant that was red in an earlier run is not run again until something that decides its verdict changes (verdict-key.ts).
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startPostgres } from '../support/postgres-server.ts'
import { startRedis } from '../support/redis-server.ts'
import { changedSince, newestRelease, recentCommit, textAt } from './git.ts'
import { judgeAll } from './judge.ts'
import type { Verdict } from './judge.ts'
import { mutants } from './mutants.ts'
import type { Mutant } from './mutant.ts'
import { Places } from './places.ts'
import { parseTenth, select, shardOf, slowestFirst } from './selection.ts'
import { tableFits, writeTable } from './table.ts'
import { isSameCode } from './tokens.ts'
import { copyTrees, restoreCompiled, saveCompiled } from './trees.ts'
import { VerdictCache } from './verdict-cache.ts'
import { VerdictKeys } from './verdict-key.ts'

const usage = `Usage: npm run mutants -- [options]
  --rule NAME           run the mutants of one rule
  --changed-since REF   run the mutants of rules whose files changed since REF; "release" is the newest tag v* in HEAD,
                        and before the first one the commit 30 commits back
  --tenth K             run a tenth of the others: a digit, or "today" for one that changes daily
  --sample N            run N at random
  --shard I/N           run part I of N
  --no-cache            run those that were seen red before, too
  --report FILE         write the verdicts as JSON
  --write               update docs/mutants.md if all mutants are red`
const root = join(import.meta.dirname, '../..')
const cacheFolder = join(root, 'node_modules/.cache/turnkeep-mutants')
const compiled = join(cacheFolder, 'compiled')
const servers = [
  { variable: 'TEST_POSTGRES_URL', start: startPostgres, support: 'test/support/postgres-server.ts' },
  { variable: 'TEST_REDIS_URL', start: startRedis, support: 'test/support/redis-server.ts' },
]

const places = new Places(root)
const text = { type: 'string' } as const
const flag = { type: 'boolean' } as const
const { values } = orUsage(() =>
  parseArgs({
    options: {
      rule: text,
      'changed-since': text,
      tenth: text,
      sample: text,
      shard: text,
      'no-cache': flag,
      report: text,
      write: flag,
      help: flag,
    },
  }),
)
if (values.help === true) console.log(usage)
else process.exitCode = (await runAll()) ? 0 : 1

async function runAll(): Promise<boolean> {
  const startedAt = performance.now()
  const cache = new VerdictCache(cacheFolder)
  cache.prune()
  const wanted = orUsage(chosen)
  const cached = values['no-cache'] === true ? [] : cachedVerdicts(cache, wanted)
  if (cached.length > 0) console.log(`${cached.length} of ${wanted.length} unchanged since they were last seen red`)
  const reused = new Set(cached.map(({ mutant }) => mutant))
  const remaining = wanted.filter((mutant) => !reused.has(mutant))
  const judged = remaining.length === 0 ? [] : await runMutants(cache, slowestFirst(remaining, cache.durations()))
  const verdicts = [...cached, ...judged]
  const red = verdicts.filter(({ kind }) => kind === 'red')
  if (values.write === true && red.length === mutants.length) writeTable(root, mutants)
  const problems = [
    ...unprovenRules(),
    ...staleMutants(remaining),
    ...(tableFits(root, mutants) ? [] : ['docs/mutants.md is not current: --write']),
  ]
  for (const problem of problems) console.error(problem)
  for (const verdict of verdicts) if (verdict.kind !== 'red') console.error(withReason(verdict))
  if (values.report !== undefined) writeReport(values.report, verdicts, reused)
  console.log(`${red.length} of ${verdicts.length} mutants red, in ${Math.round((performance.now() - startedAt) / 1000)} s`)
  return problems.length === 0 && red.length === verdicts.length
}

/** Ends the process with exit code 2 if the arguments are wrong. */
function orUsage<Result>(read: () => Result): Result {
  try {
    return read()
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`)
    process.exit(2)
  }
}

function chosen(): Mutant[] {
  const ofRule = values.rule === undefined ? mutants : mutants.filter(({ rule }) => rule === values.rule)
  if (ofRule.length === 0) throw new Error(`no mutant has the rule ${values.rule}`)
  const tenth = values.tenth === undefined ? undefined : parseTenth(values.tenth, Date.now())
  const selected = select(ofRule, { changed: changedFiles(), tenth }, { filesOf, listOf: (file) => readFileSync(join(root, file), 'utf8') })
  const inShard = values.shard === undefined ? selected : shardOf(selected, values.shard)
  return values.sample === undefined ? inShard : sampleOf(inShard, values.sample)
}

/** The files that a mutant edits; none if it does not fit the source. */
function filesOf({ edits }: Mutant): string[] {
  const placed = places.place(edits)
  return placed.kind === 'placed' ? [...placed.files.keys()] : []
}

function sampleOf(from: Mutant[], count: string): Mutant[] {
  if (!/^[1-9]\d*$/.test(count)) throw new Error(`--sample takes a positive number, not ${count}`)
  const shuffled = from.map((mutant) => ({ mutant, at: Math.random() })).toSorted((a, b) => a.at - b.at)
  return shuffled.slice(0, Number(count)).map(({ mutant }) => mutant)
}

/** Returns undefined if `--changed-since` is not set. */
function changedFiles(): string[] | undefined {
  const since = values['changed-since']
  if (since === undefined) return undefined
  const ref = since === 'release' ? (newestRelease(root) ?? recentCommit(root)) : since
  if (ref === undefined) throw new Error('--changed-since needs git and a commit')
  const changed = changedSince(root, ref).filter((file) => {
    const before = textAt(root, ref, file)
    return before === undefined || !existsSync(join(root, file)) || !isSameCode(file, before, readFileSync(join(root, file), 'utf8'))
  })
  console.log(`${changed.length} files changed since ${ref}, not counting layout and comments`)
  return changed
}

function cachedVerdicts(cache: VerdictCache, wanted: Mutant[]): Verdict[] {
  const keys = new VerdictKeys(root)
  return wanted.flatMap((mutant) => {
    const key = keys.keyOf(mutant)
    const seconds = key === undefined ? undefined : cache.find(key)
    return seconds === undefined ? [] : [{ mutant, kind: 'red', because: '', seconds }]
  })
}

async function runMutants(cache: VerdictCache, wanted: Mutant[]): Promise<Verdict[]> {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-mutants-'))
  const running: { stop(): Promise<void> }[] = []
  try {
    const trees = copyTrees(folder)
    // Computed from the copy, because the source may be edited while this runs.
    const copy = new VerdictKeys(trees[0]!)
    const keys = new Map(wanted.map((mutant) => [mutant, copy.keyOf(mutant)]))
    // One server of each kind for all tests, which create their own databases in it.
    for (const { variable, start, support } of servers) {
      if (!wanted.some((mutant) => copy.uses(mutant, support))) continue
      const server = await start()
      running.push(server)
      process.env[variable] = server.url
    }
    restoreCompiled(trees, compiled)
    const verdicts = await judgeAll(trees, copy.places, wanted, (verdict) => {
      const { mutant, kind, seconds } = verdict
      const key = keys.get(mutant)
      if (kind === 'red' && key !== undefined) cache.addRed(key, mutant, seconds)
      console.log(kind === 'red' ? lineOf(verdict) : withReason(verdict))
    })
    saveCompiled(trees, compiled)
    return verdicts
  } finally {
    rmSync(folder, { recursive: true, force: true })
    await Promise.all(running.map((server) => server.stop()))
  }
}

function unprovenRules(): string[] {
  const rules = [...readFileSync(join(root, 'docs/rules.md'), 'utf8').matchAll(/^\| `([\w.-]+)` \|/gm)].map(([, rule]) => rule!)
  const known = new Set(mutants.map(({ rule }) => rule))
  return [
    ...rules.filter((rule) => !known.has(rule)).map((rule) => `${rule} has no mutant`),
    ...[...known].filter((rule) => !rules.includes(rule)).map((rule) => `${rule} has a mutant and is not a rule in docs/rules.md`),
  ]
}

/** Checks only the mutants that did not run; for the others, the verdict reports it. */
function staleMutants(ran: Mutant[]): string[] {
  return mutants.flatMap((mutant) => {
    const placed = ran.includes(mutant) ? undefined : places.place(mutant.edits)
    return placed?.kind === 'stale' ? [`stale: ${mutant.rule}, ${mutant.removes}: ${placed.because}`] : []
  })
}

function lineOf({ mutant, kind, seconds }: Verdict): string {
  return `${kind} ${seconds.toFixed(1)} s  ${mutant.rule}: ${mutant.removes}`
}

function withReason(verdict: Verdict): string {
  return `${lineOf(verdict)}\n  ${verdict.because}`
}

function writeReport(file: string, verdicts: Verdict[], reused: Set<Mutant>): void {
  const entries = verdicts.map(({ mutant, kind, seconds }) => {
    const { rule, removes } = mutant
    return { rule, removes, kind, seconds: Number(seconds.toFixed(1)), cached: reused.has(mutant) }
  })
  writeFileSync(file, `${JSON.stringify(entries, undefined, 2)}\n`)
}
