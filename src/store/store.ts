/**
 * The store's port: what every backend guarantees. The only room that knows SQL; sqlite/ and postgres/ fulfil this port.
 * What must never happen is also a constraint in the schema, under the rule's name: one_turn_per_key, one_running_turn_per_conversation,
 * one_charge_per_turn, balance_never_negative, running_has_lease. Times are epoch milliseconds by the store's clock (`clock`); amounts 10⁻⁸ USD.
 */
import type { Reads } from './queries/reads.ts'
import type { Author } from './queries/audit.ts'
import type { Writes } from './queries/writes.ts'
import type { Methods } from './methods.ts'
import type {
  Admission,
  AdmissionOutcome,
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
 * The store cannot answer now (disk full, closed, connection lost). Nothing of the item was stored, or its outcome is not known: the same
 * item, asked again, answers what became of it and is never done twice.
 */
export class StoreUnavailable extends Error {}

/** One item of a batch succeeds or fails by itself; `error` is a StoreUnavailable or a fault of ours. */
export type Each<Outcome> = Outcome | { kind: 'error'; error: Error }

/** Units of a rate window that are asked for together. */
export type WindowSpend = { apiKeyId: string; limit: number; windowSeconds: number; units: number }
/** `accepted`: how many of this call's units fitted; `spent`: all units of the window so far. The times are by the store's clock. */
export type WindowSpent = { accepted: number; spent: number; endsAtMs: number; endsInMs: number }

/** A store that several processes share, and so can hold their rate windows. */
export interface SharedStore extends Store {
  /** Spends in one atomic step each; at most one item a key. Not durable on purpose: a crash of the database may open the windows anew. */
  spendWindows(items: WindowSpend[]): Promise<WindowSpent[]>
}

export interface Store {
  /** Each item is one transaction in effect: all of it or nothing. Items may share a commit; an outcome is told after that commit is durable. */
  admitMany(items: Admission[]): Promise<Each<AdmissionOutcome>[]>
  settleMany(items: Settlement[]): Promise<Each<SettlementOutcome>[]>
  failMany(items: TurnFailure[]): Promise<Each<TurnFailureOutcome>[]>
  /** Each journals its entries and extends its hold, both or neither. An item that its owner's balance does not cover takes no other with it. */
  advanceMany(items: Advance[]): Promise<Each<AdvanceOutcome>[]>
  /** Renews leases for `leaseMs`; answers those that are no longer ours. */
  renewLeases(leases: Lease[], leaseMs: number): Promise<Lease[]>
  /** Ends leases at once so that another process may claim the turns (drain). */
  releaseLeases(leases: Lease[]): Promise<void>
  /**
   * Claims turns whose lease has run out: attempt + 1, a new fence, a new lease; a turn with three attempts behind it is failed instead.
   * `fresh` takes up to `limit` turns that were tried once; `suspect` takes one that was tried more often, to be run alone.
   * Turns named in `running` are this process's own and never claimed.
   */
  claimOrphans(claim: { which: 'fresh' | 'suspect'; limit: number; leaseMs: number; running: string[] }): Promise<Claims>

  /** Reads outside the turn path, each in one snapshot: queries/reads.ts. */
  read: Methods<Reads>
  /** Writes outside the turn path, each in one transaction: queries/writes.ts. */
  write: Methods<Writes>
  /** As `write`. If something changed, the audit lines are stored by the same transaction. */
  writeAs(author: Author): Methods<Writes>
  /**
   * `erase`: takes what was erased out of the store's own files. `log` is quick and leaves nothing but rare remnants, `file` takes those too.
   * `busy`: a reader still needs what is to go; ask again. `too_large`: the file would stand still for too long, only an operator can decide that.
   */
  forget(depth: 'log' | 'file'): Promise<'forgotten' | 'busy' | 'too_large'>
  /** Called after any cold write that other rooms may have cached (agents, keys, providers); never misses one made through this store. */
  onChange(listener: () => void): void
  /** Resolves when the store can read and write; rejects with StoreUnavailable. */
  ping(): Promise<void>
  close(): Promise<void>
}
