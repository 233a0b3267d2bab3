/**
 * A store thread that is started with its first call. Each thread costs megabytes, and many services never request a report. If it could
 * not be opened, the next call starts it again.
 */
import { StoreUnavailable } from '../store.ts'
import type { StoreThread } from './store-thread.ts'

export type LateThread = Pick<StoreThread, 'ask' | 'close'>

export function createLateThread(start: () => StoreThread): LateThread {
  let opening: Promise<StoreThread> | undefined
  let closed = false

  async function open(): Promise<StoreThread> {
    const thread = start()
    try {
      await thread.open()
      return thread
    } catch (error) {
      opening = undefined
      throw error
    }
  }

  return {
    async ask(operation, item) {
      if (closed) throw new StoreUnavailable('the store is closed')
      return (await (opening ??= open())).ask(operation, item)
    },
    async close(limitMs) {
      closed = true
      const thread = await opening?.catch(() => undefined)
      await thread?.close(limitMs)
    },
  }
}
