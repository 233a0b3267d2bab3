/**
 * Every client of drivers.ts goes through every fault of clients/scenarios.json against the real service, and prints, sends and leaves
 * stored what the scenario expects. clients/README.md describes the fields and how to run one by hand.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drivers } from './drivers.ts'
import { atOnce } from './run-all.ts'
import { runScenario } from './run-scenario.ts'
import { readScenarios } from './scenario-file.ts'
import { ScenarioFixture } from './scenario-fixture.ts'

void test('clients: every scenario on every client, and afterwards every invariant holds', { concurrency: atOnce }, async (t) => {
  const fixture = await ScenarioFixture.open()
  try {
    const runs = readScenarios().flatMap((scenario) => drivers.map((driver) => ({ scenario, ...driver })))
    await Promise.all(
      runs.map(({ scenario, name, command, missing: skip }) =>
        t.test(`clients: ${name}: ${scenario.name}`, { skip }, async () => {
          assert.deepEqual((await runScenario(scenario, command, fixture)).problems, [], scenario.says)
        }),
      ),
    )
  } finally {
    await fixture.close()
  }
  assert.deepEqual(fixture.strayed, [], 'no redirect was followed')
})
