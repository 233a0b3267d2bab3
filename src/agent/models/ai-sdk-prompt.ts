/** Writes a request as the provider packages take it. Pure; what each of them makes of it on the wire is its own affair. */
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider'
import type { ModelRequest, PromptMessage, ToolCall, ToolDefinition } from '../model.ts'
import { isObject } from './fields.ts'

export function writeCall(request: ModelRequest, providerOptions: SharedV4ProviderOptions | undefined): LanguageModelV4CallOptions {
  const { messages, tools, maxOutputTokens, temperature } = request
  return {
    prompt: writePrompt(messages),
    maxOutputTokens,
    ...(temperature === null ? {} : { temperature }),
    ...(tools.length === 0 ? {} : { tools: tools.map(writeTool) }),
    ...(providerOptions === undefined ? {} : { providerOptions }),
  }
}

/** Results of one round of calls become one message: Gemini wants as many results beside each other as it made calls. */
function writePrompt(messages: PromptMessage[]): LanguageModelV4Message[] {
  const prompt: LanguageModelV4Message[] = []
  const toolNames = new Map<string, string>()
  for (const message of messages) {
    if (message.role === 'assistant') for (const { id, name } of message.toolCalls ?? []) toolNames.set(id, name)
    const last = prompt.at(-1)
    if (message.role !== 'tool') prompt.push(writeMessage(message))
    else if (last?.role === 'tool') last.content.push(writeResult(message, toolNames))
    else prompt.push({ role: 'tool', content: [writeResult(message, toolNames)] })
  }
  return prompt
}

function writeMessage(message: Exclude<PromptMessage, { role: 'tool' }>): LanguageModelV4Message {
  const { role, content } = message
  switch (role) {
    case 'system':
      return { role, content }
    case 'user':
      return { role, content: [{ type: 'text', text: content }] }
    case 'assistant': {
      // Anthropic refuses an empty text beside tool calls
      const text = content === '' ? [] : [{ type: 'text' as const, text: content }]
      return { role, content: [...text, ...(message.toolCalls ?? []).map(writeToolCall)] }
    }
  }
}

const writeToolCall = ({ id, name, arguments: args }: ToolCall) => ({
  type: 'tool-call' as const,
  toolCallId: id,
  toolName: name,
  input: parseArguments(args),
})

/** Anthropic and Gemini take objects alone; a model that wrote something else has been told so in its result. */
function parseArguments(args: string): object {
  try {
    const parsed: unknown = JSON.parse(args)
    return isObject(parsed) ? parsed : {}
  } catch {
    return {}
  }
}

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
