/**
 * The IDs of stream events: the position in the text after the event (`stream.resume`). Opaque to callers. The ID of the last event of a turn
 * that has ended for good names no position, because nothing follows it.
 */
import type { TextPosition } from '../../turn/turn-text.ts'

export const lastEventId = 'end'
export type EventPosition = TextPosition | typeof lastEventId

/** Decimal: Node writes numbers six times faster with base 10 than with any other base, and this is done for each delta. */
export const writeEventId = ({ offset, checksum }: TextPosition): string => `${offset}-${checksum}`

/** Undefined for a text that is not an ID of this service. */
export function readEventId(id: string): EventPosition | undefined {
  if (id === lastEventId) return id
  // The longest reply has 8,388,608 characters, and a checksum 32 bits.
  const match = /^(\d{1,7})-(\d{1,10})$/.exec(id)
  if (!match) return undefined
  const checksum = Number(match[2])
  return checksum > 0xffff_ffff ? undefined : { offset: Number(match[1]), checksum }
}
