/**
 * The state of this process for the operator's status page: its versions, whether its dependencies work, and its current and total work.
 */
import type { Config } from '../config/config.ts'
import type { DocumentBacklog } from '../store/queries/knowledge/indexing-queue.ts'
import type { Totals, Watched } from './metrics.ts'

type Health = 'ok' | 'unavailable'

export type Status = {
  version: string
  node: string
  /** Epoch milliseconds by this machine's clock. */
  startedAt: number
  draining: boolean
  store: { kind: 'sqlite' | 'postgres'; state: Health }
  limiter: { kind: 'memory' | 'postgres' | 'redis'; state: Health }
  workers: number
  rssBytes: number
  eventLoopP99Ms: number
  running: number
  maxRunning: number
  waiting: ReturnType<Watched['waiting']>
  /** Of all processes. Undefined: it could not be read. */
  documents: DocumentBacklog | undefined
  counted: Totals
}

/** Read again for each request. */
export type StatusSources = Omit<Watched, 'ready'> & {
  ready(): Promise<{ draining: boolean; store: Health; limiter: Health }>
  version: string
  eventLoopP99Ms(): number
  totals(): Promise<Totals>
}

export function createStatus(config: Config, sources: StatusSources): () => Promise<Status> {
  const storeKind = config.databaseUrl === undefined ? 'sqlite' : 'postgres'
  const ownLimiter = storeKind === 'postgres' ? 'postgres' : 'memory'
  const limiterKind = config.redisUrl === undefined ? ownLimiter : 'redis'

  return async () => {
    const [{ draining, store, limiter }, documents, counted] = await Promise.all([
      sources.ready(),
      sources.documentBacklog(),
      sources.totals(),
    ])
    return {
      version: sources.version,
      node: process.versions.node,
      startedAt: Math.round(performance.timeOrigin),
      draining,
      store: { kind: storeKind, state: store },
      limiter: { kind: limiterKind, state: limiter },
      workers: config.workers,
      rssBytes: process.memoryUsage.rss(),
      eventLoopP99Ms: sources.eventLoopP99Ms(),
      running: sources.running(),
      maxRunning: sources.maxRunning,
      waiting: sources.waiting(),
      documents,
      counted,
    }
  }
}
