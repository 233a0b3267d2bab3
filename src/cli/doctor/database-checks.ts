/** The PostgreSQL checks of `turnkeep doctor`: connection, schema, commit durability, free connections, clock, invariants. Read-only. */
import { settings } from '../../config/config.ts'
import type { Environment } from '../../config/config.ts'
import { verify } from '../../store/queries/invariants.ts'
import type { PostgresInspection } from '../../store/postgres/postgres.ts'
import { SchemaRefused } from '../../store/schema-refused.ts'
import { causeOf } from '../terminal/command-failed.ts'
import { fail, ok, warn } from './finding.ts'
import type { Finding } from './finding.ts'
import { checkVerdicts } from './store-checks.ts'
import { docPage } from '../terminal/doc-page.ts'

// What one process opens (src/store/postgres/connections.ts), and what PostgreSQL reserves for superusers by default.
const connectionsEach = 12
const reserved = 3
// A smaller difference can come from the network and from clock adjustments.
const maxSkewMs = 5_000
// Every turn waits for at least two database commits.
const slowMs = 50

export async function* checkPostgres(url: string, shown: string, environment: Environment): AsyncGenerator<Finding> {
  const check = 'database'
  const { inspectPostgres, readPostgresSnapshot } = await import('../../store/postgres/postgres.ts')
  let found: PostgresInspection
  try {
    found = await inspectPostgres(url)
  } catch (error) {
    yield error instanceof SchemaRefused
      ? fail(check, error.message, `See ${docPage('docs/operate/postgresql.md')} for the requirements.`)
      : fail(
          check,
          `cannot connect to ${shown}: ${causeOf(error)}`,
          'Check that it is running, and the host, database, user and password in DATABASE_URL.',
        )
    return
  }
  yield checkAnswer(found, shown)
  yield checkSchema(found.schema)
  yield checkDurability(found)
  yield* checkConnections(found, settings.workers.read(environment[settings.workers.name] || settings.workers.initial) ?? 1)
  yield checkDatabaseClock(found, Date.now())
  if (found.schema.kind !== 'fits') return
  const { isHalfCopied } = await import('../../store/postgres/copy/mark.ts')
  yield await readPostgresSnapshot(url, async (sql) =>
    (await isHalfCopied(sql))
      ? fail(
          'copy',
          'a copy into this database is not finished',
          'Run `npx --no-install turnkeep copy` again to finish it, or use another database.',
        )
      : checkVerdicts(await verify(sql)),
  )
}

export function checkAnswer({ version, standby, pooled, roundTripMs }: PostgresInspection, shown: string): Finding {
  const check = 'database'
  const says = `PostgreSQL ${version} at ${shown} responds in ${roundTripMs.toFixed(1)} ms`
  if (standby) return fail(check, `${shown} is a read-only standby`, 'Set DATABASE_URL to the primary, or promote this server.')
  if (roundTripMs > slowMs)
    return warn(check, says, 'Every turn waits for the database at least twice: run Turnkeep close to its database.')
  if (!pooled) return ok(check, says)
  // Not a warning: running behind a pooler is supported.
  return ok(
    check,
    `${says}, through a pooler: every statement is planned again, and changes of other processes are visible within a second`,
  )
}

export function checkSchema(schema: PostgresInspection['schema']): Finding {
  const check = 'schema'
  switch (schema.kind) {
    case 'fits':
      return ok(check, 'up to date')
    case 'absent':
      return warn(check, 'no schema found', 'The first start creates it. If there should be one, DATABASE_URL is wrong.')
    case 'pending':
      return warn(check, `older than this version of Turnkeep (${schema.names[0]})`, 'The next start migrates it. Make a backup first.')
    case 'newer':
      return schema.refused
        ? fail(
            check,
            `migrated by a newer version of Turnkeep (${schema.names[0]})`,
            'Use that version, or restore a backup from before the upgrade.',
          )
        : warn(
            check,
            `a newer version of Turnkeep has extended it (${schema.names[0]})`,
            'This version still works with it. Finish the upgrade.',
          )
  }
}

/** Exactly-once replies and charges depend on commits that survive a crash of the database. */
export function checkDurability({ settings: found }: Pick<PostgresInspection, 'settings'>): Finding {
  const check = 'durability'
  const { fsync, full_page_writes: fullPageWrites, synchronous_commit: commit, synchronous_standby_names: standbys } = found
  if (fsync === 'off' || fullPageWrites === 'off') {
    const off = fsync === 'off' ? 'fsync' : 'full_page_writes'
    return warn(
      check,
      `${off} is off: a power failure may corrupt the whole database`,
      `Set ${off} = on in postgresql.conf, and restart PostgreSQL.`,
    )
  }
  if (commit === 'off') {
    const says = 'synchronous_commit is off: a crash of the database may lose replies that were sent and charged'
    return warn(check, says, 'Set synchronous_commit = on for the server, the database and the user of Turnkeep.')
  }
  if (standbys !== '' && commit === 'local') {
    const says = 'synchronous_commit is local: a failover may lose replies that were sent and charged'
    return warn(check, says, 'Set synchronous_commit = on, so that commits wait for the standby.')
  }
  return ok(
    check,
    standbys === '' ? 'commits are flushed to disk on this server' : `commits are flushed to disk on this server and on ${standbys}`,
  )
}

function* checkConnections({ maxConnections, usedConnections }: PostgresInspection, workers: number): Generator<Finding> {
  const needed = workers * connectionsEach
  const free = Math.max(0, maxConnections - reserved - usedConnections)
  const says = `${free} of ${maxConnections} are free; ${workers === 1 ? 'one process opens' : `${workers} processes open`} up to ${needed}`
  const fix = 'Raise max_connections, lower TURNKEEP_WORKERS, or use PgBouncer. Processes that already run already have their connections.'
  yield free < needed ? warn('connections', says, fix) : ok('connections', says)
}

export function checkDatabaseClock({ now, roundTripMs }: Pick<PostgresInspection, 'now' | 'roundTripMs'>, here: number): Finding {
  const skewMs = here - now - roundTripMs / 2
  if (Math.abs(skewMs) <= maxSkewMs) return ok('db clock', 'in sync with this machine')
  const says = `the clock of the database is ${Math.round(Math.abs(skewMs) / 1000)} s ${skewMs > 0 ? 'behind' : 'ahead of'} this machine`
  return warn(
    'db clock',
    says,
    'Turns use only the clock of the database and are safe, but times in logs and bills differ. Use NTP on both machines.',
  )
}
