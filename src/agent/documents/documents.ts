/**
 * The indexer: takes documents that were put in from the queue, one at a time in each process, and makes them found. A claim is a lease that is
 * renewed while it works and fences every write, so that of two processes one indexes, and what a dead one began the next one begins anew.
 * Also takes out, little by little, what nothing shows any more. Decision 0020.
 */
import { hostname } from 'node:os'
import type { Logger } from 'pino'
import type { ClaimedDocument } from '../../store/queries/knowledge/indexing.ts'
import { StoreUnavailable } from '../../store/store.ts'
import type { Store } from '../../store/store.ts'
import { createExtractor } from './extractor.ts'
import type { ExtractorOptions } from './extractor.ts'
import { ClaimLost, indexDocument } from './index-document.ts'
import type { Claim } from './index-document.ts'
import { DocumentRefused } from './limits.ts'
import { ReadingBrokenOff } from './reading-process.ts'
import type { Embeddings } from '../models/embeddings.ts'
import type { Guard } from '../guard/guard.ts'

export interface Indexer {
  start(): void
  /** Resolves within a second; what was being indexed is given up for another process, or the next start. */
  stop(): Promise<void>
}

export type IndexerOptions = {
  store: Store
  guard: Pick<Guard, 'fetch'>
  embeddings: Embeddings
  log: Pick<Logger, 'info' | 'warn' | 'error'>
  /** Other times and limits than the named ones, for tests. */
  settings?: Partial<IndexerSettings>
}

export type IndexerSettings = {
  leaseMs: number
  /** The first rest when there is nothing to do, and the longest. */
  restMs: number
  maxRestMs: number
  /** Before the tries of a provider of embeddings, and of an address, that fail for the moment. */
  retriesMs: { embedding: number[]; address: number[] }
  extractor: Omit<ExtractorOptions, 'log'>
}

const defaults: IndexerSettings = {
  // As a turn's: the next start waits no longer for what a dead process held.
  leaseMs: 15_000,
  // Whoever puts a document in through this process wakes it; this is for what other processes put in behind a pooler.
  restMs: 2_000,
  maxRestMs: 10_000,
  // A provider that restarts or has enough for a minute is waited for; nobody sits before it as before a turn.
  retriesMs: { embedding: [1_000, 4_000, 15_000, 30_000, 60_000], address: [1_000, 5_000] },
  extractor: {},
}

// A third of the lease may fail once and once more.
const renewalsPerLease = 3
// What somebody who looks at the progress notices; each is a write.
const progressEveryMs = 1_000
// Chunks that are taken out by one write, while turns wait for theirs.
const clearedAtOnce = 64
// What a deletion leaves is cleared at once; contents that nobody took up are looked for this often.
const clearEveryMs = 60_000
// Changes come in bursts, and most are none of documents: they are looked at together, by all processes.
const gatherMs = 50
// A step that does not hear that all is ended is not waited for: the lease ends anyway.
const stopMs = 900

export function createIndexer({ store, guard, embeddings, log, settings }: IndexerOptions): Indexer {
  const { leaseMs, restMs, maxRestMs, retriesMs, extractor: extractorOptions } = { ...defaults, ...settings }
  const extractor = createExtractor({ ...extractorOptions, log })
  const holder = `${hostname()} ${process.pid}`
  const stopping = new AbortController()
  let wake = (): void => undefined
  let woken = false
  let running: Promise<void> | undefined
  let clearAt = 0

  store.onChange(() => {
    woken = true
    clearAt = 0
    wake()
  })

  async function run(): Promise<void> {
    for (let pause = restMs; !stopping.signal.aborted;) {
      woken = false
      if (await attempt()) {
        pause = restMs
        continue
      }
      if (!woken) await rest(pause)
      pause = woken ? restMs : Math.min(pause * 2, maxRestMs)
      if (woken) await rest(gatherMs, { mayWake: false })
    }
  }

  /** Answers whether there was something to do, and may be more. */
  async function attempt(): Promise<boolean> {
    try {
      const indexed = await indexNext()
      return (await clearSome()) || indexed
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) log.error({ err: error }, 'document indexer failed: internal error')
      // While the store is away there is nothing to do, and it says so itself.
      return false
    }
  }

  function rest(ms: number, { mayWake = true } = {}): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      timer.unref()
      wake = () => {
        if (!mayWake) return
        clearTimeout(timer)
        resolve()
      }
    })
  }

  async function clearSome(): Promise<boolean> {
    if (performance.now() < clearAt) return false
    const done = await store.write('clearKnowledge', { limit: clearedAtOnce })
    if (done === 0) clearAt = performance.now() + clearEveryMs
    return done > 0
  }

  async function indexNext(): Promise<boolean> {
    if (stopping.signal.aborted) return false
    const document = await store.write('claimDocument', { holder, leaseMs })
    if (!document) return false
    const startedAt = performance.now()
    const { claim, end } = hold(document)
    const told = { documentId: document.id, agentId: document.agentId }
    try {
      const { chunks } = await indexDocument(document, claim, { store, extractor, guard, embeddings, retriesMs })
      log.info({ ...told, chunks, ms: Math.round(performance.now() - startedAt) }, 'document indexed')
    } catch (error) {
      await abandon(document, error)
    } finally {
      await end()
      extractor.release()
      clearAt = 0
    }
    return true
  }

  async function abandon({ id, agentId, fence }: ClaimedDocument, error: unknown): Promise<void> {
    const told = { documentId: id, agentId }
    if (stopping.signal.aborted) {
      // Others may have it at once; where this cannot be said, at the end of the lease.
      await store.write('reportProgress', { documentId: id, fence, progress: 0, leaseMs: 0 })
      return log.info(told, 'document indexing interrupted: the process is stopping')
    }
    if (error instanceof ClaimLost)
      return log.info(told, 'document indexing canceled: the document was replaced, deleted or claimed by another process')
    // Its lease ends, and it is begun anew, three times in all.
    if (error instanceof StoreUnavailable) return log.warn({ ...told, err: error }, 'document indexing interrupted: store unavailable')
    if (error instanceof ReadingBrokenOff)
      return log.warn({ ...told, err: error }, 'document indexing interrupted: the reading process ended')
    const refused = error instanceof DocumentRefused
    if (refused) log.info({ ...told, reason: error.message }, 'document rejected')
    else log.error({ ...told, err: error }, 'document indexing failed: internal error')
    const reason = refused ? error.message : 'Indexing failed because of an internal error. See the server log for details.'
    await store.write('failDocument', { documentId: id, fence, reason })
  }

  /** Keeps the lease and tells the progress until it is ended; `claim.signal` aborts when the document is no longer ours, or all ends. */
  function hold({ id: documentId, fence }: ClaimedDocument): { claim: Claim; end(): Promise<void> } {
    const lost = new AbortController()
    let progress = 0
    let toldProgress = 0
    let warnedAt = performance.now()
    let telling: Promise<void> | undefined

    async function tell(): Promise<void> {
      ;[toldProgress, warnedAt] = [progress, performance.now()]
      try {
        if (!(await store.write('reportProgress', { documentId, fence, progress, leaseMs }))) lost.abort(new ClaimLost())
      } catch (error) {
        // The next one may go through; if the lease ends meanwhile, the fence tells.
        log.warn({ documentId, err: error }, 'could not renew the lease of a document')
      }
    }

    const timer = setInterval(
      () => {
        const due = progress !== toldProgress || performance.now() - warnedAt >= leaseMs / renewalsPerLease
        if (due) telling ??= tell().finally(() => (telling = undefined))
      },
      Math.min(progressEveryMs, leaseMs / renewalsPerLease),
    )
    return {
      claim: {
        signal: AbortSignal.any([lost.signal, stopping.signal]),
        progress: (share) => void (progress = Math.round(share * 100)),
      },
      async end() {
        clearInterval(timer)
        await telling
      },
    }
  }

  return {
    start() {
      running ??= run()
    },
    async stop() {
      stopping.abort(new ClaimLost())
      wake()
      const late = Promise.withResolvers<void>()
      const timer = setTimeout(late.resolve, stopMs)
      await Promise.race([running, late.promise])
      clearTimeout(timer)
      await extractor.close()
    },
  }
}
