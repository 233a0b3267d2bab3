/**
 * Finds the message in `messages` or `input`: the text of the last message of the user. The server has the history, so nothing before that
 * message is read, whatever it contains: a client repeats it and cannot change it. Refused are a system message with text, a tool result that
 * waits for an answer, and a last message that is not text alone (`openai.refused-parameters`).
 */
import { isLongerThan } from '../../code-points.ts'
import { maxMessage, tooLong } from '../edge/invalid-input.ts'
import { invalidField, unsupported } from './openai-error.ts'
import { isBlank, isRecord, isWellFormed } from './parameters.ts'

// A part without a type is text if it has a text. `output_text` and `refusal` are what a client quotes of earlier replies.
const textParts = new Set<unknown>([undefined, null, 'text', 'input_text', 'output_text'])
const textField = (type: unknown): string | undefined => (type === 'refusal' ? 'refusal' : textParts.has(type) ? 'text' : undefined)
/** Any JSON value may be where a type is. */
const nameOf = (type: unknown): string => (typeof type === 'string' ? type : '')

/** `param`: the parameter that was read. Throws OpenAiError. */
export function findMessage(param: 'messages' | 'input', value: string | unknown[]): string {
  const message = typeof value === 'string' ? value : lastUserText(param, value)
  if (message === '') throw invalidField(param, `The last user message of ${param} must not be empty.`)
  if (!isWellFormed(message)) throw invalidField(param, `${param} must not contain U+0000 or unpaired surrogates.`)
  if (isLongerThan(message, maxMessage)) throw invalidField(param, tooLong('The message', maxMessage))
  return message
}

function lastUserText(param: string, items: unknown[]): string {
  for (const [index, item] of items.entries()) refuseSystemText(param, item, index)
  // It asks for a reply to the result. The last user message has its reply already, and would be charged again.
  if (isToolResult(items.at(-1)))
    throw unsupported(param, `The last item is the result of a tool, but the agent has its own tools. Send a message of the user instead.`)
  const last = items.findLastIndex((item) => isRecord(item) && item['role'] === 'user')
  if (last === -1) throw invalidField(param, `${param} must contain a message of the user.`)
  return textOf(param, (items[last] as { content?: unknown }).content, `${param}[${last}]`)
}

function refuseSystemText(param: string, item: unknown, index: number): void {
  if (!isRecord(item) || (item['role'] !== 'system' && item['role'] !== 'developer')) return
  // Many front ends send an empty one if the user has set none.
  if (partsOf(item['content']).every(isBlankPart)) return
  throw unsupported(
    param,
    `${param}[${index}] is a ${item['role']} message, but the agent has its own system prompt. Remove the system prompt from the settings of the client.`,
  )
}

const isToolResult = (item: unknown): boolean =>
  isRecord(item) &&
  (item['role'] === 'tool' || item['role'] === 'function' || /_(?:call_output|approval_response)$/.test(nameOf(item['type'])))

/** Some clients send one part without a list. */
const partsOf = (content: unknown): unknown[] => (Array.isArray(content) ? content : [content])

function isBlankPart(part: unknown): boolean {
  if (!isRecord(part)) return isBlank(part)
  const field = textField(part['type'])
  return field !== undefined && isBlank(part[field] ?? null)
}

const textOf = (param: string, content: unknown, at: string): string =>
  Array.isArray(content)
    ? content.map((part, index) => partText(param, part, `${at}.content[${index}]`)).join('')
    : partText(param, content, `${at}.content`)

function partText(param: string, part: unknown, at: string): string {
  if (part === undefined || part === null) return ''
  if (typeof part === 'string') return part
  if (!isRecord(part)) throw invalidField(param, `${at} must be a string or a list of parts.`)
  const field = textField(part['type'])
  if (field === undefined)
    throw unsupported(param, `${at} is ${kindOf(part['type'])}, but only text is read. Remove it from the message and send it again.`)
  const text = part[field] ?? ''
  if (typeof text !== 'string') throw invalidField(param, `${at}.${field} must be a string.`)
  return text
}

/** Repeats no text of the caller. */
function kindOf(type: unknown): string {
  const name = nameOf(type)
  if (name.includes('image')) return 'an image'
  if (name.includes('audio')) return 'audio'
  if (name.includes('video')) return 'a video'
  return name.includes('file') || name.includes('document') ? 'a file' : 'not text'
}
