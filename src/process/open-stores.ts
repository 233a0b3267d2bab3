/**
 * Opens the store and the rate window that the settings select. Loads no code that serves requests, so that the store's threads start while
 * the main thread loads the rest.
 */
import type { Logger } from 'pino'
import { createMemoryWindow } from '../access/rate-window.ts'
import type { RateWindow } from '../access/rate-window.ts'
import type { Config } from '../config/config.ts'
import type { Failpoints } from '../failpoints.ts'
import type { SharedStore, Store } from '../store/store.ts'

export type Stores = { store: Store; window: RateWindow }
type StoresOptions = { monotonicMs: () => number; failpoints: Failpoints; log: Logger }

/**
 * Throws FolderInUse, SchemaRefused or StoreUnavailable. Each backend is imported where it is used, so a start with SQLite alone loads no
 * driver for PostgreSQL or Redis.
 */
export async function openStores(config: Config, { monotonicMs, failpoints, log }: StoresOptions): Promise<Stores> {
  const redisWindow = config.redisUrl === undefined ? undefined : await openRedisWindow(config.redisUrl, log)
  try {
    if (config.databaseUrl === undefined) {
      const { openSqliteStore } = await import('../store/sqlite/sqlite.ts')
      const store = await openSqliteStore({ folder: config.dataFolder, failpoints: failpoints.spec })
      return { store, window: redisWindow ?? createMemoryWindow({ monotonicMs, wallMs: Date.now }) }
    }
    const { openPostgresStore } = await import('../store/postgres/postgres.ts')
    const store = await openPostgresStore({ url: config.databaseUrl, failpoints: failpoints.spec, log })
    return { store, window: redisWindow ?? (await openStoreWindow(store)) }
  } catch (error) {
    await redisWindow?.close()
    throw error
  }
}

async function openRedisWindow(url: string, log: Logger): Promise<RateWindow> {
  const { createRedisWindow } = await import('../access/redis-window.ts')
  return createRedisWindow({ url, log })
}

async function openStoreWindow(store: SharedStore): Promise<RateWindow> {
  const { createStoreWindow } = await import('../access/store-window.ts')
  return createStoreWindow({ store })
}
