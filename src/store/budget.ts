/**
 * The budget of one transaction of the turn path (`overload.queue`): no turn makes the others wait for long. Batches, groups and journals
 * are split by it. One item that is larger goes alone, because an item is atomic; the limits of models, tools and messages bound it.
 */
import type { Admission, Advance, JournalEntry, Settlement, TurnFailure } from './turn-records.ts'

/** Bytes that a transaction may write, or return beside its small answers. */
export const maxBytes = 2 * 1024 * 1024
/** An answer up to this size is always part of its batch. Larger ones share `maxBytes`, so that a batch is answered before its deadline. */
export const smallAnswer = 32 * 1024
/** A larger reply is not returned by an admission, only its size: it is read outside the transaction. */
export const largeReply = 128 * 1024

// A row costs more than its text: the index, the log, and its statement. A transaction writes about a thousand rows at most.
const rowBytes = 2 * 1024
// The token bound of a text is half its bytes (tokens.ts), so its size is known without reading it.
export const bytesPerToken = 2

export const entryBytes = ({ payload }: JournalEntry): number => rowBytes + Buffer.byteLength(payload)

/** The size of one item by its operation. An item of any other operation is a few rows. */
export const bytesOf = {
  admit: ({ messageTokens }: Admission): number => rowBytes + messageTokens * bytesPerToken,
  settle: ({ contentTokens, trace }: Settlement): number => rowBytes + contentTokens * bytesPerToken + (trace?.length ?? 0),
  fail: ({ cause, trace }: TurnFailure): number => rowBytes + cause.length + (trace?.length ?? 0),
  advance: ({ entries }: Advance): number => entries.reduce((bytes, entry) => bytes + entryBytes(entry), rowBytes),
}

/** The items in order, in parts of at most `maxBytes` or of one item. Returns at least one part. */
export function withinBudget<Item>(items: Item[], size: (item: Item) => number): Item[][] {
  const parts: Item[][] = [[]]
  let bytes = 0
  for (const item of items) {
    const more = size(item)
    if (bytes > 0 && bytes + more > maxBytes) {
      parts.push([])
      bytes = 0
    }
    parts.at(-1)!.push(item)
    bytes += more
  }
  return parts
}
