/** The ledger for the operator: credits and adjustments, once per Idempotency-Key, never below what running turns hold. */
import { ApiError, invalid } from '../../errors.ts'
import { formatUsd, maxAmount } from '../../ledger/ledger.ts'
import type { Amount } from '../../ledger/ledger.ts'
import type { LedgerEntry, LedgerKind, ListedEntry } from '../../store/queries/ledger.ts'
import { pageOf, pageRequest } from '../../store/queries/paging.ts'
import type { Page, PageWanted } from '../../store/queries/paging.ts'
import type { PerRequest } from '../admin-store.ts'
import type { Ids } from '../../ids.ts'
import type { UsageFilterAsked } from './usage.ts'

export type LedgerAdmin = {
  /**
   * A credit if `amount` is positive, an adjustment if it is negative; not zero. The same key with the same amount and note returns the
   * first entry. Throws ApiError `not_found`, or `conflict` for a different body with the same key and for a balance out of bounds.
   */
  addLedgerEntry(given: { ownerId: string; idempotencyKey: string; amount: Amount; note: string | null }): Promise<LedgerEntry>
  /**
   * Of all owners, or of one, newest first. Throws ApiError `not_found` for an unknown owner, and `validation_error` for an empty time range.
   */
  listLedger(filter: LedgerFilterAsked, page: PageWanted): Promise<Page<ListedEntry>>
}

export type LedgerFilterAsked = UsageFilterAsked & {
  kind?: LedgerKind | undefined
  /** Created at or after this time, and before `to`. Epoch milliseconds. */
  from?: number | undefined
  to?: number | undefined
}

export function createLedgerAdmin({ newId }: { newId: Ids['newId'] }): PerRequest<LedgerAdmin> {
  return {
    async addLedgerEntry({ store }, given) {
      const outcome = await store.write.appendLedgerEntry({ ...given, id: newId('led'), maxBalance: maxAmount })
      switch (outcome.kind) {
        case 'appended':
          return outcome.entry
        case 'owner_not_found':
          throw new ApiError('not_found', 'This owner does not exist.')
        case 'idempotency_conflict':
          throw new ApiError('conflict', 'This Idempotency-Key was already used for an entry with a different amount or note.')
        case 'below_held':
          throw new ApiError('conflict', tooLarge(outcome), { param: 'amount_usd' })
        case 'above_largest_balance':
          throw new ApiError('conflict', `The balance must not exceed ${formatUsd(maxAmount)} USD.`, { param: 'amount_usd' })
      }
    },
    async listLedger({ store }, { keyId, ...filter }, page) {
      const { ownerId, from, to } = filter
      if (from !== undefined && to !== undefined && from >= to) throw invalid('from', 'from must be before to.')
      if (ownerId !== undefined && !(await store.read.findOwner(ownerId))) throw new ApiError('not_found', 'This owner does not exist.')
      const apiKeyId = keyId === undefined ? undefined : ((await store.read.findApiKeyId(keyId)) ?? keyId)
      return pageOf(await store.read.listLedger({ ...filter, apiKeyId }, pageRequest(page)), page)
    },
  }
}

function tooLarge({ balance, held }: { balance: Amount; held: Amount }): string {
  if (held === 0n) return `The balance is ${formatUsd(balance)} USD, and must not become negative.`
  return `At most ${formatUsd(balance - held)} USD can be debited: the balance is ${formatUsd(balance)} USD, and running turns hold ${formatUsd(held)} USD of it.`
}
