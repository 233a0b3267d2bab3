/**
 * One scenario on one client, from an empty service to what is stored at the end. Returns what was wrong, including failures of the harness
 * itself.
 */
import { randomUUID } from 'node:crypto'
import type { Caller } from '../support/test-app.ts'
import { checkCall } from './check-call.ts'
import { checkStored } from './check-stored.ts'
import { runDriver } from './run-driver.ts'
import type { Order } from './run-driver.ts'
import type { Call, Completed, Scenario } from './scenario-file.ts'
import { Service } from './scenario-fixture.ts'
import type { ScenarioFixture } from './scenario-fixture.ts'
import { otherMessage } from './scenario-model.ts'
import { startScenarioProxy } from './scenario-proxy.ts'

export type Outcome = {
  scenario: string
  /** Empty if it passed. */
  problems: string[]
  /** That the client sent, of all calls. */
  requests: number
  /** From the start of its first driver to the end of its last. */
  seconds: number
}

const user = 'ann'

export async function runScenario(scenario: Scenario, command: readonly string[], fixture: ScenarioFixture): Promise<Outcome> {
  const failed = (problems: string[]): Outcome => ({ scenario: scenario.name, problems, requests: 0, seconds: 0 })
  await using stack = new AsyncDisposableStack()
  try {
    const { service, end } = await serviceFor(scenario, fixture)
    const outcome = await runIn(service, scenario, command, fixture, stack).catch((error: unknown) =>
      failed([`the harness: ${String(error)}`]),
    )
    await end().catch((error: unknown) => outcome.problems.push(String(error)))
    return outcome
  } catch (error) {
    return failed([`the harness: ${String(error)}`])
  }
}

/** A process that no other scenario uses meanwhile, if this one does to it what others would notice. */
async function serviceFor(
  { faults = [], again = [] }: Scenario,
  fixture: ScenarioFixture,
): Promise<{ service: Service; end: () => Promise<void> }> {
  const all = [...faults, ...again.flatMap((call) => call.faults ?? [])].filter((fault) => fault !== 'pass')
  const limiterDown = faults.findIndex((fault) => fault !== 'pass' && 'limiter_down' in fault)
  if (limiterDown !== -1) {
    const service = await Service.start(fixture.model, limiterDown + 1)
    return { service, end: () => service.end() }
  }
  if (!all.some((fault) => 'kill_server' in fault)) return { service: fixture.shared, end: async () => undefined }
  const service = await fixture.take()
  return { service, end: async () => fixture.release(service) }
}

async function runIn(
  service: Service,
  scenario: Scenario,
  command: readonly string[],
  fixture: ScenarioFixture,
  stack: AsyncDisposableStack,
): Promise<Outcome> {
  const { fixture: given = {}, again = [] } = scenario
  // Separate for each run, so that those of two clients do not meet.
  const name = randomUUID()
  const speaker = fixture.model.generate(name, scenario.model ?? [{ says: ['Hello'] }], given.other_turn)
  const caller = await service.admin.makeCaller({
    agent: { ...given.agent, model: `scripted/${name}` },
    ...(given.key ? { key: given.key } : {}),
    ...(given.balance_usd === undefined ? {} : { balanceUsd: given.balance_usd }),
  })
  const proxy = await startScenarioProxy({
    target: () => service.url,
    elsewhere: fixture.elsewhere,
    asked: () => speaker.asked(),
    requestEnded: () => speaker.requestEnded(),
    kill: () => service.kill(),
    restart: () => service.restart(),
    useUpWindow: () => useUpWindow(service.url, caller),
    turnsEnded: () => service.turnsEnded(caller.agentId),
  })
  stack.defer(() => proxy.close())
  let key: string | undefined = given.same_key_running ? randomUUID() : undefined
  const others: Promise<unknown>[] = []
  const besides = async (message: string, idempotencyKey: string): Promise<void> => {
    const asked = speaker.asked()
    others.push(service.admin.chat(message, { caller, user, idempotencyKey }))
    await asked
  }
  if (given.other_turn) await besides(otherMessage, randomUUID())
  if (key !== undefined) await besides(scenario.message, key)

  const problems: string[] = []
  const reported: Completed[] = []
  const started = performance.now()
  for (const [index, call] of [scenario, ...again.map((later): Call => ({ ...scenario, faults: [], ...later }))].entries()) {
    const before = proxy.noted.length
    proxy.setFaults(call.faults ?? [])
    const order: Order = {
      base_url: proxy.url,
      agent_id: caller.agentId,
      api_key: given.wrong_secret ? `${caller.apiKey.slice(0, -4)}0000` : caller.apiKey,
      call: call.call,
      external_user_id: user,
      message: call.message,
      ...(key === undefined ? {} : { idempotency_key: key }),
      ...call.client,
    }
    const printed = await runDriver(command, order, index === 0 ? scenario.caller_leaves_after_deltas : undefined)
    const noted = proxy.noted.slice(before)
    const wrong = checkCall(call, printed, noted, reported[0])
    problems.push(...(index === 0 ? wrong : wrong.map((problem) => `call ${index + 1}: ${problem}`)))
    key ??= noted[0]?.idempotencyKey
    for (const { at: _, ...line } of printed.lines) if (line.event === 'completed') reported.push(line)
  }
  const seconds = (performance.now() - started) / 1000

  speaker.callsEnded()
  await Promise.all(others)
  await service.turnsEnded(caller.agentId)
  problems.push(...checkStored(scenario, await service.find(caller), reported), ...proxy.problems)
  return { scenario: scenario.name, problems, requests: proxy.noted.length, seconds }
}

/** Through the listing, which spends the same window and starts nothing. */
async function useUpWindow(url: string, { agentId, apiKey }: Caller): Promise<void> {
  const headers = { authorization: `Bearer ${apiKey}` }
  for (;;) {
    const { status } = await fetch(`${url}/v1/agents/${agentId}/conversations`, { headers })
    if (status === 429) return
    if (status !== 200) throw new Error(`the listing answered ${status}`)
  }
}
