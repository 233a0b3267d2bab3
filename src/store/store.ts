/**
 * The interface of the store and the guarantees of every backend. Only this module contains SQL; sqlite/ and postgres/ implement the
 * interface. What must never happen is also forbidden by a constraint in the schema: one_turn_per_key, one_running_turn_per_conversation,
 * one_charge_per_turn, balance_never_negative, running_has_lease. Times are epoch milliseconds by the store's clock (`clock`), amounts are
 * in 10⁻⁸ USD.
 */
import type { Reads } from './queries/reads.ts'
import type { Author } from './queries/audit.ts'
import type { Writes } from './queries/writes.ts'
import type { Methods } from './methods.ts'
import type {
  Admission,
  AdmissionOutcome,
  Admitted,
  Advance,
  AdvanceOutcome,
  Claims,
  Lease,
  Settlement,
  SettlementOutcome,
  TurnFailure,
  TurnFailureOutcome,
} from './turn-records.ts'

/**
 * The store is unavailable (disk full, closed, connection lost). An item that is sent again never takes effect twice.
 *
 * On SQLite, nothing of the item was stored: its transaction was rolled back, or never started. On PostgreSQL, the connection may break after
 * the commit, so the outcome may be unknown. Sent again, an item whose first commit succeeded returns the same outcome: an admission finds
 * its turn by its request ID, a settlement by the ID of its reply, a failure by fence and state, and a journal entry is stored once.
 */
export class StoreUnavailable extends Error {}

/** Each item of a batch succeeds or fails by itself. `error` is a StoreUnavailable or an internal error. */
export type Each<Outcome> = Outcome | { kind: 'error'; error: Error }
/** Nothing was done for this item, because the answer to the batch would be too large. Send it again. At least one item gets an outcome. */
export type Later = { kind: 'later' }
/** `index`: the position of the item in its batch. */
export type OnEarly = (index: number, outcome: Admitted) => void

/** Units of a rate window that are requested together. */
export type WindowSpend = { apiKeyId: string; limit: number; windowSeconds: number; units: number }
/** `accepted`: how many units of this call were accepted. `spent`: all units of the window so far. Times are by the store's clock. */
export type WindowSpent = { accepted: number; spent: number; endsAtMs: number; endsInMs: number }

/** A store that several processes share, so it can also store their rate windows. */
export interface SharedStore extends Store {
  /**
   * Spends each item in one atomic step, with at most one item per key. Deliberately not durable: a crash of the database may reset the
   * windows.
   */
  spendWindows(items: WindowSpend[]): Promise<WindowSpent[]>
}

/** What a process knows about the others that share its store. */
export type ProcessWatch = {
  /**
   * Compares the processes with those of the last call. `changed`: one has ended or started, so every process renews its leases now.
   * `endedAt`: one has ended, or this one has just started, by the store's clock; undefined if the connection of this process was lost
   * meanwhile, because all others may have been lost with it.
   */
  look(): Promise<{ changed: boolean; endedAt: number | undefined }>
  /**
   * Ends the leases that expire before `before`, unless a process of an older version is connected: it does not renew its leases when
   * another process ends.
   */
  endLeases(before: number): Promise<void>
}

export interface Store {
  /**
   * Each item is atomic. Items may share a commit; their outcomes are returned after the commit is durable.
   *
   * `onEarly` (`turn.durable-first`): called at most once per item, when the statements of its transaction have succeeded and their commit
   * is not durable yet. If this transaction commits in time, the same object is returned as the outcome. Otherwise what was reported early
   * does not hold: another transaction has decided, or the item has failed, and its turn may still be stored (`unavailable.unknown`).
   */
  admitMany(items: Admission[], onEarly?: OnEarly): Promise<(Each<AdmissionOutcome> | Later)[]>
  settleMany(items: Settlement[]): Promise<Each<SettlementOutcome>[]>
  failMany(items: TurnFailure[]): Promise<Each<TurnFailureOutcome>[]>
  /**
   * Each stores its journal entries and extends its hold, both or neither. An item that its owner's balance does not cover does not affect
   * the others.
   */
  advanceMany(items: Advance[]): Promise<Each<AdvanceOutcome>[]>
  /** Renews leases for `leaseMs`. Returns those that this process no longer holds. */
  renewLeases(leases: Lease[], leaseMs: number): Promise<Lease[]>
  /** Ends leases immediately so that another process may claim the turns (drain). */
  releaseLeases(leases: Lease[]): Promise<void>
  /**
   * Claims turns whose lease has expired: attempt + 1, a new fence, a new lease. A turn that had three attempts is failed instead. `fresh`
   * takes up to `limit` turns with one attempt; `suspect` takes one turn with more attempts, to run it alone. Turns in `running` belong to
   * this process and are never claimed.
   */
  claimOrphans(claim: { which: 'fresh' | 'suspect'; limit: number; leaseMs: number; running: string[] }): Promise<Claims>

  /** Reads outside the turn path, each in one snapshot: queries/reads.ts. */
  read: Methods<Reads>
  /** Writes outside the turn path, each in one transaction: queries/writes.ts. */
  write: Methods<Writes>
  /** Like `write`. If something changed, its audit entries are stored by the same transaction. */
  writeAs(author: Author): Methods<Writes>
  /**
   * `erase`: removes what was erased from the store's own files. `wal` checkpoints the log, which is fast and leaves rare remnants;
   * `vacuum` rewrites the file, which removes those, too. `busy`: a reader still needs the data, so try again later. `too_large`: rewriting
   * the file would block the store for too long, so the operator has to decide.
   */
  forget(depth: 'wal' | 'vacuum'): Promise<'forgotten' | 'busy' | 'too_large'>
  /**
   * Calls the listener after every write that changes what processes cache (agents, keys, providers). Never misses a write through this
   * store.
   */
  onChange(listener: () => void): void
  /**
   * Messages between all processes that share the store, the sender included. They are not stored, and any of them may be lost. Undefined if
   * only one process has the store, or if they cannot be sent (behind a connection pooler). A message has at most 7,999 bytes.
   */
  messages: { send(messages: string[]): Promise<void>; onMessage(listener: (message: string) => void): void } | undefined
  /**
   * What is known about the other processes that share the store: src/store/postgres/process-watch.ts. Undefined if only one process has the
   * store.
   */
  processes: ProcessWatch | undefined
  /** Resolves if the store can read and write. Otherwise rejects with StoreUnavailable. */
  ping(): Promise<void>
  close(): Promise<void>
}
