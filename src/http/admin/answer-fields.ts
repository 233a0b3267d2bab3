/** Response fields that several schemas of the admin API share. */
import type { TSchema } from 'typebox'
import { Type } from '../edge/schema.ts'

export const Time = Type.String({ format: 'date-time', description: 'UTC, with milliseconds.' })
export const TimeOrNull = Type.Union([Time, Type.Null()])
export const AmountUsd = Type.String({ pattern: '^-?\\d+\\.\\d{8}$', examples: ['9.99992740'] })
export const Count = Type.Integer({ minimum: 0 })
export const orNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
export const idOf = (prefix: string) => Type.String({ examples: [`${prefix}_01jd3v9qk8x2m5n7p4r6t8w0ya`] })
export const RequestId = Type.String({ format: 'uuid' })
export const Price = Type.Object({
  prompt_usd_per_million: AmountUsd,
  completion_usd_per_million: AmountUsd,
  cached_prompt_usd_per_million: Type.Union([AmountUsd, Type.Null()], {
    description: 'Of prompt tokens that the provider read from its cache. Null: the prompt price.',
  }),
  cache_write_usd_per_million: Type.Union([AmountUsd, Type.Null()], {
    description: 'Of prompt tokens that the provider wrote to its cache. Null: the prompt price.',
  }),
})
export const PriceSource = Type.Union(
  [
    Type.Object({
      from: Type.Enum(['operator', 'price_list', 'built_in']),
      list: Type.Union([Type.String(), Type.Null()], { description: 'Name and version of the price list.' }),
      date: Type.Union([Type.String({ format: 'date' }), Type.Null()], { description: 'When the price was set.' }),
    }),
    Type.Null(),
  ],
  { description: 'Where the price comes from. Null for a version that was saved before this was recorded.' },
)
export const NextCursor = Type.Union([Type.String(), Type.Null()], {
  description: 'Pass as `cursor` to get the next page. Null on the last page.',
})
export const Version = Type.Integer({ minimum: 1 })
