/**
 * A standby of a test's PostgreSQL: a copy made by pg_basebackup that streams from it, on its own port. It is asynchronous until the
 * primary is configured to wait for it. Ends like any other server of a test.
 */
import { execFile } from 'node:child_process'
import { chownSync } from 'node:fs'
import { appendFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { until } from './until.ts'
import { findBin, startOver, unprivileged, withClient } from './postgres-server.ts'
import type { PostgresServer } from './postgres-server.ts'

export type Standby = PostgresServer & {
  /** From now on the primary commits only what is on the standby's disk too. */
  makeSynchronous(): Promise<void>
  /** The process that receives from the primary. */
  receiver(): Promise<number>
  /** Promotes it; resolves when it accepts writes. */
  promote(): Promise<void>
}

/** `port`: the port of the primary, by default its own. */
export async function startStandby(primary: PostgresServer, { port = primary.port } = {}): Promise<Standby> {
  const bin = findBin()!
  const user = unprivileged()
  const folder = await mkdtemp(join(tmpdir(), 'turnkeep-standby-'))
  if (user) chownSync(folder, user.uid, user.gid)
  const data = join(folder, 'data')
  try {
    const address = `host=127.0.0.1 port=${port} user=postgres application_name=standby`
    const options = ['-D', data, '-d', address, '--write-recovery-conf', '--checkpoint=fast', '--no-sync']
    await promisify(execFile)(join(bin, 'pg_basebackup'), options, { cwd: folder, ...user })
    // The copy's settings contain the folder of the primary.
    await appendFile(join(data, 'postgresql.conf'), `unix_socket_directories = '${folder}'\n`)
    const server = await startOver(bin, folder, undefined, user)
    const ask = async (text: string, url = server.url): Promise<Record<string, unknown>[]> =>
      withClient(url, async (client) => (await client.query(text)).rows)
    await until('a stream from the primary', async () => (await ask('select 1 from pg_stat_wal_receiver')).length === 1)
    // Not a spread, because its getters change.
    return Object.assign(Object.create(server) as PostgresServer, {
      async makeSynchronous() {
        await ask(`alter system set synchronous_standby_names = 'standby'`, primary.url)
        await ask('select pg_reload_conf()', primary.url)
        await until('a synchronous standby', async () => {
          const waitedFor = await ask(`select 1 from pg_stat_replication where sync_state = 'sync'`, primary.url)
          return waitedFor.length === 1
        })
      },
      receiver: async () => Number((await ask('select pid from pg_stat_wal_receiver'))[0]!['pid']),
      promote: async () => void (await ask('select pg_promote(true, 60)')),
    })
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}
