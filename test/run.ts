/**
 * `npm test`: the tests of one tier, with Node's own runner. docs/decisions/0029-test-tiers.md says what the tiers are for.
 *
 *     npm test                              the fast tier
 *     npm test -- 4-1-chat store/           every file, of any tier, whose path contains one of these
 *     npm test -- --changed                 the files of the fast tier that uncommitted changes can affect, the nearest to them first
 *     npm test -- --changed main            the same for all changes since this branch left main
 *     npm run test:again                    the files that failed when they last ran; `-- --list` only prints them
 *     npm test -- --tier ci                 what CI runs beside the fast tier; `--tier deep` is part of npm run test:deep
 *     npm test -- --costs                   with the cost of every file, not only of the ten slowest
 *     npm run test:watch -- unit/batcher    the matching files, rerun each time one of their sources is saved
 *
 * Files of test/spec/, and those that open a store through own-store.ts, run on SQLite and on PostgreSQL with Redis; TEST_STORE=sqlite or
 * postgres runs one of the two. One PostgreSQL and one Redis serve the whole run and end with it. Skipped tests are listed with what is missing;
 * with CI=true a skipped test is a failure.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import type { TestEvent } from 'node:test/reporters'
import { isCommit } from './mutants/git.ts'
import { areaLines } from './runner/areas.ts'
import { choose } from './runner/choose.ts'
import { costLines, CostFolder, earlierWallMs, keepFigures } from './runner/costs.ts'
import type { FileFigures } from './runner/costs.ts'
import { isLost, keepFailed, PassResults } from './runner/failed.ts'
import type { FileResult, Pass } from './runner/failed.ts'
import { missingLines, missingPrograms, skippedLines } from './runner/missing.ts'
import { readOptions } from './runner/options.ts'
import { Report } from './runner/report.ts'
import { startServers } from './runner/servers.ts'
import { groupFiles, makeSharedFolder, writeSharedFile } from './runner/shared-process.ts'
import { budgetSeconds, stores, usualWallMs } from './runner/tiers.ts'
import type { Store, Tier } from './runner/tiers.ts'

const root = join(import.meta.dirname, '..')
const ci = process.env['CI'] === 'true'
const options = orRefuse(() => readOptions(process.argv.slice(2), (name) => isCommit(root, name)))
const onlyStore = process.env['TEST_STORE'] || undefined
if (onlyStore !== undefined && !stores.some((store) => store === onlyStore))
  refuse(`TEST_STORE is ${stores.join(' or ')}, not ${onlyStore}`)

const scale = process.env['TEST_TIER'] as Tier | undefined
const { passes, tier, isWhole, lines: choiceLines } = orRefuse(() => choose(root, options, { onlyStore, scale }))
for (const line of choiceLines) console.log(line)
if (passes.length === 0 || options.list) process.exit()

function orRefuse<Result>(read: () => Result): Result {
  try {
    return read()
  } catch (error) {
    return refuse((error as Error).message)
  }
}

function refuse(why: string): never {
  console.error(why)
  process.exit(1)
}

const missing = missingPrograms(passes)
for (const line of missingLines(missing)) console.log(line)

// What a page or a program imports as @turnkeep/client is what its source says now.
const importsClient = /^(packages\/client|test\/(clients|cookbook|docs|packages))/
if (passes.some((pass) => pass.files.some((file) => importsClient.test(file)))) {
  const { status } = spawnSync(process.execPath, [join(root, 'packages/client/build.js')], { stdio: 'inherit' })
  if (status !== 0) refuse('packages/client does not build')
}

// Node's cache of compiled modules, for every test process and those it starts.
process.env['NODE_COMPILE_CACHE'] ??= join(root, 'node_modules/.cache/turnkeep-tests')
mkdirSync(process.env['NODE_COMPILE_CACHE'], { recursive: true })
process.env['TEST_TIER'] = tier ?? scale ?? 'fast'

const startedAt = performance.now()
const servers = await startServers(passes)
// Every response of the service is compared with its OpenAPI description, whichever file asks for it.
const contract = options.watch
  ? undefined
  : await import('./support/answer-check-summary.ts').then(({ startContractRun }) => startContractRun())
const report = new Report({ isVerbose: options.parts.length > 0 || options.watch })
const figures: FileFigures[] = []
const results: FileResult[] = []

/** Tests wait for much of their time: four processes keep two cores busy. */
const concurrency = 4
// A test that waits for something that never comes must end. The slowest one takes two minutes.
const testTimeoutMs = 300_000

async function* runPass(pass: Pass): AsyncGenerator<TestEvent> {
  const { store, files: inPass } = pass
  const costs = new CostFolder(store)
  const passResults = new PassResults({ isStrict: ci })
  const env: Record<string, string | undefined> = { ...process.env, TEST_STORE: store, TEST_TIER: pass.tier, TEST_COST: costs.path }
  if (contract) env['TEST_CONTRACT'] = contract.folder
  const { groups, single } = options.watch ? { groups: [], single: inPass } : groupFiles(inPass)
  const sharedFolder = makeSharedFolder()
  const shared = groups.map((group) => ({ path: writeSharedFile(root, sharedFolder, group.name, group.files), file: group.files[0]! }))
  const own = single.map((file) => ({ path: join(root, file), file }))
  // A shared process takes long, and so does a long file: it would run alone at the end if it started last.
  const order = options.changed === undefined ? [...shared, ...longestFirst(store, own)] : nearestFirst(inPass, [...shared, ...own])
  const files = order.map(({ path }) => path)
  const execArgv = ['--import', import.meta.resolve('./runner/preload.ts')]
  try {
    for await (const event of run({ files, concurrency, cwd: root, timeout: testTimeoutMs, env, execArgv, watch: options.watch })) {
      costs.see(event)
      passResults.see(event)
      yield event
    }
    results.push(...passResults.read(pass))
  } finally {
    rmSync(sharedFolder, { recursive: true, force: true })
    figures.push(...costs.read())
  }
}

/** A process to start, and the file that it runs first. */
type Start = { path: string; file: string }

function longestFirst(store: Store, of: Start[]): Start[] {
  const earlier = earlierWallMs()
  const wallMs = ({ file }: Start): number => earlier.get(`${store} ${file}`) ?? usualWallMs(file)
  return of.toSorted((a, b) => wallMs(b) - wallMs(a))
}

/** In the order of `files`, which is that of their distance from the change. */
function nearestFirst(files: string[], of: Start[]): Start[] {
  return of.toSorted((a, b) => files.indexOf(a.file) - files.indexOf(b.file))
}

async function* everything(): AsyncGenerator<TestEvent> {
  for (const pass of passes) {
    const unavailable = pass.store === 'postgres' && servers.missing
    const events = unavailable ? report.skip(pass.files, unavailable) : runPass(pass)
    yield* report.pass(events, pass.store)
  }
  const wallMs = performance.now() - startedAt
  keepFailed(results)
  const cut = results.filter(isLost).map(({ store, file, failed }) => `FAILED ${store} ${file}: ${failed.join('; ')}`)
  // An operation that no test calls is a gap only where the whole fast tier ran.
  const held = contract?.sum({ isWhole: isWhole && tier === 'fast', isStrict: ci })
  const whole = { tier: tier ?? 'chosen files', wallMs, serverCpuMs: servers.cpuMs(), files: figures }
  if (isWhole && tier !== undefined) keepFigures(whole)
  yield* report.end({
    lines: [
      ...(held?.lines ?? []),
      ...costLines(whole, options.costs ? Infinity : 10),
      ...(isWhole ? areaLines(whole) : []),
      ...overBudget(wallMs),
      ...cut,
      ...skippedLines(missing, report.skipped),
      ...(options.changed === undefined ? [] : choiceLines),
    ],
    isBroken: cut.length > 0 || (held?.failed ?? false),
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
