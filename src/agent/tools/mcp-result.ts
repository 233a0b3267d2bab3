/**
 * Turns the result of an MCP tool into clean, bounded text for the model: texts, embedded text files and structured content. Images, audio
 * and other files are only mentioned, not passed on. Servers deviate from the protocol here more than anywhere else, so nothing is an error.
 */
import { cleanText } from '../clean-text.ts'
import { isObject, jsonOf } from '../models/transport/fields.ts'
import type { Fields } from '../models/transport/fields.ts'
import { fitting, redacted, textOf } from './answer-text.ts'
import { secretsIn } from './mcp-failure.ts'
import type { ToolResult } from './tool-config.ts'

// Name, type or address of a resource, in characters.
const maxLabel = 200

/** `shown`: it has what the tool answered, and not only a note about it. */
type Part = { text: string; shown: boolean }

/** `answer` is what the server sent as the result of a call. */
export function resultOf(answer: unknown, headers: Record<string, string>): ToolResult {
  const fields = isObject(answer) ? answer : {}
  const parts = partsIn(isObject(answer) ? answer['content'] : answer)
  const structured = fields['structuredContent'] ?? fields['toolResult'] ?? undefined
  if (structured !== undefined && !parts.some(({ shown }) => shown))
    parts.push({ text: jsonOf(structured) ?? '[Structured content that is nested too deeply, not shown]', shown: true })
  const text = parts.map((part) => part.text).join('\n') || '[The tool answered without content.]'
  const isError = fields['isError'] === true || fields['isError'] === 'true'
  return { text: redacted(cleanText(text), secretsIn(headers)), isError, answered: true, passages: [] }
}

/** Returns an error for the model that Turnkeep wrote, in place of a tool's result. */
export function refusal(text: string): ToolResult {
  return { text: fitting(cleanText(`Error: ${text}.`)), isError: true, answered: false, passages: [] }
}

/** A server may send one part, or only its text, in place of a list. */
function partsIn(content: unknown): Part[] {
  if (content === undefined || content === null) return []
  return (Array.isArray(content) ? content : [content]).map(partOf).filter(({ text }) => text !== '')
}

const shown = (text: string): Part => ({ text, shown: text.trim() !== '' })
const note = (text: string): Part => ({ text: `[${text}]`, shown: false })

function partOf(part: unknown): Part {
  if (!isObject(part))
    return part === null ? note('content of an unknown kind, not shown') : shown(typeof part === 'string' ? part : String(jsonOf(part)))
  const { type, text, resource, data, mimeType } = part
  switch (type) {
    case 'image':
    case 'audio':
      return note(`${type} ${label(mimeType, 'of an unknown type')}, ${sizeOf(data)}not shown`)
    case 'resource':
      return isObject(resource) ? resourcePart(resource) : note('resource without content')
    case 'resource_link':
      return linkPart(part)
    default:
      if (typeof text === 'string') return shown(text)
      return type === 'text'
        ? shown('')
        : note(`content of ${typeof type === 'string' ? `the kind ${label(type)}` : 'an unknown kind'}, not shown`)
  }
}

function resourcePart(resource: Fields): Part {
  const { uri, mimeType, text, blob } = resource
  const heading = ['resource', label(uri), ...(typeof mimeType === 'string' ? [label(mimeType)] : [])].join(' ')
  const said = typeof text === 'string' ? text : decoded(blob, mimeType)
  return said === undefined ? note(`${heading}, ${sizeOf(blob)}not shown`) : shown(`[${heading}]\n${said}`)
}

/** A link is not followed, so the model gets what the server says about its target. */
function linkPart({ name, title, uri, description, text }: Fields): Part {
  const about = [description, text].filter((one) => typeof one === 'string' && one !== '')
  const line = `[link to the resource ${label(name ?? title)}: ${label(uri)}]`
  return { text: [line, ...about].join('\n'), shown: true }
}

/** A text file that the server sent as bytes. Undefined if it is not text. */
function decoded(blob: unknown, mimeType: unknown): string | undefined {
  if (typeof blob !== 'string' || typeof mimeType !== 'string') return undefined
  return textOf({ contentType: mimeType, body: Buffer.from(blob, 'base64'), truncated: false })
}

/** Of base64 data. */
function sizeOf(data: unknown): string {
  if (typeof data !== 'string' || data === '') return ''
  const bytes = Buffer.byteLength(data, 'base64')
  return bytes < 1024 ? `${bytes} bytes, ` : `${Math.round(bytes / 1024)} KB, `
}

function label(value: unknown, otherwise = 'unnamed'): string {
  return typeof value === 'string' && value !== ''
    ? value
        .slice(0, maxLabel)
        .replaceAll(/[\s\p{Cc}[\]]+/gu, ' ')
        .trim()
    : otherwise
}
