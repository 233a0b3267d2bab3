/** How a request of the admin API names an end user. */
import { Type } from '../edge/schema.ts'
import { wellFormed } from './fields.ts'

export const externalUserId = Type.String({
  ...wellFormed({ minLength: 1, maxLength: 255 }),
  description: 'The `external_user_id` exactly as callers send it.',
  examples: ['customer-4711'],
})

export const EndUserQuery = Type.Object({ external_user_id: externalUserId }, { additionalProperties: false })
