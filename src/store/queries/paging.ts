/**
 * Pages of every list: newest first by creation time and then ID (`paging`). Defines the cursor, which is opaque to callers and contains
 * only the position where a page ended. What a caller may see is decided by each statement's `where`.
 */
import { invalid } from '../../errors.ts'
import type { ApiError } from '../../errors.ts'

/** The position of a row in its list. The rows after it are `(created_at, id) < (createdAt, id)`. */
export type Position = { createdAt: number; id: string }

/** The input of a statement: at most `limit` rows after `before`. */
export type PageRequest = { limit: number; before: Position }

/** The caller's request. `cursor` is the text from the previous page, or undefined for the first page. */
export type PageWanted = { limit: number; cursor?: string | undefined }

/** `nextCursor` is null at the end of the list. */
export type Page<Item> = { data: Item[]; nextCursor: string | null }

/** Before the first row of any list. */
const top: Position = { createdAt: Number.MAX_SAFE_INTEGER, id: '' }
// A 16-digit time, a colon and an ID of at most 64 characters, in base64. A longer text is not a cursor.
const maxCursor = 120
const shape = /^(\d{1,16}):([\w-]{1,64})$/

/** The request for one page: one row more than is shown, which tells whether there is a next page. Throws as `decodeCursor`. */
export function pageRequest({ limit, cursor }: PageWanted): PageRequest {
  return { limit: limit + 1, before: cursor === undefined ? top : decodeCursor(cursor) }
}

/** The page from the rows that `pageRequest` asked for. Its cursor stays valid while rows are added. */
export function pageOf<Item extends Position>(rows: Item[], { limit }: PageWanted): Page<Item> {
  const data = rows.slice(0, limit)
  const last = data.at(-1)
  return { data, nextCursor: last && rows.length > limit ? encodeCursor(last) : null }
}

/** A page that may end before `limit` items, because its bytes are limited. `more`: whether there are items after it. */
export type BoundedItems<Item> = { items: Item[]; more: boolean }

/** Like `pageRequest`, for a list whose pages are limited by bytes: at most `limit` rows. Throws as `decodeCursor`. */
export function boundedRequest({ limit, cursor }: PageWanted): PageRequest {
  return { limit, before: cursor === undefined ? top : decodeCursor(cursor) }
}

/** The page of the items that `boundedRequest` asked for. */
export function boundedPageOf<Item extends Position>({ items, more }: BoundedItems<Item>): Page<Item> {
  const last = items.at(-1)
  return { data: items, nextCursor: last && more ? encodeCursor(last) : null }
}

/** A list with a fixed order, such as the chunks of a document. A position counts from 0. */
export type PlacedRequest = { limit: number; after: number }

/** Like `pageRequest`, for a list by position. Throws as `decodeCursor`. */
export function placedRequest({ limit, cursor }: PageWanted): PlacedRequest {
  return { limit: limit + 1, after: cursor === undefined ? -1 : decodeCursor(cursor).createdAt }
}

/** Like `pageOf`, for a list by position. */
export function placedPageOf<Item extends { position: number }>(rows: Item[], { limit }: PageWanted): Page<Item> {
  const data = rows.slice(0, limit)
  const last = data.at(-1)
  return { data, nextCursor: last && rows.length > limit ? encodeCursor({ createdAt: last.position, id: 'position' }) : null }
}

export function encodeCursor({ createdAt, id }: Position): string {
  return Buffer.from(`${createdAt}:${id}`).toString('base64url')
}

/** Throws ApiError `validation_error` for a text that `encodeCursor` did not create. */
export function decodeCursor(cursor: string): Position {
  const text = cursor.length <= maxCursor ? Buffer.from(cursor, 'base64url').toString('latin1') : ''
  const [, createdAt, id] = shape.exec(text) ?? []
  const position = { createdAt: Number(createdAt), id: id ?? '' }
  // Encoded again and compared, because base64 decoders ignore invalid characters.
  if (!Number.isSafeInteger(position.createdAt) || encodeCursor(position) !== cursor) throw invalidCursor()
  return position
}

// A name of 255 code points, each of which may be six bytes of JSON, and five IDs, in base64.
const maxTextCursor = 4096

/** A cursor for lists with another order, whose positions are texts. */
export const encodeTextCursor = (texts: string[]): string => Buffer.from(JSON.stringify(texts)).toString('base64url')

/** The `count` texts of a cursor. Throws ApiError `validation_error` for a text that `encodeTextCursor` did not create. */
export function decodeTextCursor(cursor: string, count: number): string[] {
  let texts: unknown
  try {
    texts = cursor.length <= maxTextCursor ? JSON.parse(Buffer.from(cursor, 'base64url').toString()) : undefined
  } catch {
    throw invalidCursor()
  }
  const isTexts = (value: unknown): value is string[] =>
    // No database accepts U+0000 in a text.
    Array.isArray(value) && value.every((text) => typeof text === 'string' && text.isWellFormed() && !text.includes('\0'))
  if (!isTexts(texts) || texts.length !== count || encodeTextCursor(texts) !== cursor) throw invalidCursor()
  return texts
}

const invalidCursor = (): ApiError => invalid('cursor', 'The cursor is not valid; use next_cursor as it was given.')
