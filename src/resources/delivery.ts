/** A delivery: an event for one webhook, with its attempts. */
import { eventTypes } from '../event-types.ts'
import { one, orNull, text, time, whole } from './field.ts'
import type { Fields, Resource } from './field.ts'

export const deliveryStates = ['pending', 'delivered', 'failed'] as const
export type DeliveryState = (typeof deliveryStates)[number]

export const deliveryFields = {
  id: {
    kind: text(1, 100),
    says: 'The ID of the event, which is the `webhook-id` of every attempt.',
    example: 'evt_0198c0de-7a3b-7c4d-8e5f-60718293a4b5_turn_completed',
  },
  type: { kind: one(...eventTypes), example: 'turn.completed' },
  state: {
    kind: one(...deliveryStates),
    name: 'status',
    says: '`failed`: after the last attempt. It can be retried for 30 days.',
    example: 'pending',
  },
  /** Those that have ended. */
  attempts: { kind: whole(0, Infinity), example: 1 },
  nextAttemptAt: {
    kind: orNull(time),
    says: 'When a pending delivery is sent next. While its webhook is disabled, it waits. Null if it has ended.',
    example: '2026-11-21T14:12:03.400Z',
  },
  lastStatus: {
    kind: orNull(whole(0, Infinity)),
    says: 'The HTTP status of the last attempt, also of a redirect. Null without a response.',
    example: 503,
  },
  lastError: { kind: orNull(text(0, Infinity)), says: 'Why the last attempt failed.', example: 'the endpoint answered 503' },
  createdAt: { kind: time, example: '2026-11-21T14:11:58.332Z' },
  endedAt: { kind: orNull(time), example: null },
} as const satisfies Fields

export type Delivery = Resource<typeof deliveryFields>
