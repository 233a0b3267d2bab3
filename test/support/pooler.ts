/**
 * A real PgBouncer in transaction mode for tests, from Debian, on its own port in front of the run's PostgreSQL; it ends with the test
 * process.
 */
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { freePort, startGuarded } from './guarded-process.ts'
import { until } from './until.ts'
import { noPostgres, withClient } from './postgres-server.ts'

const program = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin'].map((place) => join(place, 'pgbouncer')).find(existsSync)
/** Why a test that needs it is not possible here, or false. */
export function noPooler(): string | false {
  return noPostgres() || (program === undefined && 'no PgBouncer here; install it (apt-get install pgbouncer)')
}

export type Pooler = { through(url: string): string; stop(): Promise<void> }

/** Two server connections per database and user, each used for one transaction at a time. */
export async function startPooler(serverUrl: string): Promise<Pooler> {
  const folder = await mkdtemp(join(tmpdir(), 'turnkeep-pooler-'))
  const { hostname, port: serverPort, username } = new URL(serverUrl)
  const port = await freePort()
  const settings = [
    '[databases]',
    `* = host=${hostname} port=${serverPort || 5432} user=${username}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'pool_mode = transaction',
    'auth_type = any',
    'default_pool_size = 2',
    'max_client_conn = 100',
    ...(process.getuid?.() === 0 ? [`user = ${/^postgres:/m.test(readFileSync('/etc/passwd', 'utf8')) ? 'postgres' : 'nobody'}`] : []),
  ]
  const file = join(folder, 'pgbouncer.ini')
  await writeFile(file, settings.join('\n'))
  const guarded = await startGuarded(program!, [file], { log: join(folder, 'log'), folder, endSignal: 'TERM' })
  const through = (url: string): string => {
    const changed = new URL(url)
    changed.hostname = '127.0.0.1'
    changed.port = String(port)
    return changed.href
  }
  await until('PgBouncer answers', async () => {
    if (!guarded.running) throw new Error(readFileSync(join(folder, 'log'), 'utf8'))
    return withClient(through(serverUrl), (client) => client.query('select 1')).then(
      () => true,
      () => false,
    )
  })
  return {
    through,
    async stop() {
      guarded.signalAll('SIGKILL')
      await guarded.exited
      await rm(folder, { recursive: true, force: true })
    },
  }
}
