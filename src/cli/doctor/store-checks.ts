/** What `turnkeep doctor` sees of the embedded database: is it there, whose is it, does it fit, is it whole. Reads only. */
import type { Config } from '../../config/config.ts'
import { verify } from '../../store/queries/invariants.ts'
import type { Verdict } from '../../store/queries/invariants.ts'
import { inspectFolder, readSnapshot } from '../../store/sqlite/sqlite.ts'
import type { Inspection } from '../../store/sqlite/sqlite.ts'
import { causeOf } from '../terminal/command-failed.ts'
import { fail, ok, warn } from './finding.ts'
import type { Finding } from './finding.ts'

export async function checkStore({ dataFolder }: Config, { inUse, database }: Inspection): Promise<Finding[]> {
  const lock = ok('folder lock', inUse ? 'a running server holds the data folder' : 'no server holds the data folder')
  const found = checkDatabase(database)
  return found.status === 'ok' ? [lock, found, checkVerdicts(await readSnapshot(dataFolder, verify))] : [lock, found]
}

/** What the disk refuses is told as a database that cannot be read. */
export function inspect({ dataFolder }: Config): Inspection {
  try {
    return inspectFolder(dataFolder)
  } catch (error) {
    return { inUse: false, database: { kind: 'unreadable', reason: causeOf(error) } }
  }
}

function checkDatabase(database: Inspection['database']): Finding {
  switch (database.kind) {
    case 'absent':
      return warn(
        'database',
        'there is none yet',
        'The first start makes it. If there was one, TURNKEEP_DATA_DIR names another folder, or restore a backup.',
      )
    case 'unreadable':
      return fail(
        'database',
        `it cannot be read: ${database.reason}`,
        'Run as the server’s user; a damaged file is replaced by a backup (docs/operate/backup-restore.md).',
      )
    case 'readable':
      if (database.schema === 'fits') return ok('database', 'readable, and its schema fits')
      if (database.schema === 'pending')
        return warn(
          'database',
          'its schema is older than this Turnkeep',
          'The next start migrates it, and copies it first where data could be lost.',
        )
      return fail(
        'database',
        `it was migrated by a newer Turnkeep (${database.schema.newer})`,
        'Use that version, or a backup made before it.',
      )
  }
}

export function checkVerdicts(verdicts: Verdict[]): Finding {
  const broken = verdicts.filter(({ rows }) => rows.length > 0).map(({ name }) => name)
  if (broken.length === 0) return ok('invariants', `all ${verdicts.length} hold`)
  return fail(
    'invariants',
    `broken: ${broken.join(', ')}`,
    '`npx turnkeep verify` shows the rows. Make a backup now, before anything else.',
  )
}
