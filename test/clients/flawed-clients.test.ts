/**
 * The scenarios can fail: a small client passes them as it is, and with one flaw it fails the scenario that covers it, for the right
 * reason.
 */
import assert from 'node:assert/strict'
import { describe, after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { atOnce } from './run-all.ts'
import { runScenario } from './run-scenario.ts'
import { readScenarios } from './scenario-file.ts'
import { ScenarioFixture } from './scenario-fixture.ts'

const driver = fileURLToPath(new URL('flawed-driver.ts', import.meta.url))
const scenarios = readScenarios()

/** The flaw that its argument gives the small client, the scenario that finds it, and one of the sentences that it is found by. */
const flaws: [flaw: string, scenario: string, problem: RegExp][] = [
  ['new-key', 'answer of a chat lost', /^2 keys were sent/],
  ['new-key', 'answer of a chat lost', /^2 charges are stored, not 1$/],
  ['ignores-retry-after', 'rate limit, chat', /^request 2 came 0\.\d+ s after request 1, not [12] s$/],
  ['delta-twice', 'model breaks off, then says the same', /^the deltas add up to ".*", the content is/],
  ['no-reset', 'model breaks off, then says otherwise', /^0 resets, not 1$/],
  ['no-rest', 'cut mid-stream', /^the deltas add up to ".*", the content is/],
  ['retries-conflict', 'another message with the same key', /^call 2: requests: 3, not 1$/],
  ['follows-redirects', 'redirect', /^the end is completed, not error$/],
  ['never-continues', 'cut mid-stream, the turn runs', /^deltas that were sent: 2, not 4 to 5$/],
  ['gives-up', "proxy's 502", /^the end is APIError 502, not completed$/],
]

void describe('clients: the scenarios find a flawed client', { concurrency: atOnce }, () => {
  let fixture: ScenarioFixture
  before(async () => {
    fixture = await ScenarioFixture.open()
  })
  after(() => fixture.close())

  const problems = async (name: string, flaw: string): Promise<string[]> => {
    const scenario = scenarios.find((one) => one.name === name) ?? assert.fail(`there is no scenario ${name}`)
    return (await runScenario(scenario, [process.execPath, driver, flaw], fixture)).problems
  }
  // The small client has no way to continue a stream, which only this scenario requires.
  const names = new Set(flaws.filter(([flaw]) => flaw !== 'never-continues').map(([, scenario]) => scenario))
  for (const name of names)
    void test(`clients: a client without a flaw passes: ${name}`, async () => assert.deepEqual(await problems(name, 'none'), []))
  for (const [flaw, name, problem] of flaws)
    void test(`clients: ${flaw} is found: ${name}, ${problem}`, async () => {
      const found = await problems(name, flaw)
      assert.ok(
        found.some((one) => problem.test(one)),
        `not found; what was: ${found.join('; ') || 'nothing'}`,
      )
    })
})
