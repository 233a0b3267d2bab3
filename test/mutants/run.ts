/**
 * `npm run mutants`: plants one fault at a time into a copy of the source and asks the test that should notice. Every rule of docs/rules.md has
 * a mutant; a mutant that no test notices, that fits the source no more or that cannot be run is a failure.
 * `--rule NAME` runs those of one rule, `--sample N` a random N of them; `--write`, where all ran and are red, keeps the table in
 * docs/mutants.md.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startPostgres } from '../support/postgres-server.ts'
import { startRedis } from '../support/redis-server.ts'
import { mutants } from './mutants.ts'
import { plant, staleness } from './mutant.ts'
import type { Mutant } from './mutant.ts'
import { tableFits, writeTable } from './table.ts'
import { copyTrees, share } from './trees.ts'
import { runTrial } from './trial.ts'
import type { Trial } from './trial.ts'

type Verdict = { mutant: Mutant; kind: 'red' | 'survived' | 'stale' | 'broken'; because: string; seconds: number }

const root = join(import.meta.dirname, '../..')
// A healthy test of a loaded machine; one that lasts longer is no test to ask a hundred times.
const healthyTimeoutMs = 120_000
// With a fault a test may last five times as long as its whole file without, and what never comes is waited for half a minute, or less where
// a mutant says that it will not come.
const [leastTimeoutMs, leastHangMs] = [30_000, 8_000]

const { values } = parseArgs({ options: { rule: { type: 'string' }, sample: { type: 'string' }, write: { type: 'boolean' } } })
const startedAt = performance.now()
// One of each for all trials, which make databases of their own in it.
const servers = { TEST_POSTGRES_URL: await startPostgres(), TEST_REDIS_URL: await startRedis() }
for (const [variable, { url }] of Object.entries(servers)) process.env[variable] = url
const folder = mkdtempSync(join(tmpdir(), 'turnkeep-mutants-'))
try {
  const trees = copyTrees(folder)
  const problems = [...unprovenRules(), ...(values.write || tableFits(root, mutants) ? [] : ['docs/mutants.md is not current: --write'])]
  const verdicts = await judgeAll(trees, chosen())
  const stale = mutants.flatMap((mutant) => {
    const because = verdicts.some((verdict) => verdict.mutant === mutant) ? undefined : staleness(mutant, trees[0]!)
    return because === undefined ? [] : [`stale: ${mutant.rule}, ${mutant.removes}: ${because}`]
  })
  for (const problem of [...problems, ...stale]) console.error(problem)
  const red = verdicts.filter(({ kind }) => kind === 'red')
  console.log(`${red.length} of ${verdicts.length} mutants red, in ${Math.round((performance.now() - startedAt) / 1000)} s`)
  if (values.write && red.length === mutants.length)
    writeTable(root, mutants, new Map(verdicts.map(({ mutant, seconds }) => [mutant, seconds])))
  if (problems.length + stale.length > 0 || red.length < verdicts.length) process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true })
  await Promise.all(Object.values(servers).map((server) => server.stop()))
}

function unprovenRules(): string[] {
  const rules = [...readFileSync(join(root, 'docs/rules.md'), 'utf8').matchAll(/^\| `([\w.-]+)` \|/gm)].map(([, rule]) => rule!)
  const known = new Set(mutants.map(({ rule }) => rule))
  return [
    ...rules.filter((rule) => !known.has(rule)).map((rule) => `${rule} has no mutant`),
    ...[...known].filter((rule) => !rules.includes(rule)).map((rule) => `${rule} has a mutant and is no rule of docs/rules.md`),
  ]
}

function chosen(): Mutant[] {
  const fitting = values.rule === undefined ? mutants : mutants.filter(({ rule }) => rule === values.rule)
  const shuffled = fitting.map((mutant) => ({ mutant, at: Math.random() })).toSorted((a, b) => a.at - b.at)
  const wanted = values.sample === undefined ? fitting : shuffled.slice(0, Number(values.sample)).map(({ mutant }) => mutant)
  if (wanted.length === 0) throw new Error('no mutant is asked for: --rule takes the name of a rule, --sample a number')
  return wanted
}

/** First each named test as it is, which must be green; then each mutant against its test. */
async function judgeAll(trees: string[], wanted: Mutant[]): Promise<Verdict[]> {
  const files = Map.groupBy(wanted, ({ caughtBy }) => caughtBy.file)
  const healthy = new Map<string, Trial>()
  await share(trees, [...files], async (tree, [file, group]) => {
    healthy.set(file, await tryTests(tree, file, [...new Set(group.map(({ caughtBy }) => caughtBy.title))], healthyTimeoutMs))
  })
  const verdicts: Verdict[] = []
  await share(trees, wanted, async (tree, mutant) => {
    const verdict = await judge(tree, mutant, healthy.get(mutant.caughtBy.file)!)
    verdicts.push(verdict)
    const { kind, because, seconds } = verdict
    console.log(`${kind} ${seconds.toFixed(1)} s  ${mutant.rule}: ${mutant.removes}${because && kind !== 'red' ? `\n  ${because}` : ''}`)
  })
  return verdicts
}

async function judge(tree: string, mutant: Mutant, healthy: Trial): Promise<Verdict> {
  const { file, title } = mutant.caughtBy
  const stale = staleness(mutant, tree)
  if (stale !== undefined) return { mutant, kind: 'stale', because: stale, seconds: 0 }
  const named = healthy.ran.filter((ran) => ran.includes(title))
  if (named.length === 0) return { mutant, kind: 'stale', because: `${file} has no test "${title}" ${healthy.broken ?? ''}`, seconds: 0 }
  const sick = healthy.failures.find((failure) => failure.title.includes(title))
  if (sick) return { mutant, kind: 'broken', because: `its test is red without it: ${sick.title}: ${sick.message}`, seconds: 0 }

  const heal = plant(mutant, tree)
  const timeoutMs =
    mutant.symptom === 'hang' ? Math.max(leastHangMs, 2000 * healthy.seconds) : Math.max(leastTimeoutMs, 5000 * healthy.seconds)
  const trial = await tryTests(tree, file, [title], Math.ceil(timeoutMs)).finally(heal)
  return { mutant, ...read(mutant, trial, named.length), seconds: trial.seconds }
}

/** Red is a failure of a test that names the rule, by the symptom that was foretold, and of no other kind beside it. */
function read(mutant: Mutant, { ran, failures, broken }: Trial, expected: number): Pick<Verdict, 'kind' | 'because'> {
  if (broken !== undefined) return { kind: 'broken', because: broken }
  if (ran.length < expected) return { kind: 'broken', because: `the process ended after ${ran.length} of ${expected} tests` }
  if (failures.length === 0) return { kind: 'survived', because: 'no test noticed' }
  const told = failures.map(({ title, symptom, message }) => `${symptom}: ${title}: ${message}`).join('\n  ')
  if (failures.some(({ symptom }) => symptom !== (mutant.symptom ?? 'assertion'))) return { kind: 'broken', because: told }
  if (!failures.some(({ title }) => names(title, mutant.rule)))
    return { kind: 'survived', because: `no test of its name noticed\n  ${told}` }
  return { kind: 'red', because: told }
}

/** The whole name, so that `order.body` is not found in `order.body-size`. */
function names(title: string, rule: string): boolean {
  return new RegExp(`(?<![\\w.-])${rule.replace('.', '\\.')}(?![\\w-])`).test(title)
}

function tryTests(tree: string, file: string, titles: string[], timeoutMs: number): Promise<Trial> {
  const env = { ...process.env, TMPDIR: join(tree, 'tmp'), NODE_COMPILE_CACHE: join(tree, 'compiled') }
  return runTrial({ tree, file: join('test', file), titles, testTimeoutMs: timeoutMs, env })
}
