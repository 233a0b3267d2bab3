/**
 * Erases conversations on request of the operator, and by age if `TURNKEEP_RETENTION_DAYS` is set (`erase`). Erased text is also removed
 * from the files of the store. Logs IDs and counts, never text or the name of an end user.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Actor } from '../store/queries/audit.ts'
import type { Erasure as Asking, IdleConversation } from '../store/queries/erasure.ts'
import { noFailpoints } from '../failpoints.ts'
import type { Failpoints } from '../failpoints.ts'
import { StoreUnavailable } from '../store/store.ts'
import type { Store } from '../store/store.ts'

export type Erased = { conversations: number; turns: number; messages: number }

export type EraseOutcome =
  /** What was erased. All zeros if there was nothing to erase. */
  | ({ kind: 'erased' } & Erased)
  | { kind: 'not_found' }
  /** A turn is running: nothing was erased. */
  | { kind: 'busy' }
  | { kind: 'unavailable' }

export interface Erasure {
  eraseConversation(conversationId: string, actor: Actor): Promise<EraseOutcome>
  /** Erases with all keys of the agent. `not_found` if the agent never existed. */
  eraseEndUser(endUser: { agentId: string; externalUserId: string }, actor: Actor): Promise<EraseOutcome>
  /** Runs one round of maintenance: old conversations, old journals, remnants in files. Never rejects. */
  sweep(): Promise<void>
  start(): void
  /** Stops the timer, and resolves when no round is running. A round that is running ends after its current step. */
  stop(): Promise<void>
}

export type ErasureOptions = {
  store: Pick<Store, 'read' | 'write' | 'writeAs' | 'forget'>
  /** Conversations that were idle for longer are erased. Undefined: they are kept. */
  retentionDays: number | undefined
  /** `trace.stored`: traces of turns that are older are deleted. 0: all of them. */
  traceDays: number
  failpoints?: Failpoints
  log: Logger
  newId(prefix: 'aud'): string
}

const dayMs = 24 * 60 * 60 * 1000
// Ages are set in days, so an hour is precise enough.
const sweepEveryMs = 60 * 60 * 1000
// Each batch takes a few milliseconds of the writer, so that turns are admitted and settled between two batches.
const conversationsEach = 20
const rowsEach = 200
// Listings finish within milliseconds. For longer readers (verify, a backup), the next round tries again.
const forgetTries = 50
const forgetPauseMs = 20

export function createErasure({ store, retentionDays, traceDays, failpoints = noFailpoints, log, newId }: ErasureOptions): Erasure {
  let timer: NodeJS.Timeout | undefined
  let round: Promise<void> = Promise.resolve()
  const stop = new AbortController()
  const stopping = stop.signal

  async function erase(conversationIds: string[], actor: Actor, of: Pick<Asking, 'endUser' | 'idleMs'> = {}): Promise<EraseOutcome> {
    const entryIds = Array.from({ length: conversationIds.length + (of.endUser ? 1 : 0) }, () => newId('aud'))
    const outcome = await store.writeAs({ ...actor, entryIds }).eraseConversations({ conversationIds, ...of })
    if (outcome.kind === 'busy') return outcome
    const { conversationIds: erased, turns, messages, limitsOf } = outcome
    if (erased.length > 0 || limitsOf !== undefined) {
      log.info({ by: actor.who, request_id: actor.requestId, conversation_ids: erased, turns, messages }, 'conversations erased')
      if (actor.who !== 'server') await forget('wal')
    }
    return { kind: 'erased', conversations: erased.length, turns, messages }
  }

  async function forget(depth: 'wal' | 'vacuum'): Promise<void> {
    await failpoints.reach('forget.before')
    await untilForgotten(depth)
    await failpoints.reach('forget.after')
  }

  async function untilForgotten(depth: 'wal' | 'vacuum'): Promise<void> {
    for (let tries = 0; tries < forgetTries; tries++) {
      const outcome = await store.forget(depth)
      if (outcome === 'too_large')
        log.warn('the database is too large to rebuild while the server runs; see docs/decisions/0012-erasure.md for what remains on disk')
      if (outcome === 'forgotten') return
      // If the file is too large to rewrite, the log is still cleared.
      if (outcome === 'too_large') depth = 'wal'
      else await sleep(forgetPauseMs)
    }
    log.warn('a reader still uses the database log from before an erasure; the next round removes it')
  }

  async function sweepNow(): Promise<void> {
    if (retentionDays !== undefined) await eraseIdle(retentionDays * dayMs)
    await untilNone(() => store.write.clearExpired({ limit: rowsEach }))
    await untilNone(() => store.write.clearTraces({ olderThanMs: traceDays * dayMs, limit: rowsEach }))
    await untilNone(() => store.write.clearEvents({ limit: rowsEach }))
    // It takes up to a minute, and the first round after the next start does it.
    if (stopping.aborted) return
    await forget('vacuum')
  }

  async function eraseIdle(idleMs: number): Promise<void> {
    let after: IdleConversation | undefined
    await untilNone(async () => {
      const found = await store.read.findIdleConversations({ idleMs, limit: conversationsEach, after })
      after = found.at(-1)
      // Conversations that were used again meanwhile are left to a later round.
      if (found.length > 0)
        await erase(
          found.map(({ id }) => id),
          { who: 'server', requestId: null },
          { idleMs },
        )
      return found.length
    })
  }

  /** Runs batch after batch until one finds nothing or the process ends. */
  async function untilNone(takeBatch: () => Promise<number>): Promise<void> {
    for (let found = 1; found > 0;) found = stopping.aborted ? 0 : await takeBatch()
  }

  const unavailable = (error: unknown): EraseOutcome => {
    if (error instanceof StoreUnavailable) return { kind: 'unavailable' }
    throw error
  }

  function sweep(): Promise<void> {
    round = round.then(sweepNow).catch((error: unknown) => log.error({ err: error }, 'erasure round failed, retrying in the next round'))
    return round
  }

  return {
    async eraseConversation(conversationId, actor) {
      try {
        if (!(await store.read.conversationExists(conversationId))) return { kind: 'not_found' }
        return await erase([conversationId], actor)
      } catch (error) {
        return unavailable(error)
      }
    },
    async eraseEndUser({ agentId, externalUserId }, actor) {
      try {
        const ids = await store.read.findConversationsOfEndUser(agentId, externalUserId)
        return ids ? await erase(ids, actor, { endUser: { agentId, externalUserId } }) : { kind: 'not_found' }
      } catch (error) {
        return unavailable(error)
      }
    },
    sweep,
    start() {
      timer = setInterval(() => void sweep(), sweepEveryMs)
      void sweep()
    },
    async stop() {
      stop.abort()
      clearInterval(timer)
      await round
    },
  }
}
