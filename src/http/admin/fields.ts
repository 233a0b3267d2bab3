/** Request fields that the admin routes share, and functions that read and write amounts, times and pages. */
import type { Static } from 'typebox'
import type { PriceSource } from '../../agent/agent-config.ts'
import { invalid } from '../../errors.ts'
import { formatUsd, parseUsd } from '../../ledger/ledger.ts'
import type { Amount, Price } from '../../ledger/ledger.ts'
import type { Price as PriceAnswer, PriceSource as PriceSourceAnswer } from './answer-fields.ts'
import { exampleId } from '../public/answers.ts'
import { wellFormedPattern } from '../edge/invalid-input.ts'
import { Type } from '../edge/schema.ts'

/** `text.well-formed`. Lengths are in code points. */
export const wellFormed = (limits: { minLength?: number; maxLength: number }) => Type.String({ ...limits, pattern: wellFormedPattern })

// 200 characters fit any name of a person, a company or a machine, and still fit on one line of a terminal.
export const Name = wellFormed({ minLength: 1, maxLength: 200 })

/** An ID in a request, with its own description. */
export const idGiven = (prefix: string, description?: string) =>
  Type.String({
    ...wellFormed({ minLength: 1, maxLength: 100 }),
    ...(description && { description }),
    examples: [`${prefix}_01jd3v9qk8x2m5n7p4r6t8w0ya`],
  })
export const OwnerParams = Type.Object({ id: idGiven('own', 'Id of the owner.') })
export const ProviderParams = Type.Object({ id: idGiven('prv', 'Id of the provider.') })
export const AgentParams = Type.Object({ id: idGiven('agt', 'Id of the agent.') })
export const WebhookParams = Type.Object({ id: idGiven('whk', 'Id of the webhook.') })
export const KeyParams = Type.Object({ id: idGiven('key', 'Id of the API key (`key_…`), not the public part of the key.') })
export const ConversationParams = Type.Object({ id: idGiven('conv', 'Id of the conversation.') })

export const TurnParams = Type.Object({
  request_id: Type.String({
    ...wellFormed({ minLength: 1, maxLength: 100 }),
    description: 'The `request_id` that the caller received.',
    examples: [exampleId],
  }),
})

/** In a request: the name of an end user. */
export const ExternalUserId = Type.String({
  ...wellFormed({ minLength: 1, maxLength: 255 }),
  description: 'The `external_user_id` of an end user, exactly as callers send it.',
  examples: ['customer-4711'],
})

/** A decimal string of USD. `readUsd` validates the format and the range. */
export const Usd = Type.String({ minLength: 1, maxLength: 24 })

/** Throws ApiError `validation_error` naming the field. */
export function readUsd(field: string, text: string): Amount {
  const amount = parseUsd(text)
  if (amount === undefined) {
    throw invalid(field, `${field} must be a decimal string of at most a billion USD with at most 8 decimal places, such as "10.50".`)
  }
  return amount
}

export { formatUsd as writeUsd }

export const writePrice = (price: Price): Static<typeof PriceAnswer> => ({
  prompt_usd_per_million: formatUsd(price.promptPerMillion),
  completion_usd_per_million: formatUsd(price.completionPerMillion),
  cached_prompt_usd_per_million: writeUsdOrNull(price.cachedPromptPerMillion),
  cache_write_usd_per_million: writeUsdOrNull(price.cacheWritePerMillion),
})

const writeUsdOrNull = (amount: Amount | null): string | null => (amount === null ? null : formatUsd(amount))

export const writePriceSource = (source: PriceSource | null): Static<typeof PriceSourceAnswer> =>
  source && { from: source.from, list: source.list, date: source.date }

export const writeTime = (epochMs: number): string => new Date(epochMs).toISOString()
export const writeTimeOrNull = (epochMs: number | null): string | null => (epochMs === null ? null : writeTime(epochMs))

/** `readMoment` validates the format. */
export const Moment = Type.String({
  description: 'A date such as 2026-11-21 (midnight UTC), or a time with a zone such as 2026-11-21T12:00:00Z.',
})

/** Returns epoch milliseconds. Throws ApiError `validation_error` naming the field, also for days and times that do not exist. */
export function readMoment(field: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const known = /^(\d{4}-\d{2}-\d{2})(T(\d{2}):\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/.exec(text)
  const moment = known ? Date.parse(text) : NaN
  const [, day = '', , hour] = known ?? []
  // Date.parse reads February 31 as March 3, and 24:00 as the next day.
  const exists = !Number.isNaN(moment) && hour !== '24' && new Date(day).toISOString().startsWith(day)
  if (known && !exists) {
    throw invalid(
      field,
      `${field} is a day or a time that does not exist. Check the month, the day, the hour (00 to 23), minutes, seconds and the zone.`,
    )
  }
  if (!known || moment < 0) {
    throw invalid(field, `${field} must be a date such as 2026-11-21, or a time with a zone such as 2026-11-21T12:00:00Z.`)
  }
  return moment
}

/** Query values are text; `readPage` converts the number. */
export const pageQuery = {
  limit: Type.Optional(Type.String({ description: 'Page size, 1 to 100. Default: 20.', examples: ['50'] })),
  cursor: Type.Optional(Type.String({ description: 'The `next_cursor` of the previous page. Omit it to get the first page.' })),
}
export const PageQuery = Type.Object(pageQuery, { additionalProperties: false })

/** For requests without fields: the body is optional. */
export const EmptyBody = Type.Union([Type.Object({}, { additionalProperties: false }), Type.Null()], { examples: [{}] })

/** `paging`: `limit` is 1 to 100, by default 20. Throws ApiError `validation_error`. */
export function readPage({ limit = '20', cursor }: Static<typeof PageQuery>): { limit: number; cursor: string | undefined } {
  if (!/^([1-9][0-9]?|100)$/.test(limit)) throw invalid('limit', 'limit must be a whole number from 1 to 100.')
  return { limit: Number(limit), cursor }
}

export const writePage = <Item, Written>(page: { data: Item[]; nextCursor: string | null }, write: (item: Item) => Written) => ({
  data: page.data.map(write),
  next_cursor: page.nextCursor,
})
