/** The filters of a ledger, as in the address, and as the API takes them. Days are UTC and inclusive. Pure. */
import type { LedgerEntry } from '../../api/types.ts'
import { readDay } from '../../show/usage-range.ts'

export const kindLabels: Record<LedgerEntry['kind'], string> = { credit: 'Credit', adjustment: 'Adjustment', charge: 'Charge' }

export type LedgerFilters = { kind: LedgerEntry['kind'] | null; agentId: string | null; from: string; to: string }
export const noLedgerFilters: LedgerFilters = { kind: null, agentId: null, from: '', to: '' }

const dayMs = 24 * 60 * 60 * 1000

export function readLedgerFilters(params: URLSearchParams): LedgerFilters {
  const kinds = Object.keys(kindLabels) as LedgerEntry['kind'][]
  const dayOf = (name: string): string => (readDay(params.get(name) ?? '') !== undefined ? (params.get(name) ?? '') : '')
  return {
    kind: kinds.find((kind) => kind === params.get('kind')) ?? null,
    agentId: params.get('agent_id'),
    from: dayOf('from'),
    to: dayOf('to'),
  }
}

export function writeLedgerFilters({ kind, agentId, from, to }: LedgerFilters): URLSearchParams {
  const given = Object.entries({ kind, agent_id: agentId, from, to }).filter((entry): entry is [string, string] => Boolean(entry[1]))
  return new URLSearchParams(given)
}

/** Null: the last day is before the first. */
export function ledgerQuery({ kind, agentId, from, to }: LedgerFilters): Record<string, string | null> | null {
  if (from !== '' && to !== '' && to < from) return null
  return {
    kind,
    agent_id: agentId,
    from: from === '' ? null : new Date(Date.parse(from)).toISOString(),
    to: to === '' ? null : new Date(Date.parse(to) + dayMs).toISOString(),
  }
}

export const isFiltered = (filters: LedgerFilters): boolean => String(writeLedgerFilters(filters)) !== ''
