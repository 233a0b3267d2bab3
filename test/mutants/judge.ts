/** Judges a mutant: its test must pass without the planted fault and fail with it. Runs tests only in copies of the source. */
import { plant } from './mutant.ts'
import type { Mutant } from './mutant.ts'
import type { Places } from './places.ts'
import { environmentOf, share } from './trees.ts'
import { runTrial } from './trial.ts'
import type { Trial } from './trial.ts'
import { testFileOf } from './verdict-key.ts'

export type Verdict = { mutant: Mutant; kind: 'red' | 'survived' | 'stale' | 'broken'; because: string; seconds: number }

// A test that is slower than this without a fault is too slow to run for every mutant.
const healthyTimeoutMs = 120_000
// With a fault, a test may take five times as long as its file takes without one. A mutant whose symptom is `hang` gets less, because its
// test waits for something that never happens.
const [minTimeoutMs, minHangMs] = [30_000, 8_000]

/**
 * Runs the named tests of each file once without a fault, then each mutant against its test, one per tree at a time. `onVerdict` is called as
 * soon as a mutant is judged. The mutants are judged in the given order. `places` are those of the trees' source.
 */
export async function judgeAll(
  trees: string[],
  places: Places,
  mutants: Mutant[],
  onVerdict: (verdict: Verdict) => void,
): Promise<Verdict[]> {
  const healthy = new Map<string, Trial>()
  await share(trees, [...Map.groupBy(mutants, testFileOf)], async (tree, [file, group]) => {
    healthy.set(file, await tryTests(tree, file, [...new Set(group.map(({ caughtBy }) => caughtBy.title))], healthyTimeoutMs))
  })
  return share(trees, mutants, async (tree, mutant) => {
    const verdict = await judge(tree, places, mutant, healthy.get(testFileOf(mutant))!)
    onVerdict(verdict)
    return verdict
  })
}

async function judge(tree: string, places: Places, mutant: Mutant, healthy: Trial): Promise<Verdict> {
  const file = testFileOf(mutant)
  const { title } = mutant.caughtBy
  const placed = places.place(mutant.edits)
  if (placed.kind === 'stale') return { mutant, kind: 'stale', because: placed.because, seconds: 0 }
  const named = healthy.ran.filter((ran) => ran.includes(title))
  if (named.length === 0) return { mutant, kind: 'stale', because: `${file} has no test "${title}" ${healthy.broken ?? ''}`, seconds: 0 }
  const failure = healthy.failures.find((one) => one.title.includes(title))
  if (failure) return { mutant, kind: 'broken', because: `its test fails without it: ${failure.title}: ${failure.message}`, seconds: 0 }

  const heal = plant(placed.files, tree)
  const timeoutMs = mutant.symptom === 'hang' ? Math.max(minHangMs, 2000 * healthy.seconds) : Math.max(minTimeoutMs, 5000 * healthy.seconds)
  // What never happens is an assertion before it is a timeout.
  const env = { TEST_WAIT_MS: String(Math.ceil(timeoutMs / 2)) }
  const trial = await tryTests(tree, file, [title], Math.ceil(timeoutMs), env).finally(heal)
  return { mutant, ...read(mutant, trial, named.length), seconds: trial.seconds }
}

/** A mutant is red if a test fails that names the rule and shows the expected symptom, and nothing fails in another way. */
function read(mutant: Mutant, { ran, failures, broken }: Trial, expected: number): Pick<Verdict, 'kind' | 'because'> {
  if (broken !== undefined) return { kind: 'broken', because: broken }
  if (ran.length < expected) return { kind: 'broken', because: `the process ended after ${ran.length} of ${expected} tests` }
  if (failures.length === 0) return { kind: 'survived', because: 'no test noticed' }
  const because = failures.map(({ title, symptom, message }) => `${symptom}: ${title}: ${message}`).join('\n  ')
  if (failures.some(({ symptom }) => symptom !== (mutant.symptom ?? 'assertion'))) return { kind: 'broken', because }
  if (!failures.some(({ title }) => names(title, mutant.rule)))
    return { kind: 'survived', because: `no test with the rule's name noticed\n  ${because}` }
  return { kind: 'red', because }
}

/** Matches the whole name, so that `order.body` is not found in `order.body-size`. */
function names(title: string, rule: string): boolean {
  return new RegExp(`(?<![\\w.-])${rule.replace('.', '\\.')}(?![\\w-])`).test(title)
}

function tryTests(tree: string, file: string, titles: string[], timeoutMs: number, env: NodeJS.ProcessEnv = {}): Promise<Trial> {
  return runTrial({ tree, file, titles, testTimeoutMs: timeoutMs, env: { ...environmentOf(tree), ...env } })
}
