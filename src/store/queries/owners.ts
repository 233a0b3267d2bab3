/** Owners, whose balance pays for replies. After the first entry made here, only ledger.ts and the turn path change a balance. */
import type { Amount } from '../../ledger/ledger.ts'
import { ownerFields } from '../../resources/owner.ts'
import type { Owner, OwnerChange } from '../../resources/owner.ts'
import type { Sql } from '../sql.ts'
import type { PageRequest } from './paging.ts'
import { read, write } from './operation.ts'
import { installation, instead, ofOwner } from './scope.ts'
import { auditedOf, changed, created } from './audited-fields.ts'
import { columnsOf, insertRow, rowReader, updateRow } from './rows.ts'

export type NewOwner = {
  id: string
  name: string
  /** The ledger entry for the opening balance. Undefined: none, and the balance is 0. */
  credit: { ledgerEntryId: string; amount: Amount } | undefined
}

export async function createOwner(sql: Sql, { id, name, credit }: NewOwner): Promise<Owner> {
  const now = await sql.now()
  const balance = credit?.amount ?? 0n
  await insertRow(sql, 'owners', ownerFields, { id, name, balance, createdAt: now })
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

async function changeOwner(sql: Sql, id: string, change: OwnerChange): Promise<Owner | undefined> {
  await updateRow(sql, 'owners', ownerFields, id, change)
  return findOwner(sql, id)
}

const columns = columnsOf(ownerFields)
const readOwner = rowReader(ownerFields)

// Turns change the balance at the same time. An opening balance is the first entry of the ledger.
const { balance: _, ...changeable } = ownerFields

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
    audit: (owner) => created('owner', owner.id, auditedOf(ownerFields), owner),
    changesCaches: false,
  }),
  changeOwner: write(changeOwner, {
    scope: installation,
    before: (sql, [id]) => findOwner(sql, id),
    audit: (owner, [id], before) => changed('owner', id, auditedOf(changeable), before, owner),
    changesCaches: false,
  }),
}
