/**
 * `npm run simulate [-- --minutes 30] [--seed N]`: runs schedules of the turn engine, each from its seed, until the time is over. Prints
 * their number and, for a failure, the smallest schedule that shows it. `--seed N --path P` runs that schedule again; `--json FILE` writes
 * the result. Exit codes: 0 no failure · 1 a failure, or no schedule ended · 2 bad options.
 */
import { writeFileSync } from 'node:fs'
import { runCommand } from '../support/command-line.ts'
import { explore } from './explore.ts'
import { realMs } from './moved-time.ts'
import { readOptions, usage } from './options.ts'
import type { SimulationOptions } from './options.ts'

async function run({ minutes, seed: given, path, shrink, jsonFile }: SimulationOptions): Promise<void> {
  const seed = given ?? Math.floor((realMs() * 1000 + process.pid) % 2 ** 31)
  console.log(`seed ${seed}, ${minutes} minutes`)
  const found = await explore({
    seconds: minutes * 60,
    seed,
    shrink,
    ...(path === undefined ? {} : { path }),
  })
  const { failure, seen, ...figures } = found
  for (const [name, value] of Object.entries(figures)) console.log(`${name.padEnd(10)} ${Math.round(value).toLocaleString('en')}`)
  for (const [what, count] of Object.entries(seen).toSorted()) console.log(`  ${what}: ${count.toLocaleString('en')}`)
  if (failure) {
    console.log(`\nbroken after ${failure.atSchedule} schedules: ${failure.what}\n${failure.schedule}`)
    console.log(`\nagain: npm run simulate -- --seed ${failure.seed} --path '${failure.path}'`)
    process.exitCode = 1
  }
  if (!failure && figures.schedules === 0) {
    console.log('\nno schedule came to its end: this run shows nothing')
    process.exitCode = 1
  }
  if (jsonFile !== undefined) {
    const violations = failure ? [{ check: failure.check, what: failure.what }] : []
    writeFileSync(jsonFile, JSON.stringify({ violations, ...found }, null, 2))
  }
}

await runCommand('simulate', usage, (args) => run(readOptions(args)))
