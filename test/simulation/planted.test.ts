/**
 * Tests the simulation itself: each bug that is planted into a copy of the source is found within seconds, by one of the checks that its
 * definition names.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { plantedBugs } from '../chaos/planted-bugs.ts'
import type { PlantedBug } from '../chaos/planted-bugs.ts'
import { plant } from '../mutants/mutant.ts'
import { Places } from '../mutants/places.ts'
import type { Explored } from './explore.ts'

const root = join(import.meta.dirname, '../..')
// The bugs that are hardest to find need ten thousand schedules; the limit allows for a busy machine.
const minutes = '4'
let tree = ''

before(() => {
  tree = mkdtempSync(join(tmpdir(), 'turnkeep-simulation-'))
  for (const name of ['src', 'test/simulation', 'test/chaos/random.ts', 'test/mutants/mutant.ts', 'package.json'])
    cpSync(join(root, name), join(tree, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'))
})
after(() => rmSync(tree, { recursive: true, force: true }))

const bugs = plantedBugs.filter(({ caughtBy }) => caughtBy.harness === 'simulation')

for (const bug of bugs) {
  void test(`the simulation finds a planted bug: ${bug.name}`, async (t) => {
    const { failure, schedules } = await runWith(bug, ['--seed', '1', '--minutes', minutes])
    assert.ok(failure, `${schedules} schedules found nothing`)
    assert.ok(bug.caughtBy.checks.includes(failure.check), `found as ${failure.what}`)
    t.diagnostic(`found in schedule ${failure.atSchedule} by ${failure.check}`)
  })
}

void test('the simulation shows a failure again from the seed and the path that it printed', async () => {
  const bug = bugs[0]!
  const { failure } = await runWith(bug, ['--seed', '2', '--minutes', minutes])
  const again = await runWith(bug, ['--seed', String(failure!.seed), '--path', failure!.path])
  assert.deepEqual({ ...again.failure, atSchedule: 0 }, { ...failure, atSchedule: 0 })
})

async function runWith(bug: PlantedBug, args: string[]): Promise<Explored> {
  const placed = new Places(tree).place(bug.edits)
  assert.ok(placed.kind === 'placed', 'because' in placed ? placed.because : '')
  const report = join(tree, 'report.json')
  const heal = plant(placed.files, tree)
  try {
    await promisify(execFile)(process.execPath, ['test/simulation/run.ts', ...args, '--no-shrink', '--json', report], { cwd: tree })
  } catch (error) {
    // Exit code 1: a bug was found, and the report describes it.
    if ((error as { code?: unknown }).code !== 1) throw error
  } finally {
    heal()
  }
  return JSON.parse(readFileSync(report, 'utf8')) as Explored
}
