/** The operator's ledger entries and the list of all entries. The settlement writes charges. Entries are never changed or deleted. */
import { clearedBy } from '../../ledger/ledger.ts'
import type { Amount } from '../../ledger/ledger.ts'
import type { Row, Sql } from '../sql.ts'
import { bigInteger, integer, text, textOrNull } from './columns.ts'
import type { PageRequest } from './paging.ts'
import { recordEvent } from './webhooks/events.ts'

export type LedgerEntry = {
  id: string
  ownerId: string
  kind: 'credit' | 'adjustment' | 'charge'
  /** Positive for a credit, negative for an adjustment, zero or less for a charge. */
  amount: Amount
  writtenOff: Amount
  /** The turn of a charge. */
  requestId: string | null
  note: string | null
  createdAt: number
}

export type NewLedgerEntry = {
  id: string
  ownerId: string
  idempotencyKey: string
  /** Not zero. */
  amount: Amount
  note: string | null
  maxBalance: Amount
}

export type AppendOutcome =
  /** Written now, or by an earlier call with the same key and body. */
  | { kind: 'appended'; entry: LedgerEntry }
  | { kind: 'owner_not_found' }
  | { kind: 'idempotency_conflict' }
  /** Amounts held for running turns cannot be debited. */
  | { kind: 'below_held'; balance: Amount; held: Amount }
  | { kind: 'above_largest_balance' }

/** Decides and writes in one transaction. A key creates at most one entry, permanently. */
export async function appendLedgerEntry(sql: Sql, given: NewLedgerEntry): Promise<AppendOutcome> {
  const { ownerId, idempotencyKey, amount, note } = given
  // Locks the row first, so that two entries of one owner are decided one after the other on every backend.
  if ((await sql.run('update owners set balance = balance where id = $1', ownerId)) === 0) return { kind: 'owner_not_found' }

  const [known] = await sql.all(`select ${columns} from ledger where owner_id = $1 and idempotency_key = $2`, ownerId, idempotencyKey)
  if (known) {
    const entry = readEntry(known)
    return entry.amount === amount && entry.note === note ? { kind: 'appended', entry } : { kind: 'idempotency_conflict' }
  }

  const [row] = await sql.all('select balance, held, unpaid, cleared, low_balance from owners where id = $1', ownerId)
  const owner = row!
  const balance = bigInteger(owner, 'balance')
  const held = bigInteger(owner, 'held')
  if (balance - held + amount < 0n) return { kind: 'below_held', balance, held }
  if (balance + amount > given.maxBalance) return { kind: 'above_largest_balance' }

  const entry: LedgerEntry = {
    id: given.id,
    ownerId,
    kind: amount > 0n ? 'credit' : 'adjustment',
    amount,
    writtenOff: 0n,
    requestId: null,
    note,
    createdAt: await sql.now(),
  }
  const cleared = clearedBy(amount, { unpaid: bigInteger(owner, 'unpaid'), cleared: bigInteger(owner, 'cleared') })
  await sql.run(
    'update owners set balance = balance + $1, unpaid = unpaid - $2, cleared = cleared + $2 where id = $3',
    amount,
    cleared,
    ownerId,
  )
  // `billing.unpaid`: after a credit, the owner's agents hold again what their turns need at first.
  if (amount > 0n) await sql.run('update agents set min_hold = 0 where owner_id = $1 and min_hold > 0', ownerId)
  await sql.run(
    'insert into ledger (id, owner_id, kind, amount, idempotency_key, note, created_at) values ($1, $2, $3, $4, $5, $6, $7)',
    entry.id,
    ownerId,
    entry.kind,
    amount,
    idempotencyKey,
    note,
    entry.createdAt,
  )
  const low = owner['low_balance'] === null ? null : bigInteger(owner, 'low_balance')
  if (low !== null && balance >= low && balance + amount < low)
    await recordEvent(sql, { type: 'balance.low', subject: entry.id, ownerId, agentId: null })
  return { kind: 'appended', entry }
}

/** Newest first; empty for an unknown owner. */
export async function listLedger(sql: Sql, ownerId: string, { limit, before }: PageRequest): Promise<LedgerEntry[]> {
  const rows = await sql.all(
    `select ${columns} from ledger where owner_id = $1 and (created_at, id) < ($2, $3) order by created_at desc, id desc limit $4`,
    ownerId,
    before.createdAt,
    before.id,
    limit,
  )
  return rows.map(readEntry)
}

const columns = 'id, owner_id, kind, amount, written_off, request_id, note, created_at'

function readEntry(row: Row): LedgerEntry {
  const kind = text(row, 'kind')
  if (kind !== 'credit' && kind !== 'adjustment' && kind !== 'charge') throw new Error(`unknown kind of ledger entry: ${kind}`)
  return {
    id: text(row, 'id'),
    ownerId: text(row, 'owner_id'),
    kind,
    amount: bigInteger(row, 'amount'),
    writtenOff: bigInteger(row, 'written_off'),
    requestId: textOrNull(row, 'request_id'),
    note: textOrNull(row, 'note'),
    createdAt: integer(row, 'created_at'),
  }
}
