/** The PostgreSQL and the Redis of a test run: started if a file needs them and they are installed, stopped after the run. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { noPostgres, startPostgres } from '../support/postgres-server.ts'
import { noRedis, startRedis } from '../support/redis-server.ts'
import { cpuMsOf } from './file-cost.ts'
import type { Store } from './tiers.ts'

const root = join(import.meta.dirname, '../..')
const kinds = [
  { variable: 'TEST_POSTGRES_URL', missing: noPostgres, word: 'postgres', start: startPostgres },
  { variable: 'TEST_REDIS_URL', missing: noRedis, word: 'redis', start: startRedis },
]

export type RunServers = {
  /** Why the tests on PostgreSQL cannot run here, or false if they can. */
  missing: string | false
  /** CPU time of both so far, in milliseconds. */
  cpuMs(): number
  stop(): Promise<void>
}

/**
 * Sets `TEST_POSTGRES_URL` and `TEST_REDIS_URL` for the test processes. If a server is not installed, each test that needs it reports that
 * itself.
 */
export async function startServers(passes: { store: Store; files: string[] }[]): Promise<RunServers> {
  const missing = noPostgres() || noRedis()
  const texts = passes.flatMap(({ files }) => files).map((file) => readFileSync(join(root, file), 'utf8'))
  const isNeeded = (word: string): boolean => passes.some(({ store }) => store === 'postgres') || texts.some((text) => text.includes(word))
  const wanted = kinds.filter(({ variable, missing: why, word }) => !process.env[variable] && why() === false && isNeeded(word))
  const running = await Promise.all(
    wanted.map(async ({ variable, start }) => {
      const server = await start()
      process.env[variable] = server.url
      return server
    }),
  )
  return {
    missing,
    cpuMs: () => running.reduce((sum, { pid }) => sum + (cpuMsOf(pid) ?? 0), 0),
    async stop() {
      await Promise.all(running.map((server) => server.stop()))
    },
  }
}
