/**
 * The whole service, put together: the only file that knows every room. Holds no rule itself.
 * A request's life: http → access → turn (admit → agent → settle) → http. Read src/turn/turn.ts next.
 */
import { randomBytes } from 'node:crypto'
import type { Logger } from 'pino'
import { createAccess } from './access/access.ts'
import { createLastUse } from './access/last-use.ts'
import { createMemoryWindow } from './access/rate-window.ts'
import { createAdmin } from './admin/admin.ts'
import type { Admin } from './admin/admin.ts'
import { createAgents } from './agent/agent.ts'
import { createKnowledge } from './agent/knowledge.ts'
import type { Knowledge } from './agent/knowledge.ts'
import { createModels } from './agent/models.ts'
import type { Config } from './config.ts'
import type { Failpoints } from './failpoints.ts'
import { createDoor } from './http/http.ts'
import { createIds } from './ids.ts'
import { createMetrics } from './metrics.ts'
import { createSealer } from './secrets.ts'
import { openSqliteStore } from './store/sqlite/sqlite.ts'
import type { SqliteStore } from './store/sqlite/sqlite.ts'
import { createConversations } from './turn/conversations.ts'
import { createErasure } from './turn/erasure.ts'
import { createTurns } from './turn/turn.ts'
import type { Turns, TurnSettings } from './turn/turn.ts'

export type AppOptions = {
  /** The admin API's bearer token and the sealing keys, given or generated (data-folder.ts). */
  adminToken: string
  encryptionKeys: Uint8Array[]
  log: Logger
  /** Where each request leaves a line; absent: nowhere. */
  accessLog?: Logger
  failpoints: Failpoints
  /** Called when every room is there and nobody can come in yet. */
  beforeListening?(rooms: Rooms): Promise<void>
  /** Deadlines and leases other than the ruled ones, for tests. */
  turnSettings?: Partial<TurnSettings>
}

/** What is reached without the door: by the first start, by tests. */
export type Rooms = { admin: Admin; knowledge: Knowledge; store: SqliteStore; turns: Turns }

export type App = Rooms & {
  /** Base address of the API, as listened on. */
  url: string
  /** Base address of admin API and console: the same, unless `TURNKEEP_ADMIN_PORT` is set. */
  adminUrl: string
  /** Readiness off, no new connections, running turns finish up to the drain limit, the rest is given up; then everything is closed. */
  drain(): Promise<void>
}

/** Opens the store, recovers what a dead process left, listens. Throws FolderInUse, SchemaRefused, StoreUnavailable, or the listener's error. */
export async function startApp(config: Config, options: AppOptions): Promise<App> {
  const { adminToken, encryptionKeys, log, accessLog, failpoints, beforeListening, turnSettings } = options
  const store = await openSqliteStore({ folder: config.dataFolder, failpoints: failpoints.spec })
  const { newId, newRequestId } = createIds()
  const monotonicMs = (): number => performance.now()

  const sealer = createSealer(encryptionKeys)
  const models = createModels()
  const metrics = createMetrics()
  const knowledge = createKnowledge({ store })
  const lastUse = createLastUse({ store, monotonicMs, log })
  const window = createMemoryWindow({ monotonicMs, wallMs: Date.now })
  const access = createAccess({ store, window, monotonicMs, onUse: lastUse.saw, log })
  const agents = createAgents({ store, sealer, models, knowledge, log, metrics })
  const settings = { maxTurns: config.maxTurns, ...turnSettings }
  const turns = createTurns({ store, agents, failpoints, log, metrics, newRequestId, newId, settings })
  const conversations = createConversations({ store })
  const erasure = createErasure({ store, retentionDays: config.retentionDays, log, newId })
  const admin = createAdmin({ store, sealer, models, newId, randomBytes })

  const rooms = { admin, knowledge, store, turns }
  let draining = false
  const ready = async () => ({
    draining,
    store: await store.ping().then(
      () => 'ok' as const,
      () => 'unavailable' as const,
    ),
    limiter: 'ok' as const,
  })
  metrics.watch({ running: () => turns.running, mostRunning: settings.maxTurns, waiting: turns.waiting, ready })
  const common = { log, accessLog, metrics, newRequestId, publicUrl: config.publicUrl, ready }
  const publicRooms = { access, turns, conversations }
  const adminRooms = { admin, adminToken, turns, erasure }
  const shared = config.adminPort === undefined
  const doors = shared
    ? [await createDoor({ ...common, public: publicRooms, admin: adminRooms })]
    : [await createDoor({ ...common, public: publicRooms }), await createDoor({ ...common, admin: adminRooms })]

  try {
    await beforeListening?.(rooms)
    const url = await doors[0]!.listen(config.port, config.host)
    const adminUrl = shared ? url : await doors[1]!.listen(config.adminPort!, config.host)
    turns.start()
    erasure.start()
    lastUse.start()
    return { url, adminUrl, ...rooms, drain }
  } catch (error) {
    await store.close()
    throw error
  }

  async function drain(): Promise<void> {
    draining = true
    const closed = Promise.all(doors.map((door) => door.close()))
    await turns.drain(config.drainSeconds * 1000)
    await closed
    await erasure.stop()
    await lastUse.stop()
    await models.close()
    await store.close()
  }
}
