/** A commit on PostgreSQL with failpoints around it. Used only if failpoints are set; otherwise a call is a single message. */
import type { FailpointName, Failpoints } from '../../failpoints.ts'
import type { Connection } from './connections.ts'

/** Before a commit and after it. */
export type CommitPoints = [before: FailpointName, after: FailpointName]

type Committing = { connection: Connection; failpoints: Failpoints; key: string; statement?: string }

/** Rejects as the commit does. `key` names what is committed, for failpoints that apply to one operation. */
export async function commitBetween(
  points: CommitPoints,
  { connection, failpoints, key, statement = 'commit' }: Committing,
): Promise<void> {
  await failpoints.reach(points[0], key, connection.drop)
  const committed = connection.query(statement)
  // Awaited below, unless the failpoint ends the call first.
  committed.catch(() => undefined)
  await failpoints.reach('commit.sent', key, connection.drop)
  await committed
  await failpoints.reach(points[1], key)
}
