/**
 * `npm run chaos:planted`: plants one bug at a time into a copy of the source and runs chaos or the simulation without a hint. It fails if a bug
 * is not found, no longer fits the source, or is found by another check than expected, and if the unchanged source has a violation. `--only
 * NAME`, once or several times, plants these bugs, `--fits` only checks that all still fit, and `--write` updates the rows of those that were
 * found in docs/planted-bugs.md.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { plant } from '../mutants/mutant.ts'
import { Places } from '../mutants/places.ts'
import { copyTrees, share } from '../mutants/trees.ts'
import { plantedBugs } from './planted-bugs.ts'
import type { CaughtBy, PlantedBug } from './planted-bugs.ts'

/** The result of a run: the names of the violated checks, empty if there was no violation. */
type Look = { checks: string[]; seconds: number; trouble: string | undefined; details: string[] }
type Verdict = { bug: PlantedBug; found: boolean; by: string; seconds: number }

const root = join(import.meta.dirname, '../..')
const page = join(root, 'docs/planted-bugs.md')
// Some hundred turns on every path; the slowest bug to be found shows itself in a third of it.
const usualMinutes = 0.5
const simulationMinutes = 2
// A run ends itself. With a bug it may wait long for turns that are never answered.
const maxMs = 600_000
const seed = 42

const { values } = parseArgs({
  options: { only: { type: 'string', multiple: true }, fits: { type: 'boolean' }, write: { type: 'boolean' } },
})
const { only = plantedBugs.map(({ name }) => name) } = values
const unknown = only.find((name) => !plantedBugs.some((bug) => bug.name === name))
if (unknown !== undefined) throw new Error(`no bug is named ${unknown}`)
const wanted = plantedBugs.filter(({ name }) => only.includes(name))
const places = new Places(root)
const placed = new Map(plantedBugs.map((bug) => [bug, places.place(bug.edits)]))
const stale = [...placed].flatMap(([bug, place]) => (place.kind === 'stale' ? [`stale: ${bug.name}: ${place.because}`] : []))
for (const line of stale) console.error(line)
if (!isCurrent()) console.error('docs/planted-bugs.md is not current: --write')
let failed = stale.length > 0 || (!isCurrent() && values.write !== true)
if (values.fits === true) console.log(`${plantedBugs.length - stale.length} of ${plantedBugs.length} planted bugs fit the source`)
else if (stale.length === 0) failed = !(await runAll()) || failed
process.exitCode = failed ? 1 : 0

async function runAll(): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-planted-'))
  // PostgreSQL refuses to run as root, and comes to its own folder through this one.
  chmodSync(folder, 0o755)
  try {
    const trees = copyTrees(folder)
    const sound = await share(trees, distinct(wanted), lookAtSource)
    const verdicts = await share(trees, wanted, judge)
    const found = verdicts.filter((verdict) => verdict.found)
    console.log(
      `${found.length} of ${verdicts.length} planted bugs found; without a bug ${sound.filter(Boolean).length} of ${sound.length} runs found nothing`,
    )
    if (values.write === true && sound.every(Boolean)) writeTable(found)
    return found.length === verdicts.length && sound.every(Boolean)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** One of each way of looking: what it finds in a sound source it would find in every other. */
function distinct(bugs: PlantedBug[]): CaughtBy[] {
  return [...new Map(bugs.map(({ caughtBy }) => [wayOf(caughtBy), caughtBy])).values()]
}

function wayOf(by: CaughtBy): string {
  if (by.harness === 'simulation') return 'simulation'
  const minutes = by.minutes === undefined ? '' : `, ${by.minutes} minutes`
  return `chaos on ${by.store}, faults: ${by.faults ?? 'all'}${minutes}`
}

async function lookAtSource(tree: string, by: CaughtBy): Promise<boolean> {
  const { checks, seconds, trouble, details } = await look(tree, by)
  const well = checks.length === 0 && trouble === undefined
  console.log(`${well ? 'sound' : 'NOT SOUND'} ${seconds.toFixed(0)} s  ${wayOf(by)} ${checks.join(', ')} ${trouble ?? ''}`.trimEnd())
  for (const what of details) console.log(`  ${what}`)
  return well
}

async function judge(tree: string, bug: PlantedBug): Promise<Verdict> {
  const place = placed.get(bug)!
  if (place.kind === 'stale') throw new Error(place.because)
  const heal = plant(place.files, tree)
  const { checks, seconds, trouble } = await look(tree, bug.caughtBy).finally(heal)
  const expectedChecks = bug.caughtBy.checks
  const found = checks.some((check) => expectedChecks.includes(check))
  console.log(`${found ? 'found' : 'NOT FOUND'} ${seconds.toFixed(0)} s  ${bug.name}: ${checks.join(', ') || (trouble ?? 'nothing')}`)
  return { bug, found, by: checks.join(', '), seconds }
}

async function look(tree: string, by: CaughtBy): Promise<Look> {
  const report = join(tree, 'tmp', 'report.json')
  rmSync(report, { force: true })
  const [program, ...rest] =
    by.harness === 'simulation'
      ? ['test/simulation/run.ts', '--minutes', String(simulationMinutes)]
      : [
          'test/chaos/run.ts',
          '--minutes',
          String(by.minutes ?? usualMinutes),
          '--store',
          by.store,
          ...(by.faults === undefined ? [] : ['--faults', by.faults]),
        ]
  const startedAt = performance.now()
  const env = { ...process.env, TMPDIR: join(tree, 'tmp'), NODE_COMPILE_CACHE: join(tree, 'compiled') }
  const child = spawn(process.execPath, [program, '--seed', String(seed), ...rest, '--json', report], {
    cwd: tree,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-4000)))
  const timer = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), maxMs)
  const [code] = (await once(child, 'close')) as [number | null]
  clearTimeout(timer)
  const seconds = (performance.now() - startedAt) / 1000
  if (!existsSync(report))
    return { checks: [], seconds, trouble: `no report, exit ${code}: ${said.trim().split('\n').at(-1) ?? ''}`, details: [] }
  const { violations } = JSON.parse(readFileSync(report, 'utf8')) as { violations: { check: string; what: string }[] }
  const details = violations.map(({ check, what }) => `${check}: ${what}`)
  return { checks: [...new Set(violations.map(({ check }) => check))], seconds, trouble: undefined, details }
}

function rowStart({ name, part, removes }: PlantedBug): string {
  return `| \`${name}\` | ${part} | ${removes} |`
}

function rowsOfPage(): string[] {
  if (!existsSync(page)) return []
  return readFileSync(page, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
}

/** The page names every bug and no other. */
function isCurrent(): boolean {
  const lines = rowsOfPage()
  return lines.length === plantedBugs.length && plantedBugs.every((bug, index) => lines[index]!.startsWith(rowStart(bug)))
}

/** All other bugs keep their rows. */
function writeTable(verdicts: Verdict[]): void {
  const before = rowsOfPage()
  const rows = plantedBugs.flatMap((bug) => {
    const verdict = verdicts.find((one) => one.bug === bug)
    if (!verdict) return before.filter((row) => row.startsWith(rowStart(bug)))
    return [`${rowStart(bug)} ${wayOf(bug.caughtBy)} | ${verdict.by} | ${verdict.seconds.toFixed(0)} |`]
  })
  const head = `# Planted bugs

A checker that finds nothing may be a checker that sees nothing. \`npm run chaos:planted\` removes one guarantee at a time from
a copy of the source and runs the same chaos and simulation checks as on the real source, without a hint: ${rows.length} bugs, each
found. The same runs on the unchanged source find nothing. [exactly-once.md](exactly-once.md) explains the checks;
[mutants.md](mutants.md) lists what each test of a rule notices.

| bug | part | what no longer holds | looked for by | found by | after, s |
|---|---|---|---|---|---|
`
  writeFileSync(page, `${head}${rows.join('\n')}\n`)
}
