/**
 * Listens for changes by other processes, so that cached agents, keys and providers are reloaded immediately. A lost notification delays
 * this by a second at most, because nothing is cached for longer.
 */
import pg from 'pg'
import { clientOptions, hangUp } from './connections.ts'
import type { Log } from './connections.ts'

/** The name of the channel. */
export const changed = 'turnkeep_changed'

// Twice within the second that cached values live.
const reconnectMs = 500
// No request waits for it, so a busy start may take its time.
const connectMs = 5_000

export type Listener = { close(): Promise<void> }

/** Calls `onChange` for each change, and after each time in which one may have been missed. Never rejects; continues until it is closed. */
export function listen(url: string, onChange: () => void, log: Log): Listener {
  let client: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined
  let closed = false
  let wasThere = true

  async function connect(): Promise<void> {
    const fresh = new pg.Client({ ...clientOptions(url), connectionTimeoutMillis: connectMs })
    client = fresh
    fresh.on('notification', onChange)
    // After it is connected, any failure ends the connection. Before that, `connect` rejects.
    fresh.on('error', () => undefined)
    fresh.on('end', () => reconnectLater(fresh))
    try {
      await fresh.connect()
      await fresh.query(`listen ${changed}`)
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
    timer = setTimeout(() => void connect(), reconnectMs)
  }

  void connect()
  return {
    async close() {
      closed = true
      clearTimeout(timer)
      if (client) hangUp(client)
    },
  }
}
