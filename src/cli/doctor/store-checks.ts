/** The checks of `turnkeep doctor` on the embedded database: lock, file, schema, invariants. Read-only. */
import type { Config } from '../../config/config.ts'
import { verify } from '../../store/queries/invariants.ts'
import type { Verdict } from '../../store/queries/invariants.ts'
import { inspectFolder, readSnapshot } from '../../store/sqlite/sqlite.ts'
import type { Inspection } from '../../store/sqlite/sqlite.ts'
import { causeOf } from '../terminal/command-failed.ts'
import { fail, ok, warn } from './finding.ts'
import type { Finding } from './finding.ts'

export async function checkStore({ dataFolder }: Config, { inUse, database }: Inspection): Promise<Finding[]> {
  const lock = ok('folder lock', inUse ? 'a running server uses the data folder' : 'no server uses the data folder')
  const found = checkDatabase(database)
  return found.status === 'ok' ? [lock, found, checkVerdicts(await readSnapshot(dataFolder, verify))] : [lock, found]
}

/** An error of the file system is reported as an unreadable database. */
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
        'no database found',
        'The first start creates it. If there should be one, check TURNKEEP_DATA_DIR, or restore a backup.',
      )
    case 'unreadable':
      return fail(
        'database',
        `cannot read it: ${database.reason}`,
        'Run this as the user of the server. If the file is damaged, restore a backup (docs/operate/backup-restore.md).',
      )
    case 'readable':
      if (database.schema === 'fits') return ok('database', 'readable, and its schema is up to date')
      if (database.schema === 'pending')
        return warn(
          'database',
          'its schema is older than this version of Turnkeep',
          'The next start migrates it, and first copies it if a migration removes data.',
        )
      return fail(
        'database',
        `migrated by a newer version of Turnkeep (${database.schema.newer})`,
        'Use that version, or restore a backup from before the upgrade.',
      )
  }
}

export function checkVerdicts(verdicts: Verdict[]): Finding {
  const broken = verdicts.filter(({ rows }) => rows.length > 0).map(({ name }) => name)
  if (broken.length === 0) return ok('invariants', `all ${verdicts.length} hold`)
  return fail(
    'invariants',
    `broken: ${broken.join(', ')}`,
    'Make a backup before anything else. `npx turnkeep verify` shows the affected rows.',
  )
}
