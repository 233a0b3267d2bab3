/**
 * Every client of drivers.ts goes through every fault of clients/scenarios.json against the real service, and prints, sends and leaves
 * stored what the scenario expects. clients/README.md describes the fields and how to run one by hand.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { drivers } from './drivers.ts'
import { atOnce } from './run-all.ts'
import { runScenario } from './run-scenario.ts'
import { readScenarios } from './scenario-file.ts'
import { ScenarioFixture } from './scenario-fixture.ts'

// A test for each, because all of them together take minutes on a busy machine.
void describe('clients: every scenario on every client', { concurrency: atOnce }, () => {
  let fixture: ScenarioFixture
  before(async () => {
    fixture = await ScenarioFixture.open()
  })
  // Every invariant holds then.
  after(async () => {
    await fixture.close()
    assert.deepEqual(fixture.strayed, [], 'no redirect was followed')
  })
  for (const scenario of readScenarios())
    for (const { name, command, missing: skip } of drivers)
      void test(`clients: ${name}: ${scenario.name}`, { skip }, async () => {
        assert.deepEqual((await runScenario(scenario, command, fixture)).problems, [], scenario.says)
      })
})
