/**
 * Why the model ended a reply (`turn.finish-reason`), in the words of every API. Of a reply without one, the turn was cancelled, or it ended
 * before this was stored.
 */

/**
 * `length`: the model reached its output limit. `refused`: the model refused, and the reply is its refusal. `filtered`: a content filter of the
 * provider ended the text. `stop`: the model had finished.
 */
export const replyFinishReasons = ['stop', 'length', 'refused', 'filtered'] as const

export type ReplyFinishReason = (typeof replyFinishReasons)[number]

/** `incomplete`: the turn was cancelled. */
export type ReplyEnd = { incomplete: boolean; finishReason: ReplyFinishReason | null }

/** The text ends before its end: the turn was cancelled, or the model or its provider cut it off. A refusal is whole. */
export const isCutOff = ({ incomplete, finishReason }: ReplyEnd): boolean =>
  incomplete || finishReason === 'length' || finishReason === 'filtered'
