/**
 * A process that does nothing but index, for tests that kill it: opens the store it is told of, starts the indexer, and stays. Its one argument is
 * JSON: `{ folder }` or `{ url }` of the store, `key` of the sealed secrets in base64, and the indexer's settings.
 */
import { createEmbeddings } from '../../src/agent/models/embeddings.ts'
import { createGuard } from '../../src/agent/guard/guard.ts'
import { createIndexer } from '../../src/agent/documents/documents.ts'
import type { IndexerSettings } from '../../src/agent/documents/documents.ts'
import { createModels } from '../../src/agent/models/models.ts'
import { createSealer } from '../../src/config/secrets.ts'
import { openPostgresStore } from '../../src/store/postgres/postgres.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.ts'

export type IndexingProcess = { at: { folder: string } | { url: string }; key: string; settings: Partial<IndexerSettings> }

const log = { info: () => undefined, warn: () => undefined, error: console.error }
const { at, key, settings } = JSON.parse(process.argv[2]!) as IndexingProcess
const store = 'folder' in at ? await openSqliteStore(at) : await openPostgresStore({ ...at, log })
const embeddings = createEmbeddings({ store, sealer: createSealer([Buffer.from(key, 'base64')]), models: createModels() })
createIndexer({ store, embeddings, guard: createGuard({ allowPrivateHosts: [] }), log, settings }).start()
// The indexer keeps no process.
setInterval(() => undefined, 60_000)
