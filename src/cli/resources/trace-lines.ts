/**
 * Formats the trace of a turn for a terminal: a heading for each attempt, below it what it did in order, with the time after the admission.
 * Long texts are shortened; the prompts, which are longer still, are printed only on request. Pure.
 */
import { priceLines } from './price-lines.ts'
import { WordWrap } from '../chat/word-wrap.ts'
import { counted, inAttempts } from './trace.ts'
import type { AskedCall, ModelCall, PromptMessage, Span, ToolCall, Trace } from './trace.ts'

export type TraceOptions = {
  /** In columns; Infinity if stdout is not a terminal. */
  width: number
  /** Print the messages and the names of the tools that each model call was sent. */
  prompt: boolean
}

/** `first` is before the first line of the text, `rest` before the lines that continue it. */
export type Line = { first: string; rest: string; text: string }

const maxCharacters = 2_000
// `1,234,567 ms` and a gap.
const timeWidth = 13

const margin = ' '.repeat(timeWidth)

export const line = (indent: number, text: string, hanging = 2): Line => ({
  first: ' '.repeat(indent),
  rest: ' '.repeat(indent + hanging),
  text,
})

export function traceLines(trace: Trace, { width, prompt }: TraceOptions): string[] {
  const { request_id: requestId, conversation_id: conversationId, status, run, message, spans } = trace
  const lines: Line[] = [
    line(0, `Turn ${requestId}: ${status}${run > 1 ? `, ${run} runs` : ''}`),
    line(0, `Conversation ${conversationId}`),
    line(0, `Message: ${start(message)}`),
  ]
  for (const attempt of inAttempts(spans)) {
    const { end } = attempt
    const name = `Run ${attempt.run}, attempt ${attempt.attempt ?? 'unknown'}`
    lines.push(line(0, ''), line(0, end ? `${name}: ${words(end.end)}${took(end)}` : name))
    if (end?.cause) lines.push(line(2, `Cause (${end.cause_kind ?? 'unknown'}): ${start(end.cause)}`))
    for (const span of attempt.spans) lines.push(...spanLines(span, prompt))
  }
  return lines.flatMap((one) => wrapped(one, width))
}

function spanLines(span: Span, prompt: boolean): Line[] {
  const time = span.start_ms === null ? '-' : writeMs(span.start_ms)
  const [facts, ...rest] = textsOf(span, prompt)
  const indented = rest.map((one) => ({ ...one, first: margin + one.first, rest: margin + one.rest }))
  return facts ? [{ ...facts, first: `${time.padStart(timeWidth - 2)}  `, rest: margin }, ...indented] : []
}

/** The indents are within the span. */
function textsOf(span: Span, prompt: boolean): Line[] {
  switch (span.type) {
    case 'attempt':
      return []
    case 'admission':
      return [line(0, `admission${took(span)}, hold ${span.held_usd} USD`)]
    case 'retrieval':
      return [
        line(0, `retrieval${took(span)}, ${counted(span.passages.length, 'passage')}`),
        ...span.passages.map(({ title, section, score, used }, index) =>
          line(
            0,
            `${index + 1}. ${section ? `${title} › ${section}` : title} (score ${score.toPrecision(3)}${used ? '' : ', not sent: did not fit'})`,
          ),
        ),
      ]
    case 'model_call':
      return modelTexts(span, prompt)
    case 'tool_call':
      return toolTexts(span)
    case 'settlement':
      return [
        line(0, `settlement, ${span.charged_usd} USD charged, ${span.hold_released_usd} USD of the hold released`),
        ...(span.price_calculation ? priceLines(span.price_calculation).map((text) => line(2, text)) : []),
      ]
  }
}

function modelTexts(call: ModelCall, prompt: boolean): Line[] {
  const { step, number, provider, model, usage, finish_reason: finish, time_to_first_text_ms: firstText, text, error } = call
  const facts = [
    `model call, step ${step}${number !== null && number > 1 ? `, try ${number}` : ''}`,
    provider === '' ? model : `${provider}/${model}`,
    ...(call.duration_ms === null ? [] : [writeMs(call.duration_ms)]),
    ...(firstText === null ? [] : [`first text ${writeMs(firstText)}`]),
    ...(usage ? tokensOf(usage) : []),
    ...(finish === null ? [] : [`finish reason ${finish}`]),
    ...source(call),
  ]
  return [
    line(0, facts.join(', ')),
    ...(prompt ? promptTexts(call) : []),
    ...(text ? [line(0, `text: ${start(text)}`)] : []),
    ...(call.skipped.length > 0
      ? [line(0, `not read: ${call.skipped.map(({ what, count: times }) => `${what} (${times})`).join(', ')}`)]
      : []),
    ...(call.tool_calls.length > 0 ? [line(0, `calls: ${call.tool_calls.map(({ name }) => name).join(', ')}`)] : []),
    ...(error ? [line(0, `error (${words(error.kind)}): ${start(error.message)}`)] : []),
  ]
}

function tokensOf(usage: NonNullable<ModelCall['usage']>): string[] {
  const { cached_tokens: cached, cache_write_tokens: written } = usage.prompt_tokens_details
  const { reasoning_tokens: reasoning } = usage.completion_tokens_details
  const kinds = Object.entries({ cached, 'written to the cache': written, reasoning }).filter(([, tokens]) => tokens > 0)
  return [writeTokens(usage), ...kinds.map(([name, tokens]) => `${count(tokens)} ${name}`)]
}

function toolTexts(call: ToolCall): Line[] {
  const { name, step, status, result, arguments: given, price_usd: price } = call
  const cost = price !== null && /[1-9]/.test(price) ? [`${price} USD`] : []
  return [
    line(0, [`tool call, step ${step}`, `${name}: ${words(status)}${took(call)}`, ...cost, ...source(call)].join(', ')),
    line(0, `arguments: ${start(given)}`),
    ...(result === null ? [] : [line(0, `${status === 'error' ? 'error' : 'result'}: ${start(result)}`)]),
  ]
}

function promptTexts({ messages, tools }: ModelCall): Line[] {
  if (!messages) return [line(0, 'prompt: it cannot be rebuilt from what is stored')]
  return [
    line(0, `prompt: ${counted(messages.length, 'message')}, ${counted(tools.length, 'tool')}`),
    ...(tools.length > 0 ? [line(2, `tools: ${tools.map(({ name }) => name).join(', ')}`)] : []),
    ...messages.flatMap(messageTexts),
  ]
}

/** The whole text: this is what the option is for. */
const messageTexts = ({ role, content, tool_calls: calls = [], tool_call_id: id }: PromptMessage): Line[] => [
  line(2, `[${role}${id === undefined ? '' : ` ${id}`}]`),
  ...(content === '' ? [] : [line(4, content, 0)]),
  ...calls.map((call: AskedCall) => line(4, `calls ${call.name} (${call.id}): ${call.arguments}`)),
]

/** Control characters are escaped. */
export function wrapped({ first, rest, text }: Line, width: number): string[] {
  let flowed = ''
  const wrap = new WordWrap(
    () => Math.max(20, width - rest.length),
    (piece) => (flowed += piece),
  )
  wrap.push(text)
  wrap.end()
  return flowed
    .replace(/\n$/, '')
    .split('\n')
    .map((one, index) => `${index === 0 ? first : rest}${one}`.trimEnd())
}

function start(text: string): string {
  const characters = [...text]
  if (characters.length <= maxCharacters) return text
  return `${characters.slice(0, maxCharacters).join('')}… (${count(characters.length - maxCharacters)} more characters; --json prints all)`
}

type Totals = Pick<NonNullable<ModelCall['usage']>, 'prompt_tokens' | 'completion_tokens' | 'estimated'>

export const writeTokens = ({ prompt_tokens: prompt, completion_tokens: completion, estimated }: Totals): string =>
  `${count(prompt)} + ${count(completion)} tokens${estimated ? ' (estimated)' : ''}`

const count = (value: number): string => value.toLocaleString('en-US')
const writeMs = (ms: number): string => `${count(ms)} ms`
const took = ({ duration_ms: ms }: { duration_ms: number | null }): string => (ms === null ? '' : `, ${writeMs(ms)}`)
const words = (name: string): string => name.replaceAll('_', ' ')
const source = ({ recorded }: ModelCall | ToolCall): string[] => (recorded === 'journal' ? ['from the journal'] : [])
