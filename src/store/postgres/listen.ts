/**
 * Listens for what other processes notify: changes, so that cached agents, keys and providers are reloaded immediately, and messages about
 * running turns. A notification may be lost. Then changes arrive a second late, because nothing is cached for longer, and the messages are
 * repeated or replaced by reads of the store (src/turn/followed-turns.ts).
 */
import pg from 'pg'
import { clientOptions, hangUp } from './connections.ts'
import type { Log } from './connections.ts'
import { lockOfProcess } from './process-watch.ts'

/** The names of the channels. */
export const changed = 'turnkeep_changed'
export const ofTurns = 'turnkeep_turns'

// Twice within the second that cached values live.
const reconnectMs = 500
// No request waits for it, so a busy start may take its time.
const connectMs = 5_000

export type Listener = {
  /** The session that listens and holds the lock of this process; undefined while it is not connected. */
  pid(): number | undefined
  close(): Promise<void>
}
export type Notified = {
  /** Called for each change, and after each time in which one may have been missed. */
  onChange(): void
  /** Called with each message about a running turn, those of this process included. */
  onMessage(message: string): void
}

/** Never rejects; continues until it is closed. */
export function listen(url: string, { onChange, onMessage }: Notified, log: Log): Listener {
  let client: pg.Client | undefined
  let pid: number | undefined
  let timer: NodeJS.Timeout | undefined
  let closed = false
  let wasThere = true

  async function connect(): Promise<void> {
    const fresh = new pg.Client({ ...clientOptions(url), connectionTimeoutMillis: connectMs })
    client = fresh
    fresh.on('notification', ({ channel, payload }) => (channel === ofTurns ? onMessage(payload ?? '') : onChange()))
    // After it is connected, any failure ends the connection. Before that, `connect` rejects.
    fresh.on('error', () => undefined)
    fresh.on('end', () => reconnectLater(fresh))
    try {
      await fresh.connect()
      await fresh.query(`listen ${changed}; listen ${ofTurns}`)
      pid = Number((await fresh.query(lockOfProcess)).rows[0].pid)
      wasThere = true
      onChange()
    } catch (error) {
      if (wasThere && !closed)
        log.warn(
          { cause: String(error) },
          'lost the connection that listens for changes by other processes, reconnecting; changes may arrive late',
        )
      wasThere = false
      fresh.end().catch(() => undefined)
      reconnectLater(fresh)
    }
  }

  function reconnectLater(ended: pg.Client): void {
    if (closed || ended !== client) return
    client = undefined
    pid = undefined
    timer = setTimeout(() => void connect(), reconnectMs)
  }

  void connect()
  return {
    pid: () => pid,
    async close() {
      closed = true
      clearTimeout(timer)
      if (client) hangUp(client)
    },
  }
}
