/**
 * Limits on what a provider can put into one answer, so that no provider can fill the memory, the journal or the next prompt. Beyond a limit
 * the model server is assumed to ignore the output token limit, or to be broken. An answer that respects it is never cut: no vocabulary in
 * use has a token of more than 128 bytes.
 */
import { ModelError } from './model.ts'

const maxToken = 128
// For ids, names and JSON around tool calls, which providers do not count as output tokens.
const besideTokens = 64 * 1024

/** 8 MiB: the most memory that an answer can use, however large its output token limit is. */
export const maxAnswer = 8 * 1024 * 1024

/** Returns the limit for text and tool calls, in characters. */
export const answerLimit = (maxOutputTokens: number): number => Math.min(maxAnswer, maxOutputTokens * maxToken + besideTokens)

/**
 * Returns the limit for a whole JSON body, in bytes. It is larger because JSON can need six bytes per character and may contain reasoning.
 */
export const bodyLimit = (maxOutputTokens: number): number => Math.min(maxAnswer, answerLimit(maxOutputTokens) * 6)

/**
 * Tool calls of one answer, and of all answers of a turn. An agent's `max_tool_calls` is at most 128. A model that asks for some hundreds
 * more gets an error for each of them (`tools.caps`); a longer list is not an answer.
 */
export const maxAnswerCalls = 1024

/** Blocks of text and reasoning, citations and files of one answer, and details of its reasoning. Real answers have a few dozen. */
export const maxAnswerParts = 2048

/** Characters. Providers accept 64; a longer name is no tool's, and is cut so that its error can still name it. */
export const maxCallName = 256

/** Characters. Ids have a few dozen; some gateways append the signature of the model's reasoning, which has a few thousand. */
export const maxCallId = 8192

// For keep-alive events and for the events that start and end each part.
const besideDeltas = 16_384

/** Returns the limit for the events of one stream. Providers send one event for each token or for several. */
export const eventLimit = (maxOutputTokens: number): number => besideDeltas + 4 * maxOutputTokens

export const tooManyCalls = (): ModelError => tooMuch(`has more than ${maxAnswerCalls} tool calls`)
export const tooManyParts = (): ModelError => tooMuch(`has more than ${maxAnswerParts} parts`)
export const tooManyEvents = (limit: number): ModelError => tooMuch(`has more than ${limit} events`)
export const tooLong = (limit: number): ModelError => tooMuch(`exceeds ${limit} characters`)

const tooMuch = (how: string): ModelError => new ModelError('unavailable', 'answer_too_large', `the model's answer ${how}`)
