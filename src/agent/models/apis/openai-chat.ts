/**
 * The OpenAI Chat Completions API as a `Model`, as Ollama, vLLM, llama.cpp and gateways implement it. Writes the request; `ChatAnswer`
 * reads the answer, and `exchange` owns the socket and its deadlines. It does not retry.
 */
import type { Dispatcher } from 'undici'
import type { Model, ModelRequest, PromptMessage, ToolDefinition } from '../model.ts'
import { parseBaseUrl } from '../transport/base-url.ts'
import { AnswerBody } from '../transport/answer-body.ts'
import { ChatAnswer } from './chat-answer.ts'
import { readChatContinuation } from './chat-reasoning.ts'
import { exchange } from '../transport/exchange.ts'
import type { Deadlines } from '../transport/exchange.ts'
import { isObject, parseObject } from '../transport/fields.ts'
import type { Fields } from '../transport/fields.ts'
import type { LoneClosings } from './lone-closings.ts'

export type OpenaiChatOptions = {
  dispatcher: Dispatcher
  /** The part of the URL before `/chat/completions`; its query string is kept. */
  baseUrl: string
  /** If empty, no Authorization header is sent. */
  apiKey: string
  deadlines: Deadlines
  loneClosings: LoneClosings
}

/** Throws ModelError `refused` if the base URL is invalid. */
export function openaiChat({ dispatcher, baseUrl, apiKey, deadlines, loneClosings }: OpenaiChatOptions): Model {
  const { origin, path } = completionsAddress(baseUrl)
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'text/event-stream, application/json',
    // Without this header a proxy may compress the stream, which delays pieces of it.
    'accept-encoding': 'identity',
    'user-agent': 'turnkeep',
    ...(apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` }),
  }

  return {
    async generate(request, { signal, onText, onReset, onGenerated, onReports, traceparent }) {
      const model = `${origin}${path} ${request.modelId}`
      const answer = new ChatAnswer({ onText, onReset, onGenerated, secret: apiKey, request, holds: loneClosings.has(model) })
      onReports?.(() => answer.answer.usage.soFar())
      // `trace.context`
      const sent = traceparent ? { ...headers, traceparent } : headers
      // A variable would keep the body in memory until the answer is complete.
      const call = { origin, path, headers: sent, secret: apiKey, deadlines, signal }
      const body = new AnswerBody(answer, request.maxOutputTokens)
      await exchange(dispatcher, { ...call, body: JSON.stringify(writeRequest(request)) }, body)
      const step = answer.step()
      loneClosings.note(model, answer.answer.closedAlone)
      return step
    },
  }
}

function completionsAddress(baseUrl: string): { origin: string; path: string } {
  const url = parseBaseUrl(baseUrl)
  return { origin: url.origin, path: `${url.pathname.replace(/\/+$/, '')}/chat/completions${url.search}` }
}

function writeRequest(request: ModelRequest): object {
  const { modelId, messages, tools, maxOutputTokens, temperature } = request
  return {
    model: modelId,
    messages: messages.map(writeMessage),
    stream: true,
    stream_options: { include_usage: true },
    // Not `max_completion_tokens`, which only OpenAI supports; OpenAI itself is called through its Responses API.
    max_tokens: maxOutputTokens,
    ...(temperature === null ? {} : { temperature }),
    ...(tools.length === 0 ? {} : { tools: tools.map(writeTool) }),
  }
}

function writeMessage(message: PromptMessage): object {
  switch (message.role) {
    case 'system':
    case 'user':
      return { role: message.role, content: message.content }
    case 'assistant': {
      if (!message.toolCalls?.length) return { role: 'assistant', content: message.content }
      const wanted = readChatContinuation(message.continuation)
      return {
        role: 'assistant',
        // Some servers reject an empty string next to tool calls.
        content: message.content === '' ? null : message.content,
        ...wanted.message,
        tool_calls: message.toolCalls.map(({ id, name, arguments: args }, n) => ({
          id,
          type: 'function',
          ...wanted.calls[n],
          function: { ...inFunction(wanted.calls[n]), name, arguments: sendableArguments(args) },
        })),
      }
    }
    case 'tool':
      return { role: 'tool', tool_call_id: message.toolCallId, content: message.content }
  }
}

/**
 * Replaces arguments that are not a JSON object: some servers reject them, others put them into a template. The result of the call has
 * already reported the error to the model.
 */
const sendableArguments = (args: string): string => (parseObject(args) === undefined ? '{}' : args)

/** Fields that go back within the function. */
const inFunction = (fields: Fields | undefined): Fields => (isObject(fields?.function) ? fields.function : {})

const writeTool = ({ name, description, parameters }: ToolDefinition): object => ({
  type: 'function',
  function: { name, description, parameters },
})
