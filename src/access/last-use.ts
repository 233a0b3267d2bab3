/**
 * Tracks when each API key was last used: kept in memory and written once a minute for all keys in one write, so that no request waits for
 * it. A process that is killed loses what it has not written yet.
 */
import type { Logger } from 'pino'
import type { Store } from '../store/store.ts'

export interface LastUse {
  saw(apiKeyId: string): void
  start(): void
  /** Stops the timer and writes what is left. Never rejects. */
  stop(): Promise<void>
}

export type LastUseOptions = { store: Pick<Store, 'write'>; monotonicMs: () => number; log: Logger; writeEveryMs?: number }

export function createLastUse({ store, monotonicMs, log, writeEveryMs = 60_000 }: LastUseOptions): LastUse {
  let seen = new Map<string, number>()
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()

  async function write(): Promise<void> {
    if (seen.size === 0) return
    const uses = seen
    seen = new Map()
    try {
      await store.write.touchApiKeys([...uses].map(([id, at]) => ({ id, agoMs: monotonicMs() - at })))
    } catch (error) {
      log.warn({ err: error }, 'could not store the last use of API keys, retrying in a minute')
      for (const [id, at] of uses) if (!seen.has(id)) seen.set(id, at)
    }
  }

  const next = (): Promise<void> => (writing = writing.then(write))

  return {
    saw: (apiKeyId) => void seen.set(apiKeyId, monotonicMs()),
    start() {
      timer = setInterval(() => void next(), writeEveryMs)
    },
    async stop() {
      clearInterval(timer)
      await next()
    },
  }
}
