/**
 * Runs the fault scenarios on any client, and prints the table of their outcomes; exit code 1 if one failed.
 *
 *     node test/clients/run-scenarios.ts                                  the clients of drivers.ts, all scenarios
 *     node test/clients/run-scenarios.ts --driver "ruby driver.rb"        only another client
 *     node test/clients/run-scenarios.ts --only "killed mid-stream"       the scenarios whose names contain this; repeatable
 *     node test/clients/run-scenarios.ts --write                          also writes the table to clients/README.md
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { drivers } from './drivers.ts'
import type { Driver } from './drivers.ts'
import { runAll } from './run-all.ts'
import { readScenarios } from './scenario-file.ts'
import { ScenarioFixture } from './scenario-fixture.ts'
import { replaceTable, writeTable } from './scenario-table.ts'

const page = new URL('../../clients/README.md', import.meta.url)
const { values } = parseArgs({
  options: { driver: { type: 'string' }, only: { type: 'string', multiple: true }, write: { type: 'boolean' } },
})
const { driver, only = [], write = false } = values
if (write && (driver !== undefined || only.length > 0)) refuse('--write is for all scenarios on the clients of drivers.ts')
const scenarios = readScenarios().filter(({ name }) => only.length === 0 || only.some((words) => name.includes(words)))
if (scenarios.length === 0) refuse(`no scenario is named like ${only.join(' or ')}`)
const asked: readonly Driver[] = driver === undefined ? drivers : [{ name: driver, command: split(driver), missing: false }]
const [here, missing] = [asked.filter((one) => one.missing === false), asked.filter((one) => one.missing !== false)]
for (const { name, missing: why } of missing) console.error(`${name} ${why}`)

function split(command: string): [string, ...string[]] {
  const [program = '', ...args] = command.split(' ')
  return [program, ...args]
}

function refuse(why: string): never {
  console.error(why)
  process.exit(2)
}

const fixture = await ScenarioFixture.open()
const columns = await runAll(scenarios, here, fixture, ({ client, outcome: { scenario, problems, requests, seconds } }) => {
  console.error(`${problems.length === 0 ? 'passed' : 'FAILED'}  ${client}: ${scenario} (${requests} requests, ${seconds.toFixed(1)} s)`)
  for (const problem of problems) console.error(`        ${problem}`)
}).finally(() => fixture.close())
if (fixture.strayed.length > 0) console.error(`FAILED  redirects were followed: ${fixture.strayed.join(', ')}`)
const table = writeTable(columns)
console.log(table)
if (write) writeFileSync(page, replaceTable(readFileSync(page, 'utf8'), table))
if (fixture.strayed.length > 0 || columns.some(({ outcomes }) => outcomes.some(({ problems }) => problems.length > 0))) process.exitCode = 1
