/**
 * Fills a store with turns using SQL only: one real turn, made over HTTP, is copied with its messages and its charge under other ids,
 * twenty per conversation, with random Idempotency-Keys and end users, and the owner's balance matches its ledger. So every copy is as the
 * service writes it, and every invariant holds afterwards.
 */
import { closeSync, fsyncSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { databaseFile } from '../src/store/sqlite/database.ts'
import { withClient } from '../test/support/postgres-server.ts'

/** A connection to a store that is to be filled. */
type Sql = {
  columns(table: string): Promise<string[]>
  run(statement: string): Promise<void>
  /** An expression with another random text for each row. */
  random: string
}

const turnsOfConversation = 20
const filledTables = ['conversations', 'turns', 'messages', 'ledger']
const dayMs = 86_400_000

/**
 * Each of the owners has exactly one completed turn and gets `turns` more: a multiple of `turnsOfConversation`. No server may be using the
 * folder.
 */
export async function fillSqlite(folder: string, ownerIds: string[], turns: number): Promise<void> {
  const db = new DatabaseSync(databaseFile(folder))
  try {
    db.exec('pragma synchronous = off; pragma cache_size = -262144; begin')
    const sql: Sql = {
      columns: async (table) =>
        db
          .prepare('select name from pragma_table_info(?)')
          .all(table)
          .map(({ name }) => String(name)),
      run: async (statement) => db.exec(statement),
      random: 'lower(hex(randomblob(16)))',
    }
    for (const ownerId of ownerIds) await fill(sql, ownerId, turns)
    db.exec('commit; pragma wal_checkpoint(truncate)')
  } finally {
    db.close()
  }
  // Otherwise the system writes these pages to the disk while the turns are measured.
  const file = openSync(databaseFile(folder), 'r+')
  fsyncSync(file)
  closeSync(file)
}

/** The same while a server is using the database. Afterwards the tables are as autovacuum would leave them. */
export async function fillPostgres(url: string, ownerIds: string[], turns: number): Promise<void> {
  await withClient(url, async (client) => {
    const sql: Sql = {
      async columns(table) {
        const { rows } = await client.query<{ name: string }>(
          `select column_name as name from information_schema.columns where table_name = $1 and table_schema = current_schema()`,
          [table],
        )
        return rows.map(({ name }) => name)
      },
      run: async (statement) => void (await client.query(statement)),
      random: 'gen_random_uuid()::text',
    }
    // Created afterwards from sorted rows, an index of random keys takes minutes instead of hours. Those of constraints cannot be dropped.
    const { rows: indexes } = await client.query<{ name: string; definition: string }>(
      `
      select indexname as name, indexdef as definition from pg_indexes
      where schemaname = current_schema() and tablename = any ($1)
        and not exists (select from pg_constraint where conindid = format('%I.%I', schemaname, indexname)::regclass)`,
      [filledTables],
    )
    await client.query("set maintenance_work_mem = '1GB'")
    for (const { name } of indexes) await client.query(`drop index ${name}`)
    for (const ownerId of ownerIds) await fill(sql, ownerId, turns)
    for (const { definition } of indexes) await client.query(definition)
    await client.query('vacuum analyze')
    await client.query('checkpoint')
  })
}

async function fill({ columns, run, random }: Sql, ownerId: string, turns: number): Promise<void> {
  const conversations = turns / turnsOfConversation
  // Below every ID of a real time, as IDs of older rows are. The owner's last letters distinguish the owners.
  const id = (prefix: string, number: string): string =>
    `'${prefix}_0${ownerId.slice(-12)}' || substr(cast(10000000000000 + ${number} as text), 2)`
  const requestId = id('req', 'n.i')
  const conversationId = id('conv', `n.i / ${turnsOfConversation}`)
  const earlier = (column: string): string => `s.${column} - ${dayMs} - (${turns} - n.i) * 10`

  /** The rows of a table that belong to the one turn, copied this many times with some columns changed. */
  async function copy(table: string, many: number, belongs: string, changes: Record<string, string>): Promise<void> {
    const all = await columns(table)
    await run(`insert into ${table} (${all.join(', ')})
      select ${all.map((column) => changes[column] ?? `s.${column}`).join(', ')}
      from (select * from ${table} where ${belongs}) as s,
        (with recursive numbers (i) as (select 0 union all select i + 1 from numbers where i < ${many - 1}) select i from numbers) as n`)
  }

  // The one turn is looked up before there are copies.
  await run(`create temporary table the_turn as select request_id, conversation_id from turns where owner_id = '${ownerId}'`)
  await copy('conversations', conversations, `id = (select conversation_id from the_turn)`, {
    id: id('conv', 'n.i'),
    external_user_id: random,
    message_count: `s.message_count * ${turnsOfConversation}`,
    message_tokens: `s.message_tokens * ${turnsOfConversation}`,
    created_at: earlier('created_at'),
    last_message_at: earlier('last_message_at'),
  })
  await copy('turns', turns, `request_id = (select request_id from the_turn)`, {
    request_id: requestId,
    idempotency_key: random,
    conversation_id: conversationId,
    created_at: earlier('created_at'),
    started_at: earlier('started_at'),
    ended_at: earlier('ended_at'),
  })
  await copy('messages', turns, `request_id = (select request_id from the_turn)`, {
    id: id('msg', `n.i * 2 + s.seq`),
    conversation_id: conversationId,
    seq: `s.seq + 2 * (n.i % ${turnsOfConversation})`,
    request_id: requestId,
    created_at: earlier('created_at'),
  })
  await copy('ledger', turns, `request_id = (select request_id from the_turn)`, {
    id: id('led', 'n.i'),
    request_id: requestId,
    created_at: earlier('created_at'),
  })
  await run(`update owners set balance = (select sum(amount) from ledger where owner_id = '${ownerId}') where id = '${ownerId}'`)
  await run('drop table the_turn')
}
