/**
 * Faults of PostgreSQL and of the connection to it: sessions terminated, the server restarted in three ways, the network silent, reset,
 * refusing or slow, and the response of a commit lost. Each server has its own proxy, so that the network may fail for one of them alone.
 */
import { withClient } from '../../support/postgres-server.ts'
import type { FaultProxy } from '../../support/fault-proxy.ts'
import type { Make, Making } from './making.ts'
import { rest } from './making.ts'
import type { FaultName } from '../schedule.ts'

/** For one server or all of them. */
function proxiesOf({ testbed, fault, random }: Making): FaultProxy[] {
  const { proxies } = testbed.shared!
  return random.chance(0.5) ? proxies : [proxies[fault.supervised]!]
}

const terminate: Make = async ({ testbed, fault }) => {
  const { server, database } = testbed.shared!
  // The checks that run during the load are not affected.
  const sessions = `select pid from pg_stat_activity where datname = $1 and application_name not like 'pg_dump%' order by random() ${fault.way === 'one' ? 'limit 1' : ''}`
  await withClient(server.url, (client) => client.query(`select pg_terminate_backend(pid) from (${sessions}) as sessions`, [database.name]))
  return undefined
}

const restart: Make = async ({ testbed, fault }) => {
  const { server } = testbed.shared!
  if (fault.way === 'kill9') await server.kill9()
  else await server.halt(fault.way === 'fast' ? 'fast' : 'immediate')
  return () => server.restart()
}

const away: Make = async (making) => {
  const proxies = proxiesOf(making)
  const { way } = making.fault
  if (way === 'silent') for (const proxy of proxies) proxy.blackhole()
  else {
    await Promise.all(proxies.map((proxy) => proxy.refuse()))
    // Open connections continue if only new ones are refused.
    if (way === 'reset') for (const proxy of proxies) proxy.reset()
  }
  return async () => {
    // What was lost during the silence stays lost, as if a router had forgotten the connections.
    if (way === 'silent') for (const proxy of proxies) proxy.reset()
    await Promise.all(proxies.map((proxy) => proxy.pass()))
  }
}

// Such a call happens many times per second, so an unused trap would be a defect.
const lostWithinMs = 30_000

/** The database commits, and the server never receives the response. */
const lostCommit: Make = async ({ testbed, fault, random, signal }) => {
  const proxy = testbed.shared!.proxies[fault.supervised]!
  const pattern = random.pick(['admit_v2', 'settle_v2'])
  const lost = proxy.cutAt(pattern, { lose: 'answer', how: fault.way === 'fin' ? 'fin' : 'rst' })
  await Promise.race([lost, rest(lostWithinMs, signal)])
  return undefined
}

const slow: Make = (making) => {
  const proxies = proxiesOf(making)
  for (const proxy of proxies) proxy.delay(making.random.int(10, 150))
  return () => Promise.all(proxies.map((proxy) => proxy.pass()))
}

export const postgresFaults = {
  terminate,
  'pg-restart': restart,
  'pg-away': away,
  'lost-commit': lostCommit,
  'pg-slow': slow,
} satisfies Partial<Record<FaultName, Make>>
