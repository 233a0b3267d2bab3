/**
 * The IDs of OpenAI's formats. Each contains the request ID of the turn without its dashes, so nothing is stored for them and each leads back to
 * its turn. A conversation has the ID that it has everywhere.
 */

const compact = (requestId: string): string => requestId.replaceAll('-', '')

export const responseId = (requestId: string): string => `resp_${compact(requestId)}`
export const completionId = (requestId: string): string => `chatcmpl-${compact(requestId)}`
/** Of the reply as an item. The item exists before the reply is stored, so this is not the ID of the message. */
export const replyItemId = (requestId: string): string => `msg_${compact(requestId)}`
export const inputItemId = (requestId: string): string => `msg_${compact(requestId)}_in`

/** The request ID in the ID of a response, or undefined for any other text. */
export function requestIdOf(id: string): string | undefined {
  const match = /^resp_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/.exec(id)
  return match?.slice(1).join('-')
}

/** Unix seconds of the admission: a request ID starts with its time (UUID version 7), so every answer about a turn has the same. */
export const createdAt = (requestId: string): number => Math.floor(Number.parseInt(compact(requestId).slice(0, 12), 16) / 1000)
