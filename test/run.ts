/**
 * `npm test`: every test file with Node's own runner, two at a time. Those of test/spec/, and those that open a store by own-store.ts, run twice,
 * on SQLite and on PostgreSQL with Redis, and their titles say which. One PostgreSQL and one Redis are started for the whole run and end with
 * it. Names what was skipped and how to get what is missing; with CI=true a skip is a failure. Arguments are parts of file names:
 * `npm test -- 4-1-chat store/`; `TEST_STORE=postgres` or `sqlite` keeps to one of the two.
 */
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import type { TestEvent } from 'node:test/reporters'
import { startContractRun } from './support/answer-check-summary.ts'
import { noPostgres, startPostgres } from './support/postgres-server.ts'
import { noRedis, startRedis } from './support/redis-server.ts'

const root = join(import.meta.dirname, '..')
const stores = ['sqlite', 'postgres'] as const
type Store = (typeof stores)[number]
const ci = process.env['CI'] === 'true'

const onlyStore = process.env['TEST_STORE'] || undefined
if (onlyStore !== undefined && !stores.some((store) => store === onlyStore))
  refuse(`TEST_STORE is ${stores.join(' or ')}, not ${onlyStore}`)

const wanted = process.argv.slice(2)
const files = globSync(['test/**/*.test.ts', 'packages/*/test/**/*.test.ts'], { cwd: root })
  .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
  .toSorted()
const textOf = (file: string): string => readFileSync(join(root, file), 'utf8')
const onBoth = new Set(files.filter((file) => file.startsWith('test/spec/') || textOf(file).includes('/own-store.ts')))
const passes = stores
  .filter((store) => onlyStore === undefined || store === onlyStore)
  .map((store) => ({ store, files: files.filter((file) => onBoth.has(file) || store === 'sqlite') }))
  .filter((pass) => pass.files.length > 0)
if (passes.length === 0) refuse(`no test file is named like ${wanted.join(' or ')}${onlyStore ? ` and runs on ${onlyStore} alone` : ''}`)

// What a page or a program imports as @turnkeep/client is what its source says now.
const importsClient = /^(packages\/client|test\/(clients|cookbook|docs|packages))/
if (files.some((file) => importsClient.test(file))) {
  const { status } = spawnSync(process.execPath, [join(root, 'packages/client/build.js')], { stdio: 'inherit' })
  if (status !== 0) refuse('packages/client does not build')
}

function refuse(why: string): never {
  console.error(why)
  process.exit(1)
}

// Where they are not installed, each test that needs one says so itself.
const servers = [
  { variable: 'TEST_POSTGRES_URL', missing: noPostgres(), word: 'postgres', start: startPostgres },
  { variable: 'TEST_REDIS_URL', missing: noRedis(), word: 'redis', start: startRedis },
].filter(({ variable, missing, word }) => !process.env[variable] && missing === false && isNeeded(word))
// Every answer of the service is held against its description, whichever file asks for it.
const contractRun = startContractRun()
const running = await Promise.all(
  servers.map(async ({ variable, start }) => {
    const server = await start()
    process.env[variable] = server.url
    return server
  }),
)

function isNeeded(word: string): boolean {
  return passes.some((pass) => pass.store === 'postgres') || files.some((file) => textOf(file).includes(word))
}

const contract = await contractRun

const skipped: string[] = []
const counts = new Map(['tests', 'suites', 'pass', 'fail', 'cancelled', 'skipped', 'todo', 'duration_ms'].map((count) => [count, 0]))
let failed = 0

/** The events of all passes as if they were one run: one list of skips and one summary at the end, whose lines are sums. */
async function* everything(): AsyncGenerator<TestEvent> {
  let summary: TestEvent | undefined
  for (const pass of passes) {
    const missing = pass.store === 'postgres' && (noPostgres() || noRedis())
    for await (const event of missing ? skippedFiles(pass.files, missing) : eventsOf(pass)) {
      const [, count, value] = (isWhole(event) && /^(\w+) ([\d.]+)$/.exec(event.data.message)) || []
      if (count !== undefined) counts.set(count, (counts.get(count) ?? 0) + Number(value))
      else if (event.type === 'test:summary' && event.data.file === undefined) summary = event
      else yield seen(event, pass.store)
    }
  }
  if (skipped.length > 0) yield diagnostic(`${skipped.length} skipped${ci ? ', which is a failure with CI=true' : ''}`)
  for (const line of skipped) yield diagnostic(`skipped ${line}`)
  const { lines, failed: isBroken } = contract.sum({ isWhole: wanted.length === 0 && onlyStore === undefined, isStrict: ci })
  if (isBroken) failed += 1
  for (const line of lines) yield diagnostic(line)
  for (const [count, value] of counts) yield diagnostic(`${count} ${Number(value.toFixed(3))}`)
  // At it the reporter lists what failed.
  if (summary) yield summary
}

type Diagnostic = Extract<TestEvent, { type: 'test:diagnostic' }>
type Verdict = Extract<TestEvent, { type: 'test:pass' | 'test:fail' }>

/** Of the run's own summary, not of a test. */
const isWhole = (event: TestEvent): event is Diagnostic => event.type === 'test:diagnostic' && event.data.file === undefined

function eventsOf(pass: { store: Store; files: string[] }): AsyncIterable<TestEvent> {
  const env = { ...process.env, TEST_STORE: pass.store, TEST_CONTRACT: contract.folder }
  const preloaded = ['./support/file-deadline.ts', './support/answer-check-fetch.ts']
  const execArgv = preloaded.flatMap((file) => ['--import', import.meta.resolve(file)])
  // Five minutes a test: the slowest takes one, and a test that waits for what never comes must end.
  return run({ files: pass.files.map((file) => join(root, file)), concurrency: 2, cwd: root, timeout: 300_000, env, execArgv })
}

function* skippedFiles(names: string[], reason: string): Generator<TestEvent> {
  for (const [index, name] of names.entries()) {
    const details = { duration_ms: 0, type: 'test' as const }
    yield { type: 'test:pass', data: { name, file: join(root, name), nesting: 0, testNumber: index + 1, skip: reason, details } } as Verdict
  }
  for (const count of ['tests', 'skipped']) yield diagnostic(`${count} ${names.length}`)
}

/** Counts what failed and was skipped, and puts the store into the titles of tests that run on both. */
function seen(event: TestEvent, store: Store): TestEvent {
  if (event.type !== 'test:pass' && event.type !== 'test:fail' && event.type !== 'test:start') return event
  const { entryFile = event.data.file ?? '' } = event.data as { entryFile?: string }
  const titled = onBoth.has(entryFile.slice(root.length + 1)) && (event.data.nesting === 0 || event.type === 'test:fail')
  if (titled) event.data.name = `${store}: ${event.data.name}`
  if (event.type === 'test:start') return event
  if (event.type === 'test:fail') failed += 1
  const reason = event.data.skip ?? event.data.todo
  if (reason) skipped.push(`${event.data.name}${typeof reason === 'string' ? `: ${reason}` : ''}`)
  return event
}

function diagnostic(message: string): TestEvent {
  return { type: 'test:diagnostic', data: { nesting: 0, message } } as Diagnostic
}

Readable.from(everything())
  .compose(new spec())
  .on('end', () => {
    if (failed > 0 || (skipped.length > 0 && ci)) process.exitCode = 1
    void Promise.all(running.map((server) => server.stop()))
  })
  .pipe(process.stdout)
