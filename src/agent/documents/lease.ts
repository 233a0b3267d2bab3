/** The lease of a document that is being indexed. It fences every write, and each renewal reports the progress. */
import type { Logger } from 'pino'
import type { ClaimedDocument } from '../../store/queries/knowledge/indexing.ts'
import type { Store } from '../../store/store.ts'
import { ClaimLost } from './index-document.ts'
import type { Claim } from './index-document.ts'

type LeaseOptions = { store: Pick<Store, 'write'>; log: Pick<Logger, 'warn'>; leaseMs: number; stopping: AbortSignal }

// Two renewals in a row can fail before the lease ends.
const renewalsPerLease = 3
// Often enough for an operator who watches the progress; each report is a write.
const progressEveryMs = 1_000

/** Renews the lease until `end` is called. `claim.signal` aborts when another process has the document, or with `stopping`. */
export function keepLease(
  { id: documentId, fence }: ClaimedDocument,
  { store, log, leaseMs, stopping }: LeaseOptions,
): { claim: Claim; spentMs(): number; end(): Promise<void> } {
  const renewEveryMs = leaseMs / renewalsPerLease
  const lost = new AbortController()
  let progress = 0
  let spentMs = 0
  let reportedProgress = 0
  let renewedAt = performance.now()
  let renewal: Promise<void> | undefined

  async function renew(): Promise<void> {
    ;[reportedProgress, renewedAt] = [progress, performance.now()]
    try {
      if (!(await store.write.reportProgress({ documentId, fence, progress, leaseMs }))) lost.abort(new ClaimLost())
    } catch (error) {
      // The next renewal may succeed. If the lease expires first, the fence rejects further writes.
      log.warn({ documentId, err: error }, 'could not renew the lease of a document')
    }
  }

  const timer = setInterval(
    () => {
      const isDue = progress !== reportedProgress || performance.now() - renewedAt >= renewEveryMs
      if (isDue) renewal ??= renew().finally(() => (renewal = undefined))
    },
    Math.min(progressEveryMs, renewEveryMs),
  )
  return {
    claim: {
      signal: AbortSignal.any([lost.signal, stopping]),
      progress: (share) => void (progress = Math.round(share * 100)),
      spent: (cpuMs) => void (spentMs += cpuMs),
    },
    spentMs: () => spentMs,
    async end() {
      clearInterval(timer)
      await renewal
    },
  }
}
