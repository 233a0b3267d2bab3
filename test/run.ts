/**
 * `npm test`: the tests of one tier, with Node's own runner. docs/decisions/0029-test-tiers.md says what the tiers are for.
 *
 *     npm test                              the fast tier
 *     npm test -- 4-1-chat store/           every file, of any tier, whose path contains one of these
 *     npm test -- --tier ci                 what CI runs beside the fast tier; `--tier deep` is part of npm run test:deep
 *     npm test -- --costs                   with the cost of every file, not only of the ten slowest
 *     npm run test:watch -- unit/batcher    the matching files, rerun each time one of their sources is saved
 *
 * Files of test/spec/, and those that open a store through own-store.ts, run on SQLite and on PostgreSQL with Redis; TEST_STORE=sqlite or
 * postgres runs one of the two. One PostgreSQL and one Redis serve the whole run and end with it. Skipped tests are listed with what is missing;
 * with CI=true a skipped test is a failure.
 */
import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import type { TestEvent } from 'node:test/reporters'
import { parseArgs } from 'node:util'
import { costLines, CostFolder, earlierWallMs, keepFigures } from './runner/costs.ts'
import type { FileFigures } from './runner/costs.ts'
import { Report } from './runner/report.ts'
import { startServers } from './runner/servers.ts'
import { groupFiles, makeSharedFolder, writeSharedFile } from './runner/shared-process.ts'
import { budgetSeconds, runsIn, stores, tierOf, tiers, usualWallMs } from './runner/tiers.ts'
import type { Store, Tier } from './runner/tiers.ts'

const root = join(import.meta.dirname, '..')
const ci = process.env['CI'] === 'true'
const { values: options, positionals: parts } = readOptions()
const onlyStore = process.env['TEST_STORE'] || undefined
if (onlyStore !== undefined && !stores.some((store) => store === onlyStore))
  refuse(`TEST_STORE is ${stores.join(' or ')}, not ${onlyStore}`)
if (options.tier !== undefined && !tiers.some((tier) => tier === options.tier)) refuse(`--tier is ${tiers.join(', ')}, not ${options.tier}`)

/** All tiers where files are named and no tier is. */
const tier = (options.tier ?? (parts.length === 0 ? 'fast' : undefined)) as Tier | undefined
const isWhole = parts.length === 0 && onlyStore === undefined

type Pass = { store: Store; files: string[] }
const files = globSync(['test/**/*.test.ts', 'packages/*/test/**/*.test.ts'], { cwd: root })
  .filter((file) => parts.length === 0 || parts.some((part) => file.includes(part)))
  .toSorted()
const passes: Pass[] = stores
  .filter((store) => onlyStore === undefined || store === onlyStore)
  .map((store) => ({ store, files: files.filter((file) => isWanted(file, store)) }))
  .filter((pass) => pass.files.length > 0)
if (passes.length === 0) refuse(`no test file matches ${parts.join(' or ')}${onlyStore ? ` and runs on ${onlyStore}` : ''}`)

function isWanted(file: string, store: Store): boolean {
  return tier === undefined ? tierOf(file, store) !== undefined : runsIn(tier, file, store)
}

function readOptions() {
  const known = { tier: { type: 'string' }, costs: { type: 'boolean' }, watch: { type: 'boolean' } } as const
  try {
    return parseArgs({ options: known, allowPositionals: true })
  } catch (error) {
    return refuse(`${(error as Error).message}. npm test takes --tier, --costs, --watch and parts of file names.`)
  }
}

function refuse(why: string): never {
  console.error(why)
  process.exit(1)
}

// What a page or a program imports as @turnkeep/client is what its source says now.
const importsClient = /^(packages\/client|test\/(clients|cookbook|docs|packages))/
if (passes.some((pass) => pass.files.some((file) => importsClient.test(file)))) {
  const { status } = spawnSync(process.execPath, [join(root, 'packages/client/build.js')], { stdio: 'inherit' })
  if (status !== 0) refuse('packages/client does not build')
}

// Node's cache of compiled modules, for every test process and those it starts.
process.env['NODE_COMPILE_CACHE'] ??= join(root, 'node_modules/.cache/turnkeep-tests')
mkdirSync(process.env['NODE_COMPILE_CACHE'], { recursive: true })
process.env['TEST_TIER'] = tier ?? process.env['TEST_TIER'] ?? 'fast'

const startedAt = performance.now()
const servers = await startServers(passes)
// Every response of the service is compared with its OpenAPI description, whichever file asks for it.
const contract = options.watch
  ? undefined
  : await import('./support/answer-check-summary.ts').then(({ startContractRun }) => startContractRun())
const report = new Report({ isVerbose: parts.length > 0 || options.watch === true })
const figures: FileFigures[] = []

/** Tests wait for much of their time: four processes keep two cores busy. */
const concurrency = 4
// A test that waits for something that never comes must end. The slowest one takes two minutes.
const testTimeoutMs = 300_000

async function* runPass({ store, files: inPass }: Pass): AsyncGenerator<TestEvent> {
  const costs = new CostFolder(store)
  const env: Record<string, string | undefined> = { ...process.env, TEST_STORE: store, TEST_COST: costs.path }
  if (contract) env['TEST_CONTRACT'] = contract.folder
  const { groups, single } = options.watch ? { groups: [], single: inPass } : groupFiles(inPass)
  const sharedFolder = makeSharedFolder()
  const shared = groups.map((group) => writeSharedFile(root, sharedFolder, group.name, group.files))
  const order = [...shared, ...longestFirst(store, single).map((file) => join(root, file))]
  const execArgv = ['--import', import.meta.resolve('./runner/preload.ts')]
  const watch = options.watch === true
  try {
    for await (const event of run({ files: order, concurrency, cwd: root, timeout: testTimeoutMs, env, execArgv, watch })) {
      costs.see(event)
      yield event
    }
  } finally {
    rmSync(sharedFolder, { recursive: true, force: true })
    figures.push(...costs.read())
  }
}

/** A long file that starts last would run alone at the end. */
function longestFirst(store: Store, of: string[]): string[] {
  const earlier = earlierWallMs()
  const wallMs = (file: string): number => earlier.get(`${store} ${file}`) ?? usualWallMs(file)
  return of.toSorted((a, b) => wallMs(b) - wallMs(a))
}

async function* everything(): AsyncGenerator<TestEvent> {
  for (const pass of passes) {
    const missing = pass.store === 'postgres' && servers.missing
    const events = missing ? report.skip(pass.files, missing) : runPass(pass)
    yield* report.pass(events, pass.store)
  }
  const wallMs = performance.now() - startedAt
  // An operation that no test calls is a gap only where the whole fast tier ran.
  const held = contract?.sum({ isWhole: isWhole && tier === 'fast', isStrict: ci })
  const whole = { tier: tier ?? 'chosen files', wallMs, serverCpuMs: servers.cpuMs(), files: figures }
  if (isWhole && tier !== undefined) keepFigures(whole)
  yield* report.end({
    lines: [...(held?.lines ?? []), ...costLines(whole, options.costs ? Infinity : 10), ...overBudget(wallMs)],
    isBroken: held?.failed ?? false,
    isCi: ci,
  })
}

function overBudget(wallMs: number): string[] {
  if (!isWhole || tier === undefined || wallMs <= 1000 * budgetSeconds[tier]) return []
  return [`warning: the ${tier} tier took ${(wallMs / 1000).toFixed(0)} s; its budget is ${budgetSeconds[tier]} s`]
}

Readable.from(everything())
  .compose(new spec())
  .on('end', () => {
    if (report.hasFailed(ci)) process.exitCode = 1
    void servers.stop()
  })
  .pipe(process.stdout)
