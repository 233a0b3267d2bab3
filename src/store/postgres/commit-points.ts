/** A commit on PostgreSQL with the failpoints around it. Only where some are named: without them a call is one message and no more. */
import type { FailpointName, Failpoints } from '../../failpoints.ts'
import type { Connection } from './connections.ts'

/** Before a commit and after it. */
export type CommitPoints = [before: FailpointName, after: FailpointName]

type Committing = { connection: Connection; failpoints: Failpoints; key: string; statement?: string }

/** Rejects as the commit does. `key` names what is committed, for a failpoint that is meant for one of them. */
export async function commitBetween(
  points: CommitPoints,
  { connection, failpoints, key, statement = 'commit' }: Committing,
): Promise<void> {
  await failpoints.reach(points[0], key, connection.drop)
  const committed = connection.query(statement)
  // Heard below, unless the point ends the call first.
  committed.catch(() => undefined)
  await failpoints.reach('commit.sent', key, connection.drop)
  await committed
  await failpoints.reach(points[1], key)
}
