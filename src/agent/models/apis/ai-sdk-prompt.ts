/** Writes a request as the provider packages take it. Pure; what each of them makes of it on the wire is its own affair. */
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

/** `provider`: the package's own name of the provider, under which its options are passed. */
type ProviderOptions = { provider: string; options?: JSONObject }

export function writeCall(request: ModelRequest, { provider, options }: ProviderOptions): LanguageModelV4CallOptions {
  const { messages, tools, maxOutputTokens, temperature } = request
  return {
    prompt: writePrompt(messages, provider),
    maxOutputTokens,
    ...(temperature === null ? {} : { temperature }),
    ...(tools.length === 0 ? {} : { tools: tools.map(writeTool) }),
    ...(options === undefined ? {} : { providerOptions: { [provider]: options } }),
  }
}

/** Results of one round of calls become one message: Gemini wants as many results beside each other as it made calls. */
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

/** In the order in which the parts came, with what the provider marked them with; without that, the text and then the calls. */
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

/** The text of each part, of the others none. A text that was cleaned no longer fits the lengths, and goes whole to where the first one stood. */
function takeTexts(content: string, parts: KeptPart[]): string[] {
  const lengths = parts.map((part) => (part.kind === 'text' ? part.characters : 0))
  const fits = lengths.reduce((sum, length) => sum + length, 0) === content.length
  const first = parts.findIndex(({ kind }) => kind === 'text')
  let at = 0
  return lengths.map((length, n) => (fits ? content.slice(at, (at += length)) : n === first ? content : ''))
}

/** Anthropic refuses an empty text beside tool calls; one that is marked carries a signature of Gemini's. */
const writeText = (text: string, marked: { providerOptions?: SharedV4ProviderOptions }): AnswerPart[] =>
  text === '' && marked.providerOptions === undefined ? [] : [{ type: 'text', text, ...marked }]

const holdsAny = (marks: object): boolean => Object.keys(marks).length > 0

const writeToolCall = ({ id, name, arguments: args }: ToolCall) => ({
  type: 'tool-call' as const,
  toolCallId: id,
  toolName: name,
  // Anthropic and Gemini take objects alone; a model that wrote something else has been told so in its result
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
  // a JSON Schema by the word of who defined the tool; nothing here reads it
  inputSchema: parameters as LanguageModelV4FunctionTool['inputSchema'],
})
