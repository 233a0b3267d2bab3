/** What `turnkeep doctor` sees of PostgreSQL: is it there, does it fit, what is a commit worth, is there room. Reads only. */
import { settings } from '../../config/config.ts'
import type { Environment } from '../../config/config.ts'
import { verify } from '../../store/queries/invariants.ts'
import type { PostgresInspection } from '../../store/postgres/postgres.ts'
import { SchemaRefused } from '../../store/schema-refused.ts'
import { causeOf } from '../terminal/command-failed.ts'
import { fail, ok, warn } from './finding.ts'
import type { Finding } from './finding.ts'
import { checkVerdicts } from './store-checks.ts'

// What one process opens (src/store/postgres/connections.ts), and what PostgreSQL keeps for its superuser.
const connectionsEach = 11
const kept = 3
// Below this, network and the two clocks' own steps explain it.
const maxSkewMs = 5_000
// A turn waits for the database at least twice.
const slowMs = 50

export async function* checkPostgres(url: string, shown: string, environment: Environment): AsyncGenerator<Finding> {
  const check = 'database'
  const { inspectPostgres, readPostgresSnapshot } = await import('../../store/postgres/postgres.ts')
  let found: PostgresInspection
  try {
    found = await inspectPostgres(url)
  } catch (error) {
    yield error instanceof SchemaRefused
      ? fail(check, error.message, 'docs/operate/postgresql.md says what Turnkeep needs.')
      : fail(
          check,
          `${shown} cannot be used: ${causeOf(error)}`,
          'Is it running, and are host, database, user and password in DATABASE_URL right?',
        )
    return
  }
  yield checkAnswer(found, shown)
  yield checkSchema(found.schema)
  yield checkDurability(found)
  yield* checkRoom(found, settings.workers.read(environment[settings.workers.name] || settings.workers.initial) ?? 1)
  yield checkDatabaseClock(found, Date.now())
  if (found.schema.kind !== 'fits') return
  const { isHalfCopied } = await import('../../store/postgres/copy/mark.ts')
  yield await readPostgresSnapshot(url, async (sql) =>
    (await isHalfCopied(sql))
      ? fail('copy', 'a copy into this database is not finished', 'Run `npx turnkeep copy` again to its end, or use another database.')
      : checkVerdicts(await verify(sql)),
  )
}

export function checkAnswer({ version, standby, pooled, roundTripMs }: PostgresInspection, shown: string): Finding {
  const check = 'database'
  const says = `PostgreSQL ${version} at ${shown} answers in ${roundTripMs.toFixed(1)} ms`
  if (standby) return fail(check, `${shown} is a standby: it takes no writes`, 'Name the primary in DATABASE_URL, or promote this one.')
  if (roundTripMs > slowMs) return warn(check, says, 'Every turn waits for it at least twice: run Turnkeep near its database.')
  if (!pooled) return ok(check, says)
  // Nothing to mend: it is a choice.
  return ok(check, `${says}, through a pooler: statements are planned at each call, and other processes’ changes are seen within a second`)
}

export function checkSchema(schema: PostgresInspection['schema']): Finding {
  const check = 'schema'
  switch (schema.kind) {
    case 'fits':
      return ok(check, 'it fits')
    case 'absent':
      return warn(check, 'there is none yet', 'The first start makes it. If there was one, DATABASE_URL names another database.')
    case 'pending':
      return warn(check, `it is older than this Turnkeep (${schema.names[0]})`, 'The next start migrates it; make a backup first.')
    case 'newer':
      return schema.refused
        ? fail(check, `it was migrated by a newer Turnkeep (${schema.names[0]})`, 'Use that version, or a backup made before it.')
        : warn(check, `a newer Turnkeep has added to it (${schema.names[0]})`, 'This version works beside it; finish the upgrade.')
  }
}

/** The promise stands on what a commit of the database is worth. */
export function checkDurability({ settings: found }: Pick<PostgresInspection, 'settings'>): Finding {
  const check = 'durability'
  const { fsync, full_page_writes: fullPageWrites, synchronous_commit: commit, synchronous_standby_names: standbys } = found
  if (fsync === 'off' || fullPageWrites === 'off') {
    const off = fsync === 'off' ? 'fsync' : 'full_page_writes'
    return warn(check, `${off} is off: a power cut may destroy the whole database`, `Set ${off} = on in postgresql.conf, and restart it.`)
  }
  if (commit === 'off') {
    const says = 'synchronous_commit is off: a crash of the database may lose replies that were answered and charged'
    return warn(check, says, 'Set synchronous_commit = on, for the server, the database and the user that Turnkeep is.')
  }
  if (standbys !== '' && commit === 'local') {
    const says = 'synchronous_commit is local: a failover may lose replies that were answered and charged'
    return warn(check, says, 'Set synchronous_commit = on, so that a commit waits for the standby.')
  }
  return ok(check, standbys === '' ? 'a commit is on the disk of this server' : `a commit is on the disk of this server and of ${standbys}`)
}

function* checkRoom({ maxConnections, usedConnections }: PostgresInspection, workers: number): Generator<Finding> {
  const needed = workers * connectionsEach
  const free = Math.max(0, maxConnections - kept - usedConnections)
  const says = `${free} of ${maxConnections} are free; ${workers === 1 ? 'a process takes' : `${workers} processes take`} up to ${needed}`
  const mend = 'Raise max_connections, set TURNKEEP_WORKERS lower, or put PgBouncer in between. Processes that run already have theirs.'
  yield free < needed ? warn('connections', says, mend) : ok('connections', says)
}

export function checkDatabaseClock({ now, roundTripMs }: Pick<PostgresInspection, 'now' | 'roundTripMs'>, here: number): Finding {
  const skewMs = here - now - roundTripMs / 2
  if (Math.abs(skewMs) <= maxSkewMs) return ok('db clock', 'agrees with this machine’s')
  const says = `the database’s clock is ${Math.round(Math.abs(skewMs) / 1000)} s ${skewMs > 0 ? 'behind' : 'ahead of'} this machine’s`
  return warn('db clock', says, 'Turns go by the database’s clock alone and are safe; logs and bills disagree. Let both set it by NTP.')
}
