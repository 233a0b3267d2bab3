/** Owners, whose balance pays for the replies of their agents. A balance is never set; only ledger entries change it. */
import { ApiError } from '../../errors.ts'
import type { Amount } from '../../ledger/ledger.ts'
import type { Owner, OwnerChange } from '../../resources/owner.ts'
import type { RunningHold } from '../../store/queries/turns.ts'
import { pageOf, pageRequest } from '../../store/queries/paging.ts'
import type { Page, PageWanted } from '../../store/queries/paging.ts'
import type { OwnerIndexing } from '../../store/queries/knowledge/indexing-queue.ts'
import type { DocumentLimits } from '../agents/documents.ts'
import type { PerRequest } from '../admin-store.ts'
import type { Ids } from '../../ids.ts'

// More than a person reads. The amount held is the sum of all.
const maxHolds = 100

export type OwnersAdmin = {
  /** `balance` (not negative) creates the first ledger entry. */
  createOwner(given: { name: string; balance?: Amount | undefined }): Promise<Owner>
  listOwners(page: PageWanted): Promise<Page<Owner>>
  /** Throws ApiError `not_found`. */
  findOwner(id: string): Promise<Owner>
  /**
   * Returns the owner with its newest running turns, at most 100, newest first, and what its documents wait for. Throws ApiError `not_found`.
   */
  findOwnerWithHolds(id: string): Promise<Owner & { runningTurns: RunningHold[]; indexing: OwnerIndexing & DocumentLimits }>
  /** Throws ApiError `not_found`. */
  changeOwner(id: string, change: OwnerChange): Promise<Owner>
}

type Options = { newId: Ids['newId']; documentLimits: DocumentLimits }

export function createOwnersAdmin({ newId, documentLimits }: Options): PerRequest<OwnersAdmin> {
  return {
    createOwner({ store }, { name, balance = 0n }) {
      const credit = balance > 0n ? { ledgerEntryId: newId('led'), amount: balance } : undefined
      return store.write.createOwner({ id: newId('own'), name, credit })
    },
    listOwners: async ({ store }, page) => pageOf(await store.read.listOwners({}, pageRequest(page)), page),
    findOwner: async ({ store }, id) => known(await store.read.findOwner(id)),
    findOwnerWithHolds: async ({ store }, id) => ({
      ...known(await store.read.findOwner(id)),
      runningTurns: await store.read.listHolds(id, maxHolds),
      indexing: { ...known(await store.read.findOwnerIndexing(id)), ...documentLimits },
    }),
    changeOwner: async ({ store }, id, change) => known(await store.write.changeOwner(id, change)),
  }
}

function known<Found>(owner: Found | undefined): Found {
  if (owner === undefined) throw new ApiError('not_found', 'This owner does not exist.')
  return owner
}
