/** A service for browser tests with the sample data of `npm run seed`: thirty days of traffic through the real API. */
import { ClockOffset } from '../../dev/clock-socket.ts'
import { fill } from '../../dev/seed/fill.ts'
import type { FilledAgent } from '../../dev/seed/fill.ts'
import { planTraffic } from '../../dev/seed/plan.ts'
import type { Plan } from '../../dev/seed/plan.ts'
import { startScriptedServer } from '../../dev/seed/scripted-server.ts'
import { adminToken, startTestApp } from './test-app.ts'
import type { TestApp } from './test-app.ts'

export type SeededApp = {
  adminUrl: string
  app: TestApp
  /** With tools, versions and most of the turns. */
  orders: FilledAgent
  /** With most of the documents. */
  library: FilledAgent
  /** The end user of the longest conversation of `orders`, and that conversation. */
  externalUserId: string
  conversationId: string
  /** The newest turn with a reply in it. */
  requestId: string
  close(): Promise<void>
}

export async function startSeededApp(): Promise<SeededApp> {
  let clock: ClockOffset | undefined
  const scripted = await startScriptedServer({ think: (milliseconds) => clock?.advance(milliseconds) })
  const app = await startTestApp({ env: { TURNKEEP_ALLOW_PRIVATE_HOSTS: scripted.address } })
  const close = async (): Promise<void> => {
    await app.close()
    await scripted.close()
  }
  try {
    clock = new ClockOffset((milliseconds) => app.moveClock(milliseconds))
    clock.isHeld = true
    const setClockOffset = (milliseconds: number): Promise<void> => clock!.set(milliseconds)
    const plan = planTraffic(1)
    const { agents } = await fill({ url: app.url, adminUrl: app.adminUrl, adminToken, scriptedUrl: scripted.url, setClockOffset }, plan)
    clock.isHeld = false
    // In addition to the sample data: a disabled agent.
    await app.made('PATCH', `/owners/${app.caller.ownerId}`, { name: 'Our own tests' })
    await app.made('PATCH', `/agents/${app.caller.agentId}`, { name: 'Smoke test', enabled: false })
    const externalUserId = longestOf(plan)
    const user = encodeURIComponent(externalUserId)
    const { data } = await app.made('GET', `/conversations?agent_id=${agents.orders.agentId}&external_user_id=${user}`)
    const conversationId = data[0].id
    const turns = await app.made('GET', `/turns?conversation_id=${conversationId}&status=completed`)
    const requestId = turns['data'][0].request_id
    return { adminUrl: app.adminUrl, app, orders: agents.orders, library: agents.library, externalUserId, conversationId, requestId, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** The user with the most messages to the orders agent. */
function longestOf({ events }: Plan): string {
  const counts = new Map<string, number>()
  for (const { action } of events)
    if (action.kind === 'turn' && action.role === 'orders') counts.set(action.user, (counts.get(action.user) ?? 0) + 1)
  return [...counts].toSorted(([, one], [, other]) => other - one)[0]![0]
}
