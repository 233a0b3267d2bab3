/** A webhook: an endpoint of an operator that is notified of events. */
import { eventTypes } from '../event-types.ts'
import { flag, id, list, one, orNull, text, time } from './field.ts'
import type { Change, Fields, Given, Resource } from './field.ts'

export const webhookFields = {
  id: { kind: id('whk'), example: 'whk_01jd3v9qk8x2m5n7p4r6t8w0yh' },
  url: {
    kind: text(1, 2000),
    create: 'required',
    change: true,
    audit: 'origin',
    option: { flags: '--new-url <url>', says: 'New URL', only: 'change' },
    example: 'https://shop.example/turnkeep',
  },
  events: {
    kind: list(one('*', ...eventTypes), 1, eventTypes.length),
    create: 'required',
    change: true,
    says: 'Types of events, or `["*"]` for all.',
    example: ['turn.completed', 'turn.failed'],
    option: { flags: '--event <types...>', says: 'Events to send (default: all)' },
  },
  ownerId: {
    kind: orNull(id('own')),
    create: 'optional',
    change: true,
    initial: null,
    says: 'Only events of this owner. Null: of all.',
    asks: 'Only events of this owner.',
    example: null,
    option: { flags: '--owner <owner>', says: 'Only events of this owner' },
  },
  agentId: {
    kind: orNull(id('agt')),
    create: 'optional',
    change: true,
    initial: null,
    says: 'Only events of this agent. Null: of all.',
    asks: 'Only events of this agent. With `owner_id`, it must be an agent of that owner.',
    example: null,
    option: { flags: '--agent <agent>', says: 'Only events of this agent' },
  },
  description: {
    kind: orNull(text(0, 1000)),
    create: 'optional',
    change: true,
    initial: null,
    example: 'Order system',
    option: { flags: '--description <text>', says: 'Description' },
  },
  includeMessages: {
    kind: flag,
    create: 'optional',
    change: true,
    initial: false,
    says: 'Whether the bodies contain messages and comments of end users.',
    asks: 'Include messages and comments of end users. Default: false.',
    example: false,
    option: { flags: '--include-messages', says: 'Send messages and comments of end users, too', no: 'Send IDs, states and usage only' },
  },
  enabled: {
    kind: flag,
    change: true,
    says: 'If false, no events are recorded for the webhook, and its pending deliveries wait until it is enabled.',
    example: true,
    option: { flags: '--enabled', says: 'Send events again', no: 'Send and record no events' },
  },
  disabledReason: {
    kind: orNull(text(0, 1000)),
    says: 'Why the service disabled the webhook: its endpoint answered 410. The delivery that got this answer has failed, and the other pending ones wait until the webhook is enabled. Null if it is enabled, or if you disabled it.',
    example: null,
  },
  previousSecretExpiresAt: {
    kind: orNull(time),
    column: null,
    says: 'Until then, deliveries are also signed with the previous secret. After several rotations: the end of the last of the old secrets.',
    example: null,
  },
  createdAt: { kind: time, example: '2026-11-21T09:00:00.000Z' },
  updatedAt: { kind: time, example: '2026-11-21T09:00:00.000Z' },
} as const satisfies Fields

export type Webhook = Resource<typeof webhookFields>
export type GivenWebhook = Given<typeof webhookFields>
export type WebhookChange = Change<typeof webhookFields>
