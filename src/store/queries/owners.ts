/** Owners, whose balance pays for replies. After the first entry made here, only ledger.ts and the turn path change a balance. */
import { formatUsd } from '../../ledger/ledger.ts'
import type { Amount } from '../../ledger/ledger.ts'
import type { Row, Sql } from '../sql.ts'
import { bigInteger, integer, text } from './columns.ts'
import type { PageRequest } from './paging.ts'
import { read, write } from './operation.ts'
import { installation, instead, ofOwner } from './scope.ts'
import { changed, created, usdOrNull } from './audited-fields.ts'
import type { AuditedFields } from './audited-fields.ts'

export type Owner = {
  id: string
  name: string
  balance: Amount
  held: Amount
  unpaid: Amount
  /** `balance.low` is reported when the balance falls below it. Null: never. */
  lowBalance: Amount | null
  createdAt: number
}

export type NewOwner = {
  id: string
  name: string
  /** The ledger entry for the opening balance. Undefined: none, and the balance is 0. */
  credit: { ledgerEntryId: string; amount: Amount } | undefined
}

export async function createOwner(sql: Sql, { id, name, credit }: NewOwner): Promise<Owner> {
  const now = await sql.now()
  const balance = credit?.amount ?? 0n
  await sql.run('insert into owners (id, name, balance, created_at) values ($1, $2, $3, $4)', id, name, balance, now)
  if (credit) {
    await sql.run(
      `insert into ledger (id, owner_id, kind, amount, created_at) values ($1, $2, 'credit', $3, $4)`,
      credit.ledgerEntryId,
      id,
      credit.amount,
      now,
    )
  }
  return { id, name, balance, held: 0n, unpaid: 0n, lowBalance: null, createdAt: now }
}

async function findOwner(sql: Sql, id: string): Promise<Owner | undefined> {
  const [row] = await sql.all(`select ${columns} from owners where id = $1`, id)
  return row && readOwner(row)
}

/** Newest first. With `ownerId`, only this owner. */
async function listOwners(sql: Sql, { ownerId }: { ownerId?: string | undefined }, { limit, before }: PageRequest): Promise<Owner[]> {
  const rows = await sql.all(
    `select ${columns} from owners where (created_at, id) < ($1, $2) ${ownerId === undefined ? '' : 'and id = $4'}
      order by created_at desc, id desc limit $3`,
    before.createdAt,
    before.id,
    limit,
    ...(ownerId === undefined ? [] : [ownerId]),
  )
  return rows.map(readOwner)
}

export type OwnerChange = { name?: string; lowBalance?: Amount | null }

async function changeOwner(sql: Sql, id: string, { name, lowBalance }: OwnerChange): Promise<Owner | undefined> {
  if (name !== undefined) await sql.run('update owners set name = $1 where id = $2', name, id)
  if (lowBalance !== undefined) await sql.run('update owners set low_balance = $1 where id = $2', lowBalance, id)
  return findOwner(sql, id)
}

const columns = 'id, name, balance, held, unpaid, low_balance, created_at'

const readOwner = (row: Row): Owner => ({
  id: text(row, 'id'),
  name: text(row, 'name'),
  balance: bigInteger(row, 'balance'),
  held: bigInteger(row, 'held'),
  unpaid: bigInteger(row, 'unpaid'),
  lowBalance: row['low_balance'] === null ? null : bigInteger(row, 'low_balance'),
  createdAt: integer(row, 'created_at'),
})

const ownerFields = ({ name, lowBalance }: Pick<Owner, 'name' | 'lowBalance'>): AuditedFields => ({
  name,
  low_balance_usd: usdOrNull(lowBalance),
})

/** An opening balance is the first entry of the ledger. */
const newOwnerFields = (owner: Owner): AuditedFields => ({ ...ownerFields(owner), balance_usd: formatUsd(owner.balance) })

export const ownerReads = {
  findOwner: read(findOwner, { scope: ofOwner((id) => id, undefined), readings: null }),
  listOwners: read(listOwners, {
    scope: ({ scope }, filter, page) => (scope.agentId === null ? instead({ ...filter, ownerId: scope.ownerId }, page) : { answer: [] }),
    readings: null,
  }),
}

export const ownerWrites = {
  createOwner: write(createOwner, {
    scope: installation,
    audit: (owner) => created('owner', owner.id, newOwnerFields, owner),
    changesCaches: false,
  }),
  changeOwner: write(changeOwner, {
    scope: installation,
    before: (sql, [id]) => findOwner(sql, id),
    audit: (owner, [id], before) => changed('owner', id, ownerFields, before, owner),
    changesCaches: false,
  }),
}
