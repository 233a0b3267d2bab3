/**
 * Which test file runs in which tier and on which store. `npm test` runs the fast tier, `.ci/run` adds the ci tier, `npm run test:deep`
 * adds the deep tier. A file runs in one tier per store; a file that is in no list below is fast. docs/decisions/0029-test-tiers.md
 * explains the reasons.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const tiers = ['fast', 'ci', 'deep'] as const
export type Tier = (typeof tiers)[number]
export const stores = ['sqlite', 'postgres'] as const
export type Store = (typeof stores)[number]

/**
 * The time budget of `npm test` and of the two parts of `.ci/run` on 2 cores, in seconds. Exceeding it is a warning and never a failure.
 */
export const budgetSeconds: Record<Tier, number> = { fast: 300, ci: 300, deep: 3 * 3600 }

/** Prefixes of paths below test/. These files prove something that a change to most of the code cannot break, or prove it more broadly. */
const inCi = [
  'browser/',
  'cli/admin-commands',
  'cli/apply-',
  'cli/backup',
  'cli/copy',
  'cli/doctor',
  'cli/looking-commands',
  'cli/migrate-to-postgresql',
  'cli/turn-commands',
  'clients/flawed-clients',
  'clients/python',
  'clients/scenarios',
  'cookbook/',
  'deploy/nginx',
  'dev/',
  'docs.test.ts',
  'documents-indexing',
  'documents-process',
  'documents-reading',
  'field/documents',
  'field/search-upgrade',
  'first-start',
  'mcp-server/conformance',
  'mcp-server/stdio',
  'openai/cut-connections',
  'openai/other-clients',
  'openai/other-process',
  'packages/tarballs',
  'process.test.ts',
  'race/',
  'retrieval',
  'store/postgres-pooler',
  'store/usage-reconciles',
]
/** The strongest form of what a faster test proves in an earlier tier. */
const inDeep = [
  'bench/load',
  'bench/run',
  'chaos/run',
  'chaos/workload',
  'cli/copy-killed',
  'deploy/image',
  'race/every-failpoint',
  'race/kill-fifty',
  'race/follow.test.ts',
  'race/postgres-rolling',
  'race/spend-limit',
  'race/three-processes',
  'race/tools-crash',
  'race/webhook-kills',
  'race/workers',
  'store/reports-million',
  'simulation/planted',
]
/** Exceptions to a folder above: the flows without which the product does not work, and one crash at each moment of a turn. */
const inFast = [
  'browser/bundle',
  'browser/first-run',
  'browser/keys',
  'browser/money',
  'browser/playground',
  'browser/sign-in',
  'race/crash',
]
/**
 * Specification files whose rules are enforced by statements of the store: fast on both stores. The others run on PostgreSQL in the ci
 * tier.
 */
const fastOnBoth = [
  'spec/4-1-chat',
  'spec/4-2-stream',
  'spec/admin-history',
  'spec/admin-owners',
  'spec/admin-turns',
  'spec/billing',
  'spec/citations',
  'spec/console-session',
  'spec/erasure',
  'spec/history',
  'spec/key-lifetime',
  'spec/one-answer',
  'spec/operator-mid-turn',
  'spec/overload',
  'spec/tools-released',
  'spec/turn-resource',
  'spec/turn-states',
  'spec/usage',
  'store/',
]

/** Too slow to repeat on PostgreSQL for every change. What they would prove there is the store's part, which test/store/ proves. */
const deepOnPostgres = ['documents-indexing', 'retrieval']

/**
 * Specification files whose rules hold before the store is asked: framing, paths, bodies, what a request without a key costs, descriptions.
 * On PostgreSQL they would prove the same, so they run there in the deep tier.
 */
const beforeTheStore = [
  'spec/access-log',
  'spec/admin-docs-page',
  'spec/admin-openapi',
  'spec/http-body',
  'spec/http-order',
  'spec/http-standstill',
  'spec/http-unread-body',
  'spec/tools-hostile',
  'spec/unauthenticated',
]

/** These files do more in later tiers, depending on TEST_TIER, and run in these tiers in addition to their own. */
const scaled: Record<string, Tier[]> = {
  fuzz: ['ci', 'deep'],
  'race/crash': ['deep'],
  'race/process-faults': ['deep'],
  'race/resume': ['deep'],
  'race/upkeep': ['deep'],
  'simulation/simulation': ['ci', 'deep'],
  'store/usage-reconciles': ['deep'],
}

/** These files take longer than 15 s. In a clone in which no test has run yet, they start first. */
const slow = [
  'browser/hostile-texts',
  'browser/pages',
  'cli/migrate-to-postgresql',
  'clients/python',
  'clients/scenarios',
  'deploy/nginx',
  'dev/seed',
  'docs.test.ts',
  'documents-indexing',
  'first-start',
  'mcp-server/conformance',
  'mcp-server/stdio',
  'openai/cut-connections',
  'openai/other-clients',
  'openai/other-process',
  'packages/tarballs',
  'process.test.ts',
  'race/crash',
  'race/failover',
  'race/postgres-outage',
  'race/process-faults',
  'retrieval',
  'simulation/simulation',
  'spec/admin-documents',
  'spec/http-order',
  'spec/failpoint-throws',
  'spec/model-faults',
  'spec/tools-released',
  'store/postgres-plans',
  'store/postgres-start',
  'store/postgres-unheard',
  'store/sqlite.test.ts',
]

/** A rough duration of a file in milliseconds; the runner uses measured durations if it has them. */
export const usualWallMs = (file: string): number => (slow.some((start) => file.startsWith(`test/${start}`)) ? 30_000 : 3_000)

const root = join(import.meta.dirname, '../..')

/** Returns the tier of a file on a store, or undefined if the file does not run on that store. `file` is relative to the repository. */
export function tierOf(file: string, store: Store): Tier | undefined {
  const name = file.replace(/^test\//, '')
  const isIn = (list: string[]): boolean => list.some((start) => name.startsWith(start))
  if (store === 'postgres' && !runsOnBoth(file)) return undefined
  if (isIn(inDeep) || (store === 'postgres' && (isIn(deepOnPostgres) || isIn(beforeTheStore)))) return 'deep'
  if (isIn(inCi) && !isIn(inFast)) return 'ci'
  return store === 'postgres' && !isIn(fastOnBoth) ? 'ci' : 'fast'
}

/** Whether a tier runs the file on the store. */
export function runsIn(tier: Tier, file: string, store: Store): boolean {
  const first = tierOf(file, store)
  if (first === undefined) return false
  return first === tier || Object.entries(scaled).some(([start, later]) => file.startsWith(`test/${start}`) && later.includes(tier))
}

/** Files of test/spec/, and files that open a store through own-store.ts, run once on each store. */
export function runsOnBoth(file: string): boolean {
  return (
    file.startsWith('test/spec/') ||
    file === 'test/field/finish-reasons.test.ts' ||
    readFileSync(join(root, file), 'utf8').includes('/own-store.ts')
  )
}

/** Every list entry, for the test that finds an entry without a file. */
export const tierLists = { inCi, inDeep, inFast, fastOnBoth, deepOnPostgres, beforeTheStore, scaled: Object.keys(scaled), slow }
