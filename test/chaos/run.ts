/**
 * `npm run chaos`: real servers under load from many callers, with every fault of the fault matrix, planned by one seed. Afterwards every
 * guarantee is checked, in what the callers received and in what is stored.
 *
 *     npm run chaos -- --help
 *
 * Exit codes: 0 no violation, and every failpoint acted · 1 otherwise · 2 wrong options. It leaves nothing behind except the requested
 * files and the history of a failed run.
 */
import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pass } from 'node:timers/promises'
import { runCommand } from '../support/command-line.ts'
import { check } from './check.ts'
import { watchCrowd } from './crowd.ts'
import { openHistory } from './history.ts'
import type { History } from './history.ts'
import { extraMs, startNemesis } from './nemesis.ts'
import type { Nemesis } from './nemesis.ts'
import { readOptions, usage } from './options.ts'
import type { RunOptions } from './options.ts'
import { createRandom } from './random.ts'
import { planSchedule, pointsOf } from './schedule.ts'
import { isSound, printReport, progressLine, reportOf } from './table.ts'
import type { Report } from './table.ts'
import { watchLogs } from './log-watch.ts'
import type { LogWatch } from './log-watch.ts'
import { openUpstream } from './upstream.ts'
import { impossible, openTestbed, unquiet } from './testbed.ts'
import type { Testbed } from './testbed.ts'
import { startWorkload } from './workload.ts'
import type { Workload } from './workload.ts'

const progressEveryMs = 10_000
// In addition to the time for the faults: the start, the callers' last responses, drains and checks. A run that takes longer hangs.
const beyondMs = 300_000
// For the guard and the history. What is stuck in a fault that cannot be reverted is left to the guard.
const hangsOnMs = 60_000
// Without faults the servers must behave as if there had been none. The checks for that apply from some seconds after the last fault.
const calmMs = 8_000

/** Returns the exit code. */
async function run(options: RunOptions, interrupted: AbortSignal): Promise<number> {
  const file = options.historyFile ?? join(tmpdir(), `turnkeep-chaos-${options.seed}-${process.pid}.jsonl`)
  const history = openHistory(file)
  const logWatch = watchLogs(history)
  const plan = options.plan ?? planSchedule(options)
  const { seed, minutes, store, processes, callers, faults } = options
  const recorded = { seed, minutes, store, processes, callers, faults }
  history.write({ kind: 'begin', at: history.now(), seed, options: recorded, schedule: plan, ...commit() })
  console.log(`chaos: seed ${seed}, ${store}, ${processes} process${processes === 1 ? '' : 'es'}, ${callers} callers, ${minutes} minutes`)
  let nemesis: Nemesis | undefined
  let workload: Workload | undefined
  const startedAt = performance.now()
  const unwatch = watchCrowd({ history, logWatch })
  try {
    const random = createRandom(seed)
    const upstream = await openUpstream({ history })
    try {
      const allow = upstream.allowPrivateHosts.split(',')
      const testbed = await openTestbed({ options, program: options.program, history, random: random.fork('world'), logWatch, allow })
      try {
        workload = await startWorkload({ target: testbed.target, random: random.fork('workload'), history, callers, upstream })
        nemesis = await unleash({ testbed, workload, plan, options, history, logWatch, interrupted })
      } finally {
        await testbed.close()
      }
    } finally {
      await upstream.close()
    }
  } catch (error) {
    if (!interrupted.aborted) logWatch.add('harness', `the run itself failed: ${error instanceof Error ? error.stack : String(error)}`)
  }
  unwatch()
  history.write({ kind: 'end', at: history.now() })
  await history.close()
  const violations = [...logWatch.violations, ...(interrupted.aborted ? [] : check(history.events))]
  const report = reportOf({
    options,
    history,
    logWatch,
    nemesis,
    counts: workload?.counts(),
    violations,
    ms: performance.now() - startedAt,
  })
  return finish(report, options, file, interrupted)
}

type Unleashing = {
  testbed: Testbed
  workload: Workload
  plan: ReturnType<typeof planSchedule>
  options: RunOptions
  history: History
  logWatch: LogWatch
  interrupted: AbortSignal
}

/** The load and the faults, and after them the last responses and the check of the stored data. */
async function unleash({ testbed, workload, plan, options, history, logWatch, interrupted }: Unleashing): Promise<Nemesis> {
  const { minutes, store, seed } = options
  await workload.begin()
  const points = options.faults.includes('failpoint') ? pointsOf(store) : []
  const random = createRandom(seed).fork('nemesis')
  const nemesis = startNemesis({ testbed, plan, points, random, logWatch, minutes, signal: interrupted })
  const progress = setInterval(() => console.log(progressLine(history, nemesis, workload.counts(), logWatch)), progressEveryMs)
  try {
    await untilInterrupted(nemesis.done, interrupted)
    await untilInterrupted(Promise.all(testbed.supervisedServers.map((supervised) => supervised.listening())), interrupted)
    await untilInterrupted(pass(calmMs), interrupted)
    await untilInterrupted(workload.stop(), interrupted)
    await untilInterrupted(testbed.drain(), interrupted)
  } finally {
    clearInterval(progress)
    // A lane that is injecting a fault reverts it before what it depends on is closed.
    if (interrupted.aborted) await nemesis.done.catch(() => undefined)
  }
  const broken = (await testbed.verify()).filter(({ rows }) => rows.length > 0)
  history.write({ kind: 'verify', at: history.now(), broken: broken.map(({ id, rows }) => ({ invariant: id, rows: rows.length })) })
  for (const verdict of broken) logWatch.broken(verdict)
  for (const line of await testbed.read(unquiet)) logWatch.add('verify', `at the end ${line}`)
  return nemesis
}

function untilInterrupted<Result>(work: Promise<Result>, interrupted: AbortSignal): Promise<Result> {
  const stopped = new Promise<never>((_, reject) => {
    const stop = (): void => reject(new Error('interrupted'))
    if (interrupted.aborted) stop()
    else interrupted.addEventListener('abort', stop, { once: true })
  })
  return Promise.race([work, stopped])
}

function finish(report: Report, options: RunOptions, file: string, interrupted: AbortSignal): number {
  const well = !interrupted.aborted && isSound(report)
  printReport(report)
  if (options.jsonFile !== undefined) writeFileSync(options.jsonFile, `${JSON.stringify(report, null, 2)}\n`)
  if (options.historyFile === undefined && well) rmSync(file, { force: true })
  else console.log(`history: ${file}`)
  if (!well) console.log(`again: npm run chaos -- --replay ${file}`)
  if (interrupted.aborted) console.log(`ended early: ${String(interrupted.reason)}`)
  return well ? 0 : 1
}

/** The commit of the source, if it is a checkout. */
function commit(): { commit?: string } {
  try {
    return {
      commit: execFileSync('git', ['rev-parse', 'HEAD'], {
        cwd: import.meta.dirname,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }).trim(),
    }
  } catch {
    return {}
  }
}

async function main(args: string[]): Promise<void> {
  const interruption = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      // If the user does not wait, the guard cleans up.
      if (interruption.signal.aborted) process.exit(1)
      interruption.abort(signal)
    })
  const options = readOptions(args, impossible())
  const maxMs = options.minutes * 60_000 + extraMs(options.minutes) + beyondMs
  setTimeout(() => interruption.abort('the run hangs'), maxMs).unref()
  setTimeout(() => process.exit(1), maxMs + hangsOnMs).unref()
  // The callers of an interrupted run never finish.
  process.exit(await run(options, interruption.signal))
}

await runCommand('chaos', usage, main)
