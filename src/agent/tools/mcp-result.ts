/** Turns the result of an MCP tool into clean, bounded text for the model. Images, audio and files are only mentioned, not passed on. */
import type { CallToolResult } from '@ai-sdk/mcp'
import { cleanText } from '../clean-text.ts'
import { isObject } from '../models/transport/fields.ts'
import type { Fields } from '../models/transport/fields.ts'
import { fitting, redacted } from './answer-text.ts'
import { secretsIn } from './mcp-failure.ts'
import type { ToolResult } from './tool-config.ts'

// Name, type or address of a resource, in characters.
const maxLabel = 200

export function resultOf(answer: CallToolResult, headers: Record<string, string>): ToolResult {
  const parts = (Array.isArray(answer['content']) ? answer['content'] : []).filter(isObject).map(partText)
  const said = parts.filter((part) => part !== '').join('\n')
  const text = said === '' ? structured(answer) : said
  return { text: redacted(cleanText(text), secretsIn(headers)), isError: answer['isError'] === true, answered: true, passages: [] }
}

/** Returns an error for the model that Turnkeep wrote, in place of a tool's result. */
export function refusal(text: string): ToolResult {
  return { text: fitting(cleanText(`Error: ${text}.`)), isError: true, answered: false, passages: [] }
}

function structured(answer: Fields): string {
  const data = answer['structuredContent'] ?? answer['toolResult']
  return data === undefined ? '[The tool answered without content.]' : JSON.stringify(data)
}

function partText(part: Fields): string {
  switch (part['type']) {
    case 'text':
      return typeof part['text'] === 'string' ? part['text'] : ''
    case 'image':
    case 'audio':
      return `[${part['type']}, ${label(part['mimeType'])}, not shown]`
    case 'resource':
      return isObject(part['resource'])
        ? `[resource ${label(part['resource']['uri'])}, ${label(part['resource']['mimeType'])}, not shown]`
        : ''
    case 'resource_link':
      return `[link to the resource ${label(part['name'])}: ${label(part['uri'])}]`
    default:
      return '[content of an unknown kind, not shown]'
  }
}

function label(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, maxLabel).replaceAll(/[\s\p{Cc}[\]]+/gu, ' ') : 'unnamed'
}
