/** The types of events that webhooks are notified of, and how an event is named. */

export const eventTypes = [
  'turn.completed',
  'turn.failed',
  'turn.released',
  'turn.cancelled',
  'feedback.created',
  'balance.low',
  'balance.exhausted',
  'spend_limit.reached',
  'document.ready',
  'document.failed',
] as const
export type EventType = (typeof eventTypes)[number]

export type NewEvent = {
  type: EventType
  /** What the event is about, an ID without full stops. With the type it is unique: the same event is never recorded twice. */
  subject: string
  ownerId: string
  /** Null for events of an owner, which webhooks of one agent do not get. */
  agentId: string | null
}

/**
 * The ID of an event, which is the `webhook-id` of its deliveries. It is made of type and subject and of nothing else, so a repeated
 * transaction gives the same ID. The constraint event_id_is_type_and_subject computes it too.
 */
export const eventId = ({ type, subject }: Pick<NewEvent, 'type' | 'subject'>): string => `evt_${subject}_${type.replaceAll('.', '_')}`
