/** The JSON that `spend_windows_v1` accepts and returns, for the rate windows of API keys. Names and shapes only. */
import type { WindowSpend, WindowSpent } from '../store.ts'

export type WindowAnswer = { accepted: number; spent: number; ends_at_ms: number; ends_in_ms: number }

export const writeSpends = (items: WindowSpend[]): string =>
  JSON.stringify(
    items.map(({ apiKeyId, limit, windowSeconds, units }, index) => ({
      ord: index + 1,
      api_key_id: apiKeyId,
      max_spent: limit,
      window_seconds: windowSeconds,
      units,
    })),
  )

export const readSpent = ({ accepted, spent, ends_at_ms, ends_in_ms }: WindowAnswer): WindowSpent => ({
  accepted,
  spent,
  endsAtMs: ends_at_ms,
  endsInMs: ends_in_ms,
})
