/** What the admin routes share: schemas of fields that come again, and how amounts, times and pages are written on the wire. */
import type { Static } from 'typebox'
import { ApiError } from '../errors.ts'
import { formatUsd, parseUsd } from '../ledger/ledger.ts'
import type { Amount } from '../ledger/ledger.ts'
import { wellFormedPattern } from './invalid-input.ts'
import { Type } from './schema.ts'

/** `text.well-formed`; lengths are code points. */
export const wellFormed = (limits: { minLength?: number; maxLength: number }) => Type.String({ ...limits, pattern: wellFormedPattern })

// 200: any name of a person, a company or a machine, and still one line of a console.
export const Name = wellFormed({ minLength: 1, maxLength: 200 })

export const Id = Type.String({ minLength: 1, maxLength: 100 })
export const IdParams = Type.Object({ id: Id })

/** A decimal string of USD; `readUsd` checks the rest and the bounds. */
export const Usd = Type.String({ minLength: 1, maxLength: 24 })

/** Throws ApiError `validation_error` naming the field. */
export function readUsd(field: string, text: string): Amount {
  const amount = parseUsd(text)
  if (amount === undefined) {
    throw new ApiError(
      'validation_error',
      `${field} must be a decimal string of USD within a billion and with at most 8 places, as "10.50".`,
    )
  }
  return amount
}

export { formatUsd as writeUsd }

export const writeTime = (epochMs: number): string => new Date(epochMs).toISOString()
export const writeTimeOrNull = (epochMs: number | null): string | null => (epochMs === null ? null : writeTime(epochMs))

/** Query strings are text; `readPage` reads the number. */
export const pageQuery = { limit: Type.Optional(Type.String()), cursor: Type.Optional(Type.String()) }
export const PageQuery = Type.Object(pageQuery, { additionalProperties: false })

/** `paging`: `limit` is 1 to 100 and 20 where it is absent. Throws ApiError `validation_error`. */
export function readPage({ limit = '20', cursor }: Static<typeof PageQuery>): { limit: number; cursor: string | undefined } {
  if (!/^([1-9][0-9]?|100)$/.test(limit)) throw new ApiError('validation_error', 'limit must be a whole number from 1 to 100.')
  return { limit: Number(limit), cursor }
}

export function writePage<Item>(page: { data: Item[]; nextCursor: string | null }, write: (item: Item) => object): object {
  return { data: page.data.map(write), next_cursor: page.nextCursor }
}
