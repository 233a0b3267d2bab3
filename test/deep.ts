/**
 * `npm run test:deep`: everything that takes hours, as steps that each run once per content of src/, test/ and packages/. Stop it at any time; the
 * next call goes on after the last step that passed. Writes one report, artifacts/deep/report.json.
 *
 *     npm run test:deep                       all steps
 *     npm run test:deep -- --shard 1/4        a quarter of them; copy the reports' folder together to join shards
 *     npm run test:deep -- --only mutants     the steps whose names contain this
 *     npm run test:deep -- --list             the steps, and which of them have passed
 *     npm run release:check                   fails unless every step has passed for this commit's src/
 */
import { spawn, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runsIn, stores } from './runner/tiers.ts'

type Step = { name: string; command: string; args: string[]; env?: Record<string, string> }
type Passed = { name: string; command: string; seconds: number; startedAt: string; lastLines: string[] }
type Report = { src: string; commit: string; missing: string[]; steps: Passed[] }

const root = join(import.meta.dirname, '..')
const folder = join(root, 'artifacts/deep')
const { values } = parseArgs({
  options: { shard: { type: 'string', default: '1/1' }, only: { type: 'string' }, list: { type: 'boolean' }, check: { type: 'boolean' } },
})

const node = (name: string, file: string, ...args: string[]): Step => ({ name, command: process.execPath, args: [file, ...args] })

/** One step per test file and store, so that a stop costs little. */
function testSteps(): Step[] {
  const files = globSync(['test/**/*.test.ts', 'packages/*/test/**/*.test.ts'], { cwd: root }).toSorted()
  return stores.flatMap((store) =>
    files
      .filter((file) => runsIn('deep', file, store))
      .map((file) => ({ ...node(`test ${store} ${file}`, 'test/run.ts', '--tier', 'deep', file), env: { TEST_STORE: store } })),
  )
}

const steps: Step[] = [
  ...testSteps(),
  node('mutants', 'test/mutants/run.ts', '--no-cache'),
  node('planted bugs', 'test/chaos/planted.ts'),
  node('chaos on SQLite', 'test/chaos/run.ts', '--minutes', '10', '--store', 'sqlite'),
  node('chaos on PostgreSQL', 'test/chaos/run.ts', '--minutes', '10', '--store', 'postgres'),
  node('simulation', 'test/simulation/run.ts', '--minutes', '10'),
  { name: 'runtimes', command: 'npm', args: ['run', 'runtimes'] },
]

/** The hash of what a step tests: git's own of the tracked files, as they are in the working tree. */
function hashOf(...paths: string[]): string {
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 })
  const changed = git('status', '--porcelain', '--', ...paths)
  if (changed !== '') throw new Refused(`uncommitted changes: commit them first, a report is for a commit\n${changed.trimEnd()}`)
  return paths.map((path) => git('rev-parse', `HEAD:${path}`).trim().slice(0, 12)).join('-')
}

class Refused extends Error {}

const reportFile = join(folder, 'report.json')
const stepFile = (key: string, { name }: Step): string => join(folder, key, `${name.replace(/[^\w.-]+/g, '_')}.json`)

function passedBefore(key: string, step: Step): Passed | undefined {
  const file = stepFile(key, step)
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Passed) : undefined
}

async function runStep(key: string, step: Step): Promise<boolean> {
  const startedAt = new Date().toISOString()
  const began = performance.now()
  const log = stepFile(key, step).replace(/json$/, 'log')
  const child = spawn(step.command, step.args, {
    cwd: root,
    env: { ...process.env, CI: 'true', ...step.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = createWriteStream(log)
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
      output.write(piece)
    })
  const [code] = (await once(child, 'close')) as [number | null]
  output.end()
  const seconds = Math.round((performance.now() - began) / 1000)
  console.log(`${code === 0 ? 'passed' : 'FAILED'} ${seconds} s  ${step.name}${code === 0 ? '' : `; its output is in ${log}`}`)
  if (code !== 0) return false
  const passed: Passed = {
    name: step.name,
    command: ['node', ...step.args].join(' '),
    seconds,
    startedAt,
    lastLines: text.trimEnd().split('\n').slice(-12),
  }
  writeFileSync(stepFile(key, step), JSON.stringify(passed, undefined, 1))
  return true
}

function writeReport(key: string, src: string): Report {
  const done = steps.map((step) => ({ step, passed: passedBefore(key, step) }))
  const report: Report = {
    src,
    commit: execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim(),
    missing: done.filter(({ passed }) => !passed).map(({ step }) => step.name),
    steps: done.flatMap(({ passed }) => passed ?? []),
  }
  mkdirSync(folder, { recursive: true })
  writeFileSync(reportFile, `${JSON.stringify(report, undefined, 1)}\n`)
  return report
}

function shardOf(all: Step[]): Step[] {
  const [, at, of] = /^(\d+)\/(\d+)$/.exec(values.shard) ?? []
  const [index, count] = [Number(at), Number(of)]
  if (!(index >= 1 && index <= count)) throw new Refused(`--shard is i/n with 1 ≤ i ≤ n, not ${values.shard}`)
  return all.filter((_, position) => position % count === index - 1)
}

/** `release:check`: the report of this commit's src/, with nothing missing. */
function check(): boolean {
  const src = hashOf('src')
  const report = existsSync(reportFile) ? (JSON.parse(readFileSync(reportFile, 'utf8')) as Report) : undefined
  const why =
    report === undefined
      ? 'there is no report'
      : report.src !== src
        ? `the report is for other sources (${report.src}; this commit has ${src})`
        : report.missing.length > 0
          ? `${report.missing.length} steps have not passed: ${report.missing.slice(0, 5).join(', ')}`
          : undefined
  console.log(
    why === undefined
      ? `every step of the deep tests has passed for src ${src}`
      : `not ready for a release: ${why}. Run npm run test:deep.`,
  )
  return why === undefined
}

async function runAll(): Promise<boolean> {
  const src = hashOf('src')
  const key = hashOf('src', 'test', 'packages')
  const chosen = shardOf(steps).filter(({ name }) => values.only === undefined || name.includes(values.only))
  if (chosen.length === 0) throw new Refused(`no step matches ${values.only}; --list shows them`)
  mkdirSync(join(folder, key), { recursive: true })
  let failed = 0
  for (const step of chosen) {
    const before = passedBefore(key, step)
    if (values.list) console.log(`${before ? 'passed' : 'to run'}  ${step.name}`)
    else if (before) console.log(`passed before  ${step.name}`)
    else if (!(await runStep(key, step))) failed++
  }
  const report = writeReport(key, src)
  console.log(`${report.steps.length} of ${steps.length} steps have passed; the report is ${reportFile}`)
  return failed === 0
}

try {
  const isGood = values.check ? check() : await runAll()
  if (!isGood) process.exitCode = 1
} catch (error) {
  if (!(error instanceof Refused)) throw error
  console.error(error.message)
  process.exitCode = 2
}
