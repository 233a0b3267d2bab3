/** The operator's ledger entries and the list of all entries. The settlement writes charges. Entries are never changed or deleted. */
import { clearedBy, formatUsd } from '../../ledger/ledger.ts'
import type { Amount } from '../../ledger/ledger.ts'
import type { Row, Sql } from '../sql.ts'
import { bigInteger, integer, text, textOrNull } from './columns.ts'
import type { PageRequest } from './paging.ts'
import { recordEvent } from './webhooks/events.ts'
import { Values } from './reported-turns.ts'
import type { Period, UsageFilter } from './reported-turns.ts'
import { read, write } from './operation.ts'
import { installation, instead, within } from './scope.ts'
import { differing } from './audited-fields.ts'
import type { AuditedFields } from './audited-fields.ts'

export type LedgerEntry = {
  id: string
  ownerId: string
  kind: LedgerKind
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
async function appendLedgerEntry(sql: Sql, given: NewLedgerEntry): Promise<AppendOutcome> {
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

/** An entry with what its turn belongs to, for the lists. All of it is null for a credit or an adjustment. */
export type ListedEntry = LedgerEntry & {
  agentId: string | null
  apiKeyId: string | null
  conversationId: string | null
  /** Also null if the end user was erased. */
  externalUserId: string | null
}

export type LedgerKind = 'credit' | 'adjustment' | 'charge'

/** A filter by agent, key or end user matches only charges. */
export type LedgerFilter = UsageFilter & Partial<Period> & { kind?: LedgerKind | undefined }

/** Of all owners or one, newest first. */
export async function listLedger(sql: Sql, filter: LedgerFilter, { limit, before }: PageRequest): Promise<ListedEntry[]> {
  const { ownerId, agentId, apiKeyId, externalUserId, kind, from = 0, to } = filter
  // One bound, so that the index is read from the start of the page.
  const first = to !== undefined && to <= before.createdAt ? { createdAt: to, id: '' } : before
  const values = new Values()
  // The charges of a user are found from the keys: a user has one conversation with each, which an index finds.
  const byUser = externalUserId !== undefined
  // Otherwise each entry of the page is looked at: a join of all turns of an agent would be larger.
  const ofTurn = (column: string): string => `(select s.${column} from turns s where s.request_id = l.request_id)`
  // Credits and adjustments are few among the charges, and have an index of their own, which the owner is compared within.
  const isByOperator = kind === 'credit' || kind === 'adjustment'
  const conditions = Object.entries({
    'l.kind': kind,
    [isByOperator ? `l.owner_id || ''` : 'l.owner_id']: ownerId,
    [byUser ? 'k.agent_id' : ofTurn('agent_id')]: agentId,
    [byUser ? 'k.id' : ofTurn('api_key_id')]: apiKeyId,
  }).flatMap(([column, value]) => (value === undefined ? [] : [`${column} = ${values.add(value)}`]))
  if (isByOperator) conditions.push(`l.kind <> 'charge'`)
  const tables = !byUser
    ? 'ledger l left join turns t on t.request_id = l.request_id left join conversations c on c.id = t.conversation_id'
    : 'api_keys k cross join conversations c cross join turns t cross join ledger l'
  if (byUser)
    conditions.push(
      `c.api_key_id = k.id and c.external_user_id = ${values.add(externalUserId)} and t.conversation_id = c.id
       and l.request_id = t.request_id and l.kind = 'charge'`,
    )
  const at = byUser ? '+l.created_at' : 'l.created_at'
  const rows = await sql.all(
    `select l.id, l.owner_id, l.kind, l.amount, l.written_off, l.request_id, l.note, l.created_at, t.agent_id, t.api_key_id, t.conversation_id,
       c.external_user_id
     from ${tables}
     where ${[...conditions, `${at} >= ${values.add(from)}`, `(${at}, l.id) < (${values.add(first.createdAt)}, ${values.add(first.id)})`].join(' and ')}
     order by l.created_at desc, l.id desc limit ${values.add(limit)}`,
    ...values.list,
  )
  return rows.map((row) => ({
    ...readEntry(row),
    agentId: textOrNull(row, 'agent_id'),
    apiKeyId: textOrNull(row, 'api_key_id'),
    conversationId: textOrNull(row, 'conversation_id'),
    externalUserId: textOrNull(row, 'external_user_id'),
  }))
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

/** The note is in the ledger, which also keeps it forever. */
const ledgerEntryFields = ({ ownerId, kind, amount }: LedgerEntry): AuditedFields => ({
  owner_id: ownerId,
  kind,
  amount_usd: formatUsd(amount),
})

export const ledgerReads = {
  listLedger: read(listLedger, {
    queue: 'report',
    scope: ({ scope }, filter, page) => (scope.agentId === null ? instead(within(scope, filter), page) : { answer: [] }),
    readings: null,
  }),
}

export const ledgerWrites = {
  appendLedgerEntry: write(appendLedgerEntry, {
    scope: installation,
    // A repeated idempotency key returns the first entry and changes nothing.
    audit: (outcome, [{ id }]) =>
      outcome.kind === 'appended' && outcome.entry.id === id
        ? differing('append', 'ledger_entry', id, {}, ledgerEntryFields(outcome.entry))
        : [],
    changesCaches: false,
  }),
}
