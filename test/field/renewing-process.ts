/**
 * A process that gives documents of the previous version their new terms, four chunks at a time, until a failpoint kills it. Its one argument
 * is JSON: where the store is, and the failpoints.
 */
import { openPostgresStore } from '../../src/store/postgres/postgres.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.ts'

export type RenewingProcess = { at: { folder: string } | { url: string }; failpoints: string }

const { at, failpoints } = JSON.parse(process.argv[2]!) as RenewingProcess
const log = { info: () => undefined, warn: () => undefined, error: console.error }
const store = 'folder' in at ? await openSqliteStore({ ...at, failpoints }) : await openPostgresStore({ ...at, log, failpoints })
while ((await store.write.renewTerms({ limit: 4 })) > 0);
await store.close()
