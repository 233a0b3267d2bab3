/** The content of a version as lines to compare: each field with its label. Pure. */
import type { AgentVersion, Tool } from '../api/types.ts'
import { shortAmount } from './short-amount.ts'

export type Content = Omit<AgentVersion, 'version' | 'created_at'>
/** `long`: a text with many lines, which are compared line by line. */
export type Field = { label: string; text: string; long?: true }

function fieldsOf(content: Content): Field[] {
  const { price, history, knowledge } = content
  return [
    { label: 'name', text: content.name },
    { label: 'system prompt', text: content.system_prompt, long: true },
    { label: 'model', text: content.model },
    { label: 'prompt price', text: `$${shortAmount(price.prompt_usd_per_million)}` },
    { label: 'completion price', text: `$${shortAmount(price.completion_usd_per_million)}` },
    { label: 'cached prompt price', text: orPromptPrice(price.cached_prompt_usd_per_million) },
    { label: 'cache write price', text: orPromptPrice(price.cache_write_usd_per_million) },
    { label: 'max output tokens', text: content.max_output_tokens.toLocaleString() },
    { label: 'temperature', text: content.temperature === null ? 'model default' : String(content.temperature) },
    { label: 'max steps', text: content.max_steps.toLocaleString() },
    { label: 'max tool calls', text: content.max_tool_calls.toLocaleString() },
    { label: 'max message length', text: content.max_message_length.toLocaleString() },
    { label: 'max history tokens', text: history.max_tokens.toLocaleString() },
    { label: 'max passages', text: knowledge.top_k.toLocaleString() },
    { label: 'max passage tokens', text: knowledge.max_tokens.toLocaleString() },
    { label: 'embedding model', text: knowledge.embedding_model ?? 'none (word search only)' },
    { label: 'document language', text: knowledge.language ?? 'english' },
    ...content.tools.map((tool): Field => ({ label: labelOf(tool), text: JSON.stringify(readable(tool), undefined, 2), long: true })),
  ]
}

const orPromptPrice = (amount: string | null): string => (amount === null ? 'the prompt price' : `$${shortAmount(amount)}`)

const labelOf = ({ type, name }: Tool): string => (type === 'mcp' ? `MCP server ${name}` : `tool ${name}`)

/** Headers and secrets by name, because their values cannot be compared. */
function readable(tool: Tool): object {
  switch (tool.type) {
    case 'http':
      return { ...tool, headers: Object.keys(tool.headers), secrets: Object.keys(tool.secrets) }
    case 'mcp':
      return { ...tool, headers: Object.keys(tool.headers) }
    case 'builtin':
      return tool
  }
}

export type Difference = { label: string; before: string | undefined; now: string | undefined; long: boolean }

/** All fields of both versions in order; a field that one of them does not have is undefined there. */
export function compare(before: Content, now: Content): Difference[] {
  const previous = new Map(fieldsOf(before).map((field) => [field.label, field]))
  const present = fieldsOf(now)
  const labels = new Set(present.map(({ label }) => label))
  const removed = [...previous.values()].filter(({ label }) => !labels.has(label))
  return [
    ...present.map(({ label, text, long }) => ({ label, before: previous.get(label)?.text, now: text, long: long ?? false })),
    ...removed.map(({ label, text }) => ({ label, before: text, now: undefined, long: true })),
  ]
}

export const changedLabels = (before: Content, now: Content): string[] =>
  compare(before, now)
    .filter((one) => one.before !== one.now)
    .map(({ label }) => label)
