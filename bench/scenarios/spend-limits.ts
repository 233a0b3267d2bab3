/** What spend limits cost, and whether one end user, whose window every turn writes, is as fast as many. */
import type { Call, Scenario } from '../scenario.ts'
import { eachInTurn, sideBySide, storeNames, storesHere, warm } from '../side-by-side.ts'
import type { Lane } from '../side-by-side.ts'

const callers = 64
const users = Array.from({ length: 10 * callers }, (_, place) => `user-${place}`)
// A multiple of the callers, so that each has its own keys and a conversation of the one end user is free before its next message.
const keys = 4 * callers
/** Never reached. */
const limit = (scope: string, window: string) => ({ scope, usd: '1000000', window })
const threeLimits = [limit('end_user', 'day'), limit('api_key', 'month'), limit('agent', 'total')]

export const spendLimits: Scenario = {
  name: 'limits',
  sentence: `Turns without spend limits, with one and with three; and with three, many end users beside one with ${keys} keys; sync, ${callers} callers.`,
  async run(bench) {
    const { kinds, notes } = storesHere(bench)
    await (await bench.upstream()).configure({})
    const servers = await eachInTurn(kinds, async (kind) => {
      const server = await bench.startServer({ store: kind })
      await warm(bench, server)
      return { kind, server }
    })
    const lanes: Lane[] = []
    for (const { kind, server } of servers) {
      const add = (limits: string, endUsers: string, calls: Call[], of: string[]): void =>
        void lanes.push({
          labels: { store: storeNames[kind], limits, 'end users': endUsers },
          target: server,
          spec: { calls, callers, seconds: bench.seconds, users: of },
        })
      const agent = { history: { max_tokens: 0 } }
      add('none', 'many', [(await server.makeTenant(agent)).call('sync')], users)
      add('one', 'many', [(await server.makeTenant({ ...agent, spend_limits: threeLimits.slice(0, 1) })).call('sync')], users)
      const three = await server.makeTenant({ ...agent, spend_limits: threeLimits })
      add('three', 'many', [three.call('sync')], users)
      const all = [three.call('sync')]
      for (let made = 1; made < keys; made++) {
        const key = await server.admin('POST', `/agents/${three.agentId}/keys`, {
          permission: 'full',
          rate_limit: { limit: 1_000_000, window_seconds: 1 },
        })
        const [first] = all
        all.push({ ...first!, headers: { ...first!.headers, authorization: `Bearer ${String(key['api_key'])}` } })
      }
      add('three', 'many, each key', all, users)
      add('three', 'one', all, ['the-one'])
    }
    const rows = await sideBySide(bench, lanes)
    for (const { server } of servers) await bench.audit(server)
    return { rows, notes }
  },
}
