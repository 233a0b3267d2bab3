/**
 * The turn path on SQLite: one item at a time within the caller's transaction. The constraints of the schema forbid what the checks here
 * refuse. Does not begin or commit.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Admission, Advance, AdvanceOutcome, Lease, Settlement, TurnFailure } from '../turn-records.ts'
import { admit } from './admit.ts'
import { claim } from './claim.ts'
import type { Claim } from './claim.ts'
import type { Clock } from './clock.ts'
import { fail, settle } from './end-turn.ts'
import { recordReachedLimits } from './events.ts'
import { findFull } from './spending.ts'
import { prepareStatements } from './statements.ts'

export type TurnPath = ReturnType<typeof createTurnPath>

export function createTurnPath(db: DatabaseSync, clock: Clock) {
  const sql = prepareStatements(db)

  function advance(item: Advance): AdvanceOutcome {
    // mutant: billing.hold
    const turn = sql.findOwnRunning.get(item.requestId, item.fence)
    if (!turn) return { kind: 'lost' }
    const more = item.hold - (turn.hold as bigint)
    if (more > 0n) {
      // `billing.spend-limit`
      const countsIn = turn.counts_in as string | null
      const refused = countsIn === null ? undefined : findFull(sql, clock.now(), countsIn, more)
      if (refused) {
        const { owner_id: ownerId, agent_id: agentId } = turn as Record<string, string>
        recordReachedLimits(sql, { ownerId: ownerId!, agentId: agentId!, countsIn: countsIn! }, clock.now(), { needed: item.hold })
        // mutant: billing.spend-limit-2
        return refused
      }
      if (sql.takeHold.run(more, turn.owner_id!, more).changes === 0n) return { kind: 'insufficient_balance' }
      if (turn.counts_in !== null) sql.extendSpending.run(more, turn.counts_in!)
      sql.setHold.run(item.hold, item.requestId)
    }
    const now = clock.now()
    // mutant: retry.continues-2
    const firstRun = turn.continues_from ?? turn.run!
    for (const { step, part, kind, payload } of item.entries) {
      // Stored before, by this run or by one that it continues: a finished call has one entry, however often it is sent.
      if (sql.findStep.get(item.requestId, step, part, kind, firstRun)) continue
      sql.insertStep.run(item.requestId, turn.run!, step, part, kind, payload, now)
    }
    // `retry.continues`
    if (item.finishedSideEffects && turn.continues_from === null) sql.continueFrom.run(turn.run!, item.requestId)
    return { kind: 'advanced' }
  }

  /** Returns true if this process still holds the lease. */
  function renew(lease: Lease & { leaseMs: number }): boolean {
    return sql.renewLease.run(Math.ceil(clock.leaseNow() + lease.leaseMs), lease.requestId, lease.fence).changes === 1n
  }

  function release(lease: Lease): void {
    sql.renewLease.run(0, lease.requestId, lease.fence)
  }

  /** At the start: the lock proves that the process that held these leases is dead. */
  function endAllLeases(): void {
    sql.endAllLeases.run()
    sql.endAllClaims.run()
  }

  return {
    admit: (item: Admission) => admit(sql, clock, item),
    settle: (item: Settlement) => settle(sql, clock, item),
    fail: (item: TurnFailure) => fail(sql, clock, item),
    claim: (item: Claim) => claim(sql, clock, item),
    advance,
    renew,
    release,
    endAllLeases,
  }
}
