/**
 * Hears of changes that other processes made, so that what is kept of agents, keys and providers is read anew at once. A lost notification
 * costs a second and never more: nothing is kept for longer than that anyway.
 */
import pg from 'pg'
import { clientOptions, hangUp } from './connections.ts'
import type { Log } from './connections.ts'

/** The channel's name. */
export const changed = 'turnkeep_changed'

// Twice within the second that everything kept lives for.
const reconnectMs = 500
// Nobody waits for it, so a busy start is given its time.
const connectMs = 5_000

export type Listener = { close(): Promise<void> }

/** `onChange` is called for each change, and after each time in which one may have been missed. Never rejects; goes on until it is closed. */
export function listen(url: string, onChange: () => void, log: Log): Listener {
  let client: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined
  let closed = false
  let wasThere = true

  async function connect(): Promise<void> {
    const fresh = new pg.Client({ ...clientOptions(url), connectionTimeoutMillis: connectMs })
    client = fresh
    fresh.on('notification', onChange)
    // Once it is connected, whatever happens to it ends it; before that, `connect` rejects.
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
