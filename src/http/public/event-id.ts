/**
 * The IDs of stream events: the position in the text after the event (`stream.resume`). Opaque to callers. The ID of the last event of a turn
 * that has ended for good names no position, because nothing follows it.
 */
import type { TextPosition } from '../../turn/turn-text.ts'

export const lastEventId = 'end'

const radix = 36

export const writeEventId = ({ offset, checksum }: TextPosition): string => `${offset.toString(radix)}-${checksum.toString(radix)}`

/** Undefined for a text that is not an ID of this service. */
export function readEventId(id: string): TextPosition | typeof lastEventId | undefined {
  if (id === lastEventId) return id
  // The longest reply has 8,388,608 characters, and a checksum 32 bits.
  const match = /^([0-9a-z]{1,6})-([0-9a-z]{1,7})$/.exec(id)
  if (!match) return undefined
  const checksum = Number.parseInt(match[2]!, radix)
  return checksum > 0xffff_ffff ? undefined : { offset: Number.parseInt(match[1]!, radix), checksum }
}
