/**
 * One conversation of thousands of turns, written directly into the tables of a data folder that no server uses: its one real turn is
 * copied with earlier times, so every row is as the service writes it and every invariant holds. With SQL, because a real turn takes
 * milliseconds.
 */
import { DatabaseSync } from 'node:sqlite'
import { databaseFile } from '../../src/store/sqlite/database.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import { copyRows, padded } from './copy-rows.ts'

/** The folder's only turn becomes the last of `turns`; message number n, from 1, is "Message n of …". */
export async function lengthenConversation(folder: string, turns: number): Promise<void> {
  const db = new DatabaseSync(databaseFile(folder))
  const copies = turns - 1
  const earlier = (column: string): string => `s.${column} - (${copies} - n.i) * 60000`
  const copy = (table: string, changes: Record<string, string>): void =>
    copyRows(db, table, { times: copies, changes, where: 'request_id is not null' })

  try {
    db.exec('pragma synchronous = off; begin')
    const requestId = padded('00000000-0000-7000-8000-00000', 'n.i')
    copy('turns', {
      request_id: requestId,
      idempotency_key: `'copied-' || n.i`,
      created_at: earlier('created_at'),
      started_at: earlier('started_at'),
      ended_at: earlier('ended_at'),
    })
    // Moved first, because the copies come before them.
    db.exec(`update messages set seq = seq + 2 * ${copies}`)
    copy('messages', {
      id: padded('msg_0000000000000000000', 'n.i * 2 + s.seq'),
      seq: `s.seq - 2 * (${copies} - n.i)`,
      request_id: requestId,
      content: `'Message ' || (s.seq - 2 * (${copies} - n.i)) || ' of a **long** conversation'`,
      created_at: earlier('created_at'),
    })
    copy('ledger', { id: padded('led_0000000000000000000', 'n.i'), request_id: requestId, created_at: earlier('created_at') })
    db.exec(`update owners set balance = (select coalesce(sum(amount), 0) from ledger where owner_id = owners.id)`)
    db.exec(`update conversations set created_at = created_at - ${copies} * 60000, message_count = ${2 * turns},
      message_tokens = (select sum(tokens) from messages where conversation_id = conversations.id)`)
    db.exec('commit; pragma wal_checkpoint(truncate)')
  } finally {
    db.close()
  }
  const store = await openSqliteStore({ folder })
  const broken = (await store.read.verify()).filter(({ rows }) => rows.length > 0)
  await store.close()
  if (broken.length > 0) throw new Error(`the long conversation breaks ${broken.map(({ name }) => name).join(', ')}`)
}
