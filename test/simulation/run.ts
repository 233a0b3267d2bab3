/**
 * `npm run simulate [-- --minutes 30] [--seed N]`: runs schedules of the turn engine, each from its seed, until the time is over. Prints
 * their number and, for a failure, the smallest schedule that shows it. `--seed N --path P` runs that schedule again; `--json FILE` writes
 * the result.
 */
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { explore } from './explore.ts'
import { realMs } from './moved-time.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    seed: { type: 'string' },
    path: { type: 'string' },
    json: { type: 'string' },
    'no-shrink': { type: 'boolean', default: false },
  },
})
const seed = Number(values.seed ?? Math.floor((realMs() * 1000 + process.pid) % 2 ** 31))
const minutes = Number(values.minutes)
if (!Number.isInteger(seed) || !(minutes > 0)) {
  console.error('--minutes takes a number above 0, --seed a whole one')
  process.exit(2)
}
console.log(`seed ${seed}, ${minutes} minutes`)
const found = await explore({
  seconds: minutes * 60,
  seed,
  shrink: !values['no-shrink'],
  ...(values.path === undefined ? {} : { path: values.path }),
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
if (values.json !== undefined) {
  const violations = failure ? [{ check: failure.check, what: failure.what }] : []
  writeFileSync(values.json, JSON.stringify({ violations, ...found }, null, 2))
}
