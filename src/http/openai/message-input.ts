/**
 * Finds the message in `messages` or `input`: the text of the last message of the user. The server has the history, so earlier messages are
 * ignored; what would change the agent, or is not text, is refused wherever it is
 * (`openai.refused-parameters`).
 */
import { maxMessage, tooLong } from '../edge/invalid-input.ts'
import { invalidField, unsupported } from './openai-error.ts'
import type { OpenAiError } from './openai-error.ts'
import { isRecord, isWellFormed } from './parameters.ts'

// `output_text` and `refusal` are what a client repeats of earlier replies.
const textParts: Record<string, string> = { text: 'text', input_text: 'text', output_text: 'text', refusal: 'refusal' }
// What a client repeats of earlier responses and has no effect here.
const ignoredItems = new Set(['item_reference', 'reasoning'])

/** `param`: the parameter that was read. Throws OpenAiError. */
export function findMessage(param: 'messages' | 'input', value: string | unknown[]): string {
  const texts = typeof value === 'string' ? [value] : value.flatMap((item, index) => userText(param, item, `${param}[${index}]`) ?? [])
  const message = texts.at(-1)
  if (message === undefined) throw invalidField(param, `${param} must contain a message of the user.`)
  if (message === '') throw invalidField(param, `The last user message of ${param} must not be empty.`)
  if (!isWellFormed(message)) throw invalidField(param, `${param} must not contain U+0000 or unpaired surrogates.`)
  if (message.length > maxMessage && [...message].length > maxMessage) throw invalidField(param, tooLong('The message', maxMessage))
  return message
}

/** The text of a message of the user; undefined for one of the assistant. `at`: its place, for errors. */
function userText(param: string, item: unknown, at: string): string | undefined {
  if (!isRecord(item)) throw invalidField(param, `${at} must be an object.`)
  const { type = 'message', role, content } = item
  if (ignoredItems.has(String(type))) return undefined
  if (type !== 'message') throw unsupported(param, `${at} is not a message. The agent has its own tools.`)
  if (role === 'system' || role === 'developer')
    throw unsupported(param, `${at} is a ${role} message. The agent has its own system prompt.`)
  if (role === 'assistant') return undefined
  if (role !== 'user') throw unsupported(param, `${at} has a role other than user and assistant.`)
  return textOf(param, content, at)
}

function textOf(param: string, content: unknown, at: string): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) throw invalidField(param, `${at}.content must be a string or a list of parts.`)
  return content.map((part, index) => partText(param, part, `${at}.content[${index}]`)).join('')
}

function partText(param: string, part: unknown, at: string): string {
  if (!isRecord(part)) throw invalidField(param, `${at} must be an object.`)
  const field = textParts[String(part['type'])]
  if (field === undefined) throw notText(param, at)
  const text = part[field]
  if (typeof text !== 'string') throw invalidField(param, `${at}.${field} must be a string.`)
  return text
}

const notText = (param: string, at: string): OpenAiError =>
  unsupported(param, `${at} is not text. Images, files and audio are not supported.`)
