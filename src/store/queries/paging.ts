/**
 * Pages of every list: newest first, by creation time and then id (ruling `paging`). Owns the cursor's text, which is opaque to callers
 * and says only where a page ended; never what may be seen: that is in each statement's `where`.
 */
import { ApiError } from '../../errors.ts'

/** Where a row stands in its list; the rows after it are `(created_at, id) < (createdAt, id)`. */
export type Position = { createdAt: number; id: string }

/** What a statement is asked for: at most `limit` rows after `before`. */
export type PageRequest = { limit: number; before: Position }

/** What the caller asks for; `cursor` is the text of a page before, undefined for the first one. */
export type PageWanted = { limit: number; cursor?: string | undefined }

/** `nextCursor` is null where the list ends. */
export type Page<Item> = { data: Item[]; nextCursor: string | null }

/** Before the first row of any list. */
const top: Position = { createdAt: Number.MAX_SAFE_INTEGER, id: '' }
// A 16-digit time, a colon and an id of at most 64 characters, in base64: what is longer was not made here.
const maxCursor = 120
const shape = /^(\d{1,16}):([\w-]{1,64})$/

/** The request for one page: one row more than is shown, which tells whether there is a next page. Throws as `decodeCursor` does. */
export function pageRequest({ limit, cursor }: PageWanted): PageRequest {
  return { limit: limit + 1, before: cursor === undefined ? top : decodeCursor(cursor) }
}

/** The page made of the rows that `pageRequest` brought. Its cursor stays valid while rows are added. */
export function pageOf<Item extends Position>(rows: Item[], { limit }: PageWanted): Page<Item> {
  const data = rows.slice(0, limit)
  const last = data.at(-1)
  return { data, nextCursor: last && rows.length > limit ? encodeCursor(last) : null }
}

export function encodeCursor({ createdAt, id }: Position): string {
  return Buffer.from(`${createdAt}:${id}`).toString('base64url')
}

/** Throws ApiError `validation_error` for a text that was not made by `encodeCursor`. */
export function decodeCursor(cursor: string): Position {
  const text = cursor.length <= maxCursor ? Buffer.from(cursor, 'base64url').toString('latin1') : ''
  const [, createdAt, id] = shape.exec(text) ?? []
  const position = { createdAt: Number(createdAt), id: id ?? '' }
  // Encoded again: there is one spelling of a position, and base64 readers skip what they do not know.
  if (!Number.isSafeInteger(position.createdAt) || encodeCursor(position) !== cursor) {
    throw new ApiError('validation_error', 'The cursor is not valid; use next_cursor as it was given.')
  }
  return position
}
