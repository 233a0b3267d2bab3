/** A commit on PostgreSQL with failpoints around it. Used only if failpoints are set; otherwise a call is a single message. */
import type { FailpointName, Failpoints } from '../../failpoints.ts'
import type { Connection } from './connections.ts'

/** Before a commit and after it. */
export type CommitPoints = [before: FailpointName, after: FailpointName]

/** `onWritten`: called before the commit (`turn.durable-first`). */
type Committing = { connection: Connection; failpoints: Failpoints; key: string; statement?: string; onWritten?: (() => void) | undefined }

/** Rejects as the commit does. `key` names what is committed, for failpoints that apply to one operation. */
export async function commitBetween(
  points: CommitPoints,
  { connection, failpoints, key, statement = 'commit', onWritten }: Committing,
): Promise<void> {
  await failpoints.reach(points[0], key, connection.drop)
  if (onWritten) {
    onWritten()
    await failpoints.reach('admit.early', key, connection.drop)
  }
  const committed = connection.query(statement)
  // Awaited below, unless the failpoint ends the call first.
  committed.catch(() => undefined)
  await failpoints.reach('commit.sent', key, connection.drop)
  await committed
  await failpoints.reach(points[1], key)
}
