/**
 * The indexer: takes documents from the queue, one at a time in each process and in turns by owner (`knowledge.turns`), and
 * makes them searchable. A claim is a lease that is renewed while the document is indexed, and it fences every write: only one process indexes
 * a document, and if that process dies another one starts over. Also deletes content that is no longer used, in small batches. See docs/decisions/0020-documents.md.
 */
import { hostname } from 'node:os'
import type { Logger } from 'pino'
import type { ClaimedDocument } from '../../store/queries/knowledge/indexing.ts'
import { StoreUnavailable } from '../../store/store.ts'
import type { Store } from '../../store/store.ts'
import { createExtractor } from './extractor.ts'
import type { ExtractorOptions } from './extractor.ts'
import { ClaimLost, indexDocument } from './index-document.ts'
import { keepLease } from './lease.ts'
import { DocumentRefused } from './limits.ts'
import { ReadingBrokenOff } from './reading-process.ts'
import type { Embeddings } from '../models/embeddings.ts'
import type { Guard } from '../guard/guard.ts'
import { within } from '../../deadline.ts'
import { confinement } from '../../process/confinement.ts'

export interface Indexer {
  start(): void
  /** Resolves within a second. A document that is being indexed is released for another process or the next start. */
  stop(): Promise<void>
}

export type IndexerOptions = {
  store: Store
  guard: Pick<Guard, 'fetch'>
  embeddings: Embeddings
  log: Pick<Logger, 'info' | 'warn' | 'error'>
  /** Different times and limits, for tests. */
  settings?: Partial<IndexerSettings>
}

export type IndexerSettings = {
  leaseMs: number
  /** Milliseconds to wait when there is nothing to do: the first wait and the longest. */
  restMs: number
  maxRestMs: number
  /** Milliseconds before each retry when an embedding provider or the URL of a document is temporarily unavailable. */
  retriesMs: { embedding: number[]; address: number[] }
  extractor: Omit<ExtractorOptions, 'log'>
  /** CPU milliseconds in which the documents of one owner are read within an hour. */
  cpuMs: number
}

const defaults: IndexerSettings = {
  // The same as for a turn, so that the next start does not wait longer for the claims of a dead process.
  leaseMs: 15_000,
  // A document added through this process wakes the indexer. Polling finds those of other processes when a connection pooler blocks
  // notifications.
  restMs: 2_000,
  maxRestMs: 10_000,
  // Long enough for a provider to restart or to accept requests again after a minute: unlike with a turn, no caller is waiting.
  retriesMs: { embedding: [1_000, 4_000, 15_000, 30_000, 60_000], address: [1_000, 5_000] },
  extractor: {},
  // As TURNKEEP_DOCUMENT_CPU_MINUTES.
  cpuMs: 30 * 60_000,
}

// Number of chunks deleted in one write, for which the writes of turns have to wait.
const clearedAtOnce = 64
// Deletions are cleaned up immediately; uploaded content that was never used is looked for this often.
const clearEveryMs = 60_000
// Number of chunks that get new terms in one write, a few milliseconds of work. After an upgrade there may be a hundred thousand.
const renewedAtOnce = 16
const renewEveryMs = 60_000
// Changes come in bursts, most of them do not concern documents, and every process sees them: wait until a burst is over.
const gatherMs = 50
const reportAfterMs = 3_000
// The owners whose turn is remembered. With more owners, those before count as not served.
const maxServed = 1_000
// A step that does not react to the abort is abandoned after this time; its lease expires.
const stopMs = 900

export function createIndexer({ store, guard, embeddings, log, settings }: IndexerOptions): Indexer {
  const { leaseMs, restMs, maxRestMs, retriesMs, cpuMs, extractor: extractorOptions } = { ...defaults, ...settings }
  const extractor = createExtractor({ ...extractorOptions, log })
  const holder = `${hostname()} ${process.pid}`
  const stopping = new AbortController()
  let wake = (): void => undefined
  let woken = false
  let running: Promise<void> | undefined
  let clearAt = 0
  let renewAt = 0
  let served: string[] = []
  let reporting: NodeJS.Timeout | undefined

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

  /** Indexes one document, deletes one batch and renews one. Returns whether there was anything to do, in which case there may be more. */
  async function attempt(): Promise<boolean> {
    try {
      const indexed = await indexNext()
      const cleared = await clearSome()
      return (await renewSome()) || cleared || indexed
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) log.error({ err: error }, 'document indexer failed: internal error')
      // StoreUnavailable is not logged, because the store logs its own outages.
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
    const done = await store.write.clearKnowledge({ limit: clearedAtOnce })
    if (done === 0) clearAt = performance.now() + clearEveryMs
    return done > 0
  }

  /** Documents that a previous version has indexed, and on PostgreSQL may still index beside this process. */
  async function renewSome(): Promise<boolean> {
    if (stopping.signal.aborted || performance.now() < renewAt) return false
    const startedAt = performance.now()
    const done = await store.write.renewTerms({ limit: renewedAtOnce })
    if (done === 0) renewAt = performance.now() + renewEveryMs
    // Half of the time of the store's writer at most.
    else await rest(performance.now() - startedAt, { mayWake: false })
    return done > 0
  }

  async function indexNext(): Promise<boolean> {
    if (stopping.signal.aborted) return false
    const document = await store.write.claimDocument({ holder, leaseMs, served })
    if (!document) return false
    served = [...served.filter((ownerId) => ownerId !== document.ownerId), document.ownerId].slice(-maxServed)
    const startedAt = performance.now()
    const lease = keepLease(document, { store, log, leaseMs, stopping: stopping.signal })
    const ids = { documentId: document.id, agentId: document.agentId }
    try {
      const { chunks } = await indexDocument(document, lease.claim, { store, extractor, guard, embeddings, retriesMs })
      log.info({ ...ids, chunks, ms: Math.round(performance.now() - startedAt) }, 'document indexed')
    } catch (error) {
      // A renewal after the release would take the lease again.
      await lease.end()
      await endFailed(document, error, { store, log, isStopping: stopping.signal.aborted })
    } finally {
      await lease.end()
      extractor.release()
      clearAt = 0
      // `knowledge.bounded`. If the store is unavailable, the time is not counted.
      if (lease.spentMs() > 0) await store.write.spendIndexing({ ownerId: document.ownerId, ms: lease.spentMs(), limitMs: cpuMs })
    }
    return true
  }

  return {
    start() {
      running ??= run()
      // Later than the start itself, which a few milliseconds of a shell should not delay.
      reporting = setTimeout(() => void reportConfinement(log), reportAfterMs).unref()
    },
    async stop() {
      clearTimeout(reporting)
      stopping.abort(new ClaimLost())
      wake()
      if (running) await within(stopMs, running, () => undefined)
      await extractor.close()
    },
  }
}

/** Says at each start how the process that reads documents is confined. */
async function reportConfinement(log: IndexerOptions['log']): Promise<void> {
  const { command, words } = await confinement()
  if (command.length > 0) log.info({ confinement: words }, 'documents are read in a confined process')
  else log.warn({ reason: words }, 'documents are read in a process that the system does not confine: see docs/knowledge.md')
}

type Ending = Pick<IndexerOptions, 'store' | 'log'> & { isStopping: boolean }

/** Stores and logs why a document was not indexed. Stores nothing if it will be indexed again. */
async function endFailed({ id, agentId, fence }: ClaimedDocument, error: unknown, { store, log, isStopping }: Ending): Promise<void> {
  const ids = { documentId: id, agentId }
  if (isStopping) {
    // Setting the lease to 0 lets another process claim the document immediately. If this write fails, the lease expires.
    await store.write.reportProgress({ documentId: id, fence, progress: 0, leaseMs: 0 })
    return log.info(ids, 'document indexing interrupted: the process is stopping')
  }
  if (error instanceof ClaimLost)
    return log.info(ids, 'document indexing canceled: the document was replaced, deleted or claimed by another process')
  // The lease expires and the document is indexed again, up to three times in total.
  if (error instanceof StoreUnavailable) return log.warn({ ...ids, err: error }, 'document indexing interrupted: store unavailable')
  if (error instanceof ReadingBrokenOff) return log.warn({ ...ids, err: error }, 'document indexing interrupted: the reading process ended')
  const refused = error instanceof DocumentRefused
  if (refused) log.info({ ...ids, ...error.logged }, 'document rejected')
  else log.error({ ...ids, err: error }, 'document indexing failed: internal error')
  const reason = refused ? error.message : 'Indexing failed because of an internal error. See the server log for details.'
  await store.write.failDocument({ documentId: id, fence, reason })
}
