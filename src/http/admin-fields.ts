/** What the admin routes share: schemas of fields that come again, and how amounts, times and pages are written on the wire. */
import { Type } from 'typebox'
import type { Static } from 'typebox'
import { ApiError } from '../errors.ts'
import { formatUsd, parseUsd } from '../ledger/ledger.ts'
import type { Amount } from '../ledger/ledger.ts'

/** `text.well-formed`: neither U+0000 nor a lone surrogate; lengths are code points. */
export const wellFormed = (limits: { minLength?: number; maxLength: number }) => Type.String({ ...limits, pattern: '^[^\\u0000\\p{Cs}]*$' })

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

/** Query strings are text; 20 where it is absent (rulings, `paging`). */
export const pageQuery = {
  limit: Type.Optional(Type.String({ pattern: '^([1-9][0-9]?|100)$' })),
  cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
}
export const PageQuery = Type.Object(pageQuery, { additionalProperties: false })

const defaultLimit = 20

export function readPage({ limit, cursor }: Static<typeof PageQuery>): { limit: number; cursor: string | undefined } {
  return { limit: limit === undefined ? defaultLimit : Number(limit), cursor }
}

export function writePage<Item>(page: { data: Item[]; nextCursor: string | null }, write: (item: Item) => object): object {
  return { data: page.data.map(write), next_cursor: page.nextCursor }
}
