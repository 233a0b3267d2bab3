/** All scenarios on several clients, a limited number at a time: most of their time they wait for Retry-After. */
import type { Driver } from './drivers.ts'
import { runScenario } from './run-scenario.ts'
import type { Outcome } from './run-scenario.ts'
import type { Scenario } from './scenario-file.ts'
import type { ScenarioFixture } from './scenario-fixture.ts'
import type { Column } from './scenario-table.ts'

// As many drivers and servers together as two processors can handle.
export const atOnce = 8

/** `told` is called with each as it ends; the columns are in the order of the clients, their outcomes in that of the scenarios. */
export async function runAll(
  scenarios: Scenario[],
  clients: readonly Driver[],
  fixture: ScenarioFixture,
  reported: (one: { client: string; outcome: Outcome }) => void,
): Promise<Column[]> {
  const columns = clients.map(({ name }): Column => ({ client: name, outcomes: [] }))
  const runs = scenarios.flatMap((scenario, row) =>
    clients.map(({ command }, column) => ({ scenario, row, command, column: columns[column]! })),
  )
  const next = runs.values()
  const work = async (): Promise<void> => {
    for (const { scenario, row, command, column } of next) {
      const outcome = await runScenario(scenario, command, fixture)
      column.outcomes[row] = outcome
      reported({ client: column.client, outcome })
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return columns
}
