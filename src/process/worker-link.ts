/**
 * A worker's end of the wire to its supervisor (workers.ts), and the messages both send. Knows no room. A worker whose supervisor is gone is
 * told to drain, so that none lives on alone.
 */
import { ApiError } from '../errors.ts'
import type { Figures } from '../observability/metrics.ts'

/** What a worker is given when it is started. */
export type Role = {
  /** From 1; the one that takes a dead worker's place has its number too. */
  number: number
  port: number
  adminPort: number | undefined
  makesDemo: boolean
}

/** What a person is shown of a server that is ready. */
export type Ready = { url: string; adminUrl: string; demo: { agentId: string; keyPath: string } | undefined }

export type FromWorker =
  | { kind: 'ready'; ready: Ready }
  /** It cannot start; one line for the operator. */
  | { kind: 'refused'; line: string }
  | { kind: 'page_wanted'; id: number }
  /** `id` of the request; null: the last ones, before it ends. */
  | { kind: 'figures'; id: number | null; figures: Figures }

export type ToWorker = { kind: 'drain' } | { kind: 'figures_wanted'; id: number } | { kind: 'page'; id: number; text: string }

export type WorkerLink = Role & {
  ready(ready: Ready): void
  /** Resolves when the supervisor has it, or is gone. */
  refused(line: string): Promise<void>
  /** What all workers counted. Throws `service_unavailable` where the supervisor does not answer. */
  scrape(): Promise<string>
  lastFigures(figures: Figures): Promise<void>
  /** From now on: what this worker counted, and that it is to drain; at once where that was said before. */
  serve(serving: { figures(): Promise<Figures>; drain(): void }): void
}

// Above what the supervisor waits for its workers, so that one that is stuck does not cost the page.
const pageDeadlineMs = 4_000

/** `text` is the role, as the supervisor wrote it. */
export function openWorkerLink(text: string): WorkerLink {
  const role = JSON.parse(text) as Role
  const pages = new Map<number, (text: string) => void>()
  let serving: { figures(): Promise<Figures>; drain(): void } | undefined
  let draining = false
  let asked = 0

  const drain = (): void => {
    draining = true
    // Before there is anything to drain there is nothing to lose.
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
  // Nobody is there to hear it: the drain has begun.
  process.on('error', () => undefined)

  async function answer(id: number): Promise<void> {
    if (serving) await send({ kind: 'figures', id, figures: await serving.figures() })
  }

  return {
    ...role,
    ready: (ready) => void send({ kind: 'ready', ready }),
    refused: (line) => send({ kind: 'refused', line }),
    async scrape() {
      const id = (asked += 1)
      const page = Promise.withResolvers<string>()
      const timer = setTimeout(() => page.reject(new ApiError('service_unavailable')), pageDeadlineMs)
      pages.set(id, page.resolve)
      void send({ kind: 'page_wanted', id })
      return page.promise.finally(() => {
        clearTimeout(timer)
        pages.delete(id)
      })
    },
    lastFigures: (figures) => send({ kind: 'figures', id: null, figures }),
    serve(given) {
      serving = given
      if (draining) drain()
    },
  }
}

/** Resolves also where nobody is there any more. */
function send(message: FromWorker): Promise<void> {
  return new Promise((resolve) => {
    if (process.connected) process.send!(message, undefined, undefined, () => resolve())
    else resolve()
  })
}
