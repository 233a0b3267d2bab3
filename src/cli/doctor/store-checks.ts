/** The checks of `turnkeep doctor` on the embedded database: lock, file, schema, invariants. Read-only. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { settings } from '../../config/config.ts'
import type { Config, Environment } from '../../config/config.ts'
import { undecryptable } from '../../config/secrets.ts'
import { verify } from '../../store/queries/invariants.ts'
import type { Verdict } from '../../store/queries/invariants.ts'
import { listProviders } from '../../store/queries/providers.ts'
import type { Provider } from '../../store/queries/providers.ts'
import { inspectFolder, readSnapshot } from '../../store/sqlite/sqlite.ts'
import type { Inspection } from '../../store/sqlite/sqlite.ts'
import { causeOf } from '../terminal/command-failed.ts'
import { fail, ok, warn } from './finding.ts'
import type { Finding } from './finding.ts'
import { docPage } from '../terminal/doc-page.ts'

export async function checkStore({ dataFolder }: Config, { inUse, database }: Inspection, environment: Environment): Promise<Finding[]> {
  const lock = ok('folder lock', inUse ? 'a running server uses the data folder' : 'no server uses the data folder')
  const found = checkDatabase(database)
  if (found.status !== 'ok') return [lock, found]
  const providers = await readSnapshot(dataFolder, (sql) =>
    listProviders(sql, { limit: 1000, before: { createdAt: Number.MAX_SAFE_INTEGER, id: '~' } }),
  )
  return [lock, found, ...checkKeys(providers, dataFolder, environment), checkVerdicts(await readSnapshot(dataFolder, verify))]
}

/** Nothing to report if there is no valid key: other checks report that. */
function checkKeys(providers: Provider[], dataFolder: string, environment: Environment): Finding[] {
  const path = join(dataFolder, settings.encryptionKeys.file)
  const given = environment[settings.encryptionKeys.name]
  const text = given || (existsSync(path) ? readFileSync(path, 'utf8').trim() : '')
  const keys = settings.encryptionKeys.read(text)
  const what = keys && undecryptable(providers, keys)
  const says = `${what}: ${given ? settings.encryptionKeys.name : path} contains another key`
  return what === undefined ? [] : [fail('secrets', says, 'Restore the key that encrypted them. If it is lost, see TURNKEEP_LOST_SECRETS.')]
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
        `Run this as the user of the server. If the file is damaged, restore a backup (${docPage('docs/operate/backup-restore.md')}).`,
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
    'Make a backup before anything else. `npx --no-install turnkeep verify` shows the affected rows.',
  )
}
