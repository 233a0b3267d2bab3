/** Converts a request into the format of the AI SDK provider packages, which then write it in the format of their API. */
import type {
  JSONObject,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider'
import type { ModelRequest, PromptMessage, ToolCall, ToolDefinition } from '../model.ts'
import { parseObject } from '../transport/fields.ts'
import { readPartsContinuation } from './parts-continuation.ts'
import type { KeptPart } from './parts-continuation.ts'

type AssistantMessage = PromptMessage & { role: 'assistant' }
type AnswerPart = (LanguageModelV4Message & { role: 'assistant' })['content'][number]

/** `provider`: the package's name for the provider, which is the key of its options. */
type ProviderOptions = { name: string; options?: JSONObject }

export function writeCall(request: ModelRequest, { name: provider, options }: ProviderOptions): LanguageModelV4CallOptions {
  const { messages, tools, maxOutputTokens, temperature } = request
  return {
    prompt: writePrompt(messages, provider),
    maxOutputTokens,
    ...(temperature === null ? {} : { temperature }),
    ...(tools.length === 0 ? {} : { tools: tools.map(writeTool) }),
    ...(options === undefined ? {} : { providerOptions: { [provider]: options } }),
  }
}

/** Puts the results of all calls of one step into one message, because Gemini expects as many results in a message as it made calls. */
function writePrompt(messages: PromptMessage[], provider: string): LanguageModelV4Message[] {
  const prompt: LanguageModelV4Message[] = []
  const toolNames = new Map<string, string>()
  for (const message of messages) {
    if (message.role === 'assistant') for (const { id, name } of message.toolCalls ?? []) toolNames.set(id, name)
    const last = prompt.at(-1)
    if (message.role !== 'tool') prompt.push(writeMessage(message, provider))
    else if (last?.role === 'tool') last.content.push(writeResult(message, toolNames))
    else prompt.push({ role: 'tool', content: [writeResult(message, toolNames)] })
  }
  return prompt
}

function writeMessage(message: Exclude<PromptMessage, { role: 'tool' }>, provider: string): LanguageModelV4Message {
  const { role, content } = message
  switch (role) {
    case 'system':
      return { role, content }
    case 'user':
      return { role, content: [{ type: 'text', text: content }] }
    case 'assistant':
      return { role, content: writeAnswer(message, provider) }
  }
}

/** Writes the parts in their original order and with the provider's metadata. Without a continuation: first the text, then the calls. */
function writeAnswer({ content, toolCalls = [], continuation }: AssistantMessage, provider: string): AnswerPart[] {
  const kept = readPartsContinuation(continuation, provider, toolCalls.length)
  if (!kept) return [...writeText(content, {}), ...toolCalls.map(writeToolCall)]
  const texts = takeTexts(content, kept)
  let call = 0
  return kept.flatMap((part, n): AnswerPart[] => {
    const marked = holdsAny(part.marks) ? { providerOptions: { [provider]: part.marks } } : {}
    if (part.kind === 'call') return [{ ...writeToolCall(toolCalls[call++]!), ...marked }]
    return part.kind === 'text' ? writeText(texts[n]!, marked) : [{ type: 'reasoning', text: part.text, ...marked }]
  })
}

/**
 * Returns the text of each part, empty for parts that have none. If cleaning changed the length of the text, the lengths no longer match,
 * and the first text part gets the whole text.
 */
function takeTexts(content: string, parts: KeptPart[]): string[] {
  const lengths = parts.map((part) => (part.kind === 'text' ? part.characters : 0))
  const fits = lengths.reduce((sum, length) => sum + length, 0) === content.length
  const first = parts.findIndex(({ kind }) => kind === 'text')
  let at = 0
  return lengths.map((length, n) => (fits ? content.slice(at, (at += length)) : n === first ? content : ''))
}

/** Anthropic rejects an empty text next to tool calls. An empty text with metadata is kept, because it carries a signature of Gemini. */
const writeText = (text: string, marked: { providerOptions?: SharedV4ProviderOptions }): AnswerPart[] =>
  text === '' && marked.providerOptions === undefined ? [] : [{ type: 'text', text, ...marked }]

const holdsAny = (marks: object): boolean => Object.keys(marks).length > 0

const writeToolCall = ({ id, name, arguments: args }: ToolCall) => ({
  type: 'tool-call' as const,
  toolCallId: id,
  toolName: name,
  // Anthropic and Gemini only accept objects. A model that wrote something else got an error as the result of the call.
  input: parseObject(args) ?? {},
})

function writeResult(message: PromptMessage & { role: 'tool' }, toolNames: Map<string, string>): LanguageModelV4ToolResultPart {
  const { toolCallId, content } = message
  return { type: 'tool-result', toolCallId, toolName: toolNames.get(toolCallId) ?? '', output: { type: 'text', value: content } }
}

const writeTool = ({ name, description, parameters }: ToolDefinition): LanguageModelV4FunctionTool => ({
  type: 'function',
  name,
  description,
  // Trusted to be a JSON Schema, as whoever defined the tool said; nothing here reads it.
  inputSchema: parameters as LanguageModelV4FunctionTool['inputSchema'],
})
