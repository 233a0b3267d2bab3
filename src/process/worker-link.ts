/**
 * A worker's connection to its supervisor (workers.ts), and the messages of both. A worker whose supervisor has died starts to drain, so
 * that none is left behind.
 */
import type { Logger } from 'pino'
import { ApiError } from '../errors.ts'
import type { Figures } from '../observability/metrics.ts'
import { within } from '../deadline.ts'
import type { StartLines } from './start-lines.ts'

/** What a worker receives when it starts. */
export type Role = {
  /** Counted from 1. The replacement of a dead worker has its number. */
  number: number
  port: number
  adminPort: number | undefined
  makesDemo: boolean
}

/** What is printed when a server is ready. */
export type Ready = { url: string; adminUrl: string; limiter: 'ok' | 'unavailable'; demo: StartLines['demo'] }

export type FromWorker =
  | { kind: 'ready'; ready: Ready }
  /** The worker cannot start; one line for the operator. */
  | { kind: 'refused'; line: string }
  | { kind: 'page_wanted'; id: number }
  /** `id` of the request, or null for the last report before the worker ends. */
  | { kind: 'figures'; id: number | null; figures: Figures }

export type ToWorker = { kind: 'drain' } | { kind: 'figures_wanted'; id: number } | { kind: 'page'; id: number; text: string }

export type WorkerLink = Role & {
  ready(ready: Ready): void
  /** Resolves when the supervisor has received it, or has died. */
  refused(line: string): Promise<void>
  /** The metrics of all workers. Throws `service_unavailable` if the supervisor does not answer. */
  scrape(): Promise<string>
  lastFigures(figures: Figures): Promise<void>
  /**
   * Registers the callbacks for this worker's metrics and for the drain. Calls the latter immediately if the drain was requested before.
   */
  serve(serving: Serving): void
}

type Serving = { figures(): Promise<Figures>; drain(): void; log: Pick<Logger, 'error'> }

// Longer than the supervisor waits for its workers, so that a stuck worker does not prevent the page.
const pageDeadlineMs = 4_000

/** `text` is the role as the supervisor wrote it. */
export function openWorkerLink(text: string): WorkerLink {
  const role = JSON.parse(text) as Role
  const pages = new Map<number, (text: string) => void>()
  let serving: Serving | undefined
  let draining = false
  let asked = 0

  const drain = (): void => {
    draining = true
    // Before the server has started, there is nothing to drain and nothing to lose.
    if (serving) serving.drain()
    else process.exit(0)
  }
  process.on('disconnect', drain)
  process.on('message', (message: ToWorker) => {
    switch (message.kind) {
      case 'drain':
        return drain()
      case 'figures_wanted':
        return void answer(message.id)
      case 'page':
        return pages.get(message.id)?.(message.text)
    }
  })
  // The connection to the supervisor has failed, so there is no one to report to. The `disconnect` event starts the drain.
  process.on('error', () => undefined)

  /** Without an answer, the supervisor uses the last known counters of this worker. */
  async function answer(id: number): Promise<void> {
    try {
      if (serving) await send({ kind: 'figures', id, figures: await serving.figures() })
    } catch (error) {
      serving?.log.error({ err: error }, 'could not collect the metrics of this worker')
    }
  }

  return {
    ...role,
    ready: (ready) => void send({ kind: 'ready', ready }),
    refused: (line) => send({ kind: 'refused', line }),
    async scrape() {
      const id = (asked += 1)
      const page = Promise.withResolvers<string>()
      pages.set(id, page.resolve)
      void send({ kind: 'page_wanted', id })
      const late = (): never => {
        throw new ApiError('service_unavailable')
      }
      return within(pageDeadlineMs, page.promise, late).finally(() => pages.delete(id))
    },
    lastFigures: (figures) => send({ kind: 'figures', id: null, figures }),
    serve(given) {
      serving = given
      if (draining) drain()
    },
  }
}

/** Resolves even if the supervisor has died. */
function send(message: FromWorker): Promise<void> {
  return new Promise((resolve) => {
    if (process.connected) process.send!(message, undefined, undefined, () => resolve())
    else resolve()
  })
}
