/**
 * Recognizes errors that mean "the prompt is too long", by the provider's error code or by known phrases. Checks only the fields in which a
 * server writes its own message, so that a prompt quoted in an error is not mistaken for one.
 */
import { isObject } from './fields.ts'

/** Codes and types that have no other meaning. */
const codes = new Set([
  'context_length_exceeded', // OpenAI and most that follow it
  'exceed_context_size_error', // llama.cpp
  'context_window_exceeded', // gateways
  'model_context_window_exceeded', // Zhipu
  'request_too_large', // Anthropic
  'ContextWindowExceededError', // LiteLLM
])

const phrases = [
  /maximum context length/i, // OpenAI, vLLM, OpenRouter, DeepSeek, Mistral, SGLang
  /exceeds? the (model's )?context (window|length)/i, // OpenAI Responses, Ollama
  /maximum (input|prompt|model) length/i, // vLLM, xAI
  /longer than the (model's context|maximum model) length/i, // SGLang, vLLM
  /(prompt|input) is too long/i, // Anthropic, Bedrock, Fireworks
  /exceed context limit/i, // Anthropic, for prompt and output limit together
  /token count\b.{0,40}exceeds the maximum/i, // Gemini
  /exceeds the available context size/i, // llama.cpp
  /context size has been exceeded/i, // llama.cpp, during generation
  /exceed context window of/i, // llama-cpp-python
  /prompt too long; exceeded/i, // Ollama
  /context the overflows|when context overflows/i, // LM Studio; the word order is theirs
  /greater than the context length/i, // LM Studio
  /reached context length of/i, // LM Studio
  /inputs` (must have less than|tokens \+ `max_new_tokens`)/i, // TGI
  /reduce the length of the messages/i, // Groq
  /exceeded model token limit/i, // Moonshot
  /context window exceeds limit/i, // MiniMax
]

/** Statuses that mean an invalid request. llama.cpp used 500 for some months; there only the error code counts. */
const statuses = [400, 413, 422]

/** `body` is the unparsed body. Status 413 always means too long, whatever the body says. */
export function refusesLength(status: number, body: string): boolean {
  if (status === 413) return true
  const report = parseReport(body)
  if (status === 500) return isObject(report) && reportsOf(report).some(hasCode)
  return statuses.includes(status) && reportsLength(report)
}

/** `report` is an error object of any API, or a text. */
export function reportsLength(report: unknown): boolean {
  if (typeof report === 'string') return saysSo(report)
  return reportsOf(report).some((one) => hasCode(one) || [one.message, one.error, one.detail].some(saysSo))
}

// An error in an error in an event, possibly in a list, as some gateways send it. No known server nests deeper.
const deepest = 4

/** Returns the error objects in a report, the outermost first. */
export function reportsOf(value: unknown, depth = 0): Record<string, unknown>[] {
  if (depth > deepest) return []
  if (Array.isArray(value)) return value.slice(0, 1).flatMap((one) => reportsOf(one, depth + 1))
  if (!isObject(value) && !(value instanceof Error)) return []
  const fields: Record<string, unknown> = { ...value, ...(value instanceof Error ? { message: value.message } : {}) }
  return [fields, ...[fields.error, fields.response, fields.data].flatMap((inner) => reportsOf(inner, depth + 1))]
}

const hasCode = ({ code, type }: Record<string, unknown>): boolean =>
  [code, type].some((value) => typeof value === 'string' && codes.has(value))

const saysSo = (text: unknown): boolean => typeof text === 'string' && phrases.some((phrase) => phrase.test(text))

/** Returns the text itself if it is not valid JSON or was cut. */
export function parseReport(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return body
  }
}
