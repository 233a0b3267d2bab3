/**
 * One metrics page for several workers, whichever of them is asked for it. If a worker does not answer in time, its last known counters are
 * used. The counters of workers that have died are kept, because a counter that falls would look like a restart of the whole service.
 */
import { addUp, counted, createRestartCount, merge } from '../observability/metrics.ts'
import type { Figures } from '../observability/metrics.ts'
import { within } from '../deadline.ts'

/** A worker that can be asked: `ask` sends the request, and `heard` receives its answer. */
export type Askable = { number: number; ask(id: number): void }

export type SharedPage = {
  /** The Prometheus text format. */
  write(workers: Askable[]): Promise<string>
  /** `id` of the request that is answered, or null for an unsolicited report. */
  heard(number: number, figures: Figures, id: number | null): void
  /** A worker has ended. */
  ended(number: number): void
  /** Another worker takes its place. */
  restarted(): void
}

// Above the half second that a worker waits for its store.
const answerDeadlineMs = 2_000
// The maximum number of dead workers kept apart. Beyond it their counters are merged, so a worker that crashes again and again does not
// fill the memory.
const maxDistance = 8

export function createSharedPage(): SharedPage {
  const restarts = createRestartCount()
  const lastOf = new Map<number, Figures>()
  const dead: Figures[] = []
  const waiting = new Map<number, () => void>()
  let merging = false
  let asked = 0

  /** Returns whether there was an answer in time. */
  async function answered({ ask }: Askable): Promise<boolean> {
    const id = (asked += 1)
    const answer = Promise.withResolvers<boolean>()
    waiting.set(id, () => answer.resolve(true))
    ask(id)
    return within(answerDeadlineMs, answer.promise, () => false).finally(() => waiting.delete(id))
  }

  async function mergeDead(): Promise<void> {
    if (dead.length <= maxDistance || merging) return
    merging = true
    const apart = dead.slice()
    try {
      const together = await merge(apart)
      dead.splice(0, apart.length, together)
    } finally {
      merging = false
    }
  }

  return {
    async write(workers) {
      const answers = await Promise.all(workers.map(answered))
      const present = new Set(workers.filter((_, index) => answers[index]).map(({ number }) => number))
      const own = await restarts.figures()
      // Read at one moment, so each counter is included once, either from the worker or from the dead ones.
      const figures = [...lastOf].map(([number, last]) => (present.has(number) ? last : counted(last)))
      const text = await addUp([own, ...dead, ...figures])
      await mergeDead()
      return text
    },
    heard(number, figures, id) {
      lastOf.set(number, figures)
      if (id !== null) waiting.get(id)?.()
    },
    ended(number) {
      const last = lastOf.get(number)
      if (last) dead.push(counted(last))
      lastOf.delete(number)
    },
    restarted: () => restarts.add(),
  }
}
