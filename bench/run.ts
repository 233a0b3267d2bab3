/**
 * `npm run bench`: every scenario with real servers over HTTP, median and spread of several rounds, as tables, JSON and plots, beside peers
 * if a folder of them is given, and a verdict on the goals of the design. A scenario that is not possible here, or fails, is listed as not
 * run; the others continue. With `--continue` some are run again, and the rest is taken from the previous run.
 *
 *     npm run bench -- --help
 *
 * Exit codes: 0 all that was asked for was measured, whether or not the goals are met · 1 a scenario failed, and no page is written · 2 bad
 * options.
 */
import { runCommand } from '../test/support/command-line.ts'
import { openBench } from './bench.ts'
import type { OpenBench } from './bench.ts'
import { goalsTable, judge } from './goals.ts'
import { describeMachine } from './machine.ts'
import { readOptions, usage } from './options.ts'
import type { RunOptions } from './options.ts'
import { overload } from './overload.ts'
import { readResults, writePage, writeResults } from './report.ts'
import type { Finding, Scenario } from './scenario.ts'
import { stream, sync } from './scenarios/callers.ts'
import { fairness } from './scenarios/fairness.ts'
import { filled } from './scenarios/filled.ts'
import { idleStreams } from './scenarios/idle-streams.ts'
import { longConversation } from './scenarios/long-conversation.ts'
import { openai } from './scenarios/openai.ts'
import { orphans } from './scenarios/orphans.ts'
import { paced } from './scenarios/paced.ts'
import { profile } from './scenarios/profile.ts'
import { replays } from './scenarios/replays.ts'
import { retrieval } from './scenarios/retrieval.ts'
import { soak } from './scenarios/soak.ts'
import { start } from './scenarios/start.ts'
import { spendLimits } from './scenarios/spend-limits.ts'
import { hotOwner, processes, slowFlush, stores } from './scenarios/stores.ts'
import { hangingWebhook, webhooks } from './scenarios/webhooks.ts'
import { sectionOf } from './table.ts'

const scenarios: Scenario[] = [
  sync,
  stream,
  openai,
  paced,
  stores,
  hotOwner,
  spendLimits,
  webhooks,
  hangingWebhook,
  slowFlush,
  processes,
  longConversation,
  filled,
  replays,
  retrieval,
  idleStreams,
  start,
  orphans,
  overload,
  fairness,
  profile,
  soak,
]

/** Returns the exit code. */
async function run(options: RunOptions): Promise<number> {
  const chosen = scenarios.filter(({ name }) => options.only === undefined || options.only.includes(name))
  const bench = openBench(options)
  try {
    const before = options.goesOn ? readResults(options.output) : undefined
    const here = describeMachine(bench.makeFolder(), options)
    console.log(`${here}\n`)
    const { findings: found, failed } = await runEach(bench, chosen)
    const findings = new Map([...(before?.findings ?? []), ...found])
    const machine = before ? `${before.machine}. Run again later: ${chosen.map(({ name }) => name).join(', ')}; ${here}` : here
    const shown = scenarios.filter(({ name }) => findings.has(name))
    // A quick run measures nothing that could meet a goal.
    const judged = judge(options.quick ? new Map() : findings)
    console.log(`## Goals\n\n${goalsTable(judged)}`)
    const report = { machine, scenarios: shown, findings, judged }
    writeResults(report, options.output)
    if (options.write && !failed) writePage(report, shown.length === scenarios.length)
    return failed ? 1 : 0
  } finally {
    await bench.close()
  }
}

async function runEach(bench: OpenBench, chosen: Scenario[]): Promise<{ findings: Map<string, Finding>; failed: boolean }> {
  const findings = new Map<string, Finding>()
  let failed = false
  for (const scenario of chosen) {
    bench.say(`${scenario.name} …`)
    const finding = await scenario.run(bench).catch((error: unknown): Finding => {
      failed = true
      console.error(error)
      return { rows: [], notRun: `it failed: ${error instanceof Error ? error.message : String(error)}` }
    })
    await bench.endScenario()
    findings.set(scenario.name, finding)
    console.log(`## ${scenario.name}\n\n${scenario.sentence}\n\n${sectionOf(finding)}\n`)
  }
  return { findings, failed }
}

await runCommand('bench', usage, async (args) => {
  const names = scenarios.map(({ name }) => name)
  process.exitCode = await run(readOptions(args, names))
})
