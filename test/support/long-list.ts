/** Ten thousand conversations with one turn each, in a data folder that no server uses: its one real conversation, copied with earlier times. */
import { DatabaseSync } from 'node:sqlite'
import { databaseFile } from '../../src/store/sqlite/database.ts'
import { copyRows, padded } from './copy-rows.ts'

/** The end user of the newest copy is "user 0". */
export function multiplyConversation(folder: string, times: number): void {
  const db = new DatabaseSync(databaseFile(folder))
  const earlier = (column: string): string => `s.${column} - (n.i + 1) * 60000`
  const copy = (table: string, changes: Record<string, string>, where?: string): void =>
    copyRows(db, table, { times, changes, ...(where === undefined ? {} : { where }) })
  const conversation = padded('con_0000000000000000000', 'n.i')
  const requestId = padded('00000000-0000-7000-8000-00000', 'n.i')
  try {
    db.exec('pragma synchronous = off; begin')
    copy('conversations', {
      id: conversation,
      external_user_id: `'user ' || n.i`,
      created_at: earlier('created_at'),
      last_message_at: earlier('last_message_at'),
    })
    copy('turns', {
      request_id: requestId,
      conversation_id: conversation,
      idempotency_key: `'copied-' || n.i`,
      created_at: earlier('created_at'),
      started_at: earlier('started_at'),
      ended_at: earlier('ended_at'),
    })
    copy('messages', {
      id: padded('msg_0000000000000000000', 'n.i * 2 + s.seq'),
      conversation_id: conversation,
      request_id: requestId,
      created_at: earlier('created_at'),
    })
    const charge = { id: padded('led_0000000000000000000', 'n.i'), request_id: requestId, created_at: earlier('created_at') }
    copy('ledger', charge, 'request_id is not null')
    db.exec('update owners set balance = (select coalesce(sum(amount), 0) from ledger where owner_id = owners.id)')
    db.exec('commit; pragma wal_checkpoint(truncate)')
  } finally {
    db.close()
  }
}
