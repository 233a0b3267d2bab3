/** The trace of a turn as the commands read it, its spans by attempt, and whether it has anything to show. */
import { isFields } from '../admin-api/client.ts'
import type { Fields } from '../admin-api/client.ts'
import type { PriceCalculation } from './price-lines.ts'
import { CommandFailed } from '../terminal/command-failed.ts'

type Common = { run: number; attempt: number | null; start_ms: number | null; duration_ms: number | null }
type Recorded = { recorded: 'trace' | 'journal'; step: number }

export type AskedCall = { id: string; name: string; arguments: string }
export type PromptMessage = { role: string; content: string; tool_calls?: AskedCall[]; tool_call_id?: string }
export type ModelCall = Common &
  Recorded & {
    type: 'model_call'
    number: number | null
    provider: string
    model: string
    messages: PromptMessage[] | null
    tools: { name: string }[]
    time_to_first_text_ms: number | null
    usage: {
      prompt_tokens: number
      completion_tokens: number
      prompt_tokens_details: { cached_tokens: number; cache_write_tokens: number }
      completion_tokens_details: { reasoning_tokens: number }
      estimated: boolean
    } | null
    finish_reason: string | null
    skipped: { what: string; count: number }[]
    text: string | null
    tool_calls: AskedCall[]
    error: { kind: string; message: string } | null
  }
export type ToolCall = Common &
  Recorded & { type: 'tool_call'; name: string; arguments: string; result: string | null; status: string; price_usd: string | null }
type Attempt = Common & { type: 'attempt'; end: string; cause_kind: string | null; cause: string | null }
type Passage = { title: string; section: string; score: number; used: boolean }
export type Span =
  | Attempt
  | ModelCall
  | ToolCall
  | (Common & { type: 'admission'; held_usd: string })
  | (Common & { type: 'retrieval'; passages: Passage[] })
  | (Common & { type: 'settlement'; charged_usd: string; hold_released_usd: string; price_calculation: PriceCalculation | null })

export type Trace = {
  request_id: string
  conversation_id: string
  status: string
  run: number
  message: string
  reply: string | null
  version: { number: number; model: string }
  complete: boolean
  spans: Span[]
}

/** `end` is missing for what an unknown attempt did. */
type OneAttempt = { run: number; attempt: number | null; end: Attempt | undefined; spans: Span[] }

const types = ['attempt', 'admission', 'retrieval', 'model_call', 'tool_call', 'settlement']

/** Spans of types that this version does not know are left out. Throws CommandFailed with code 2 if the response is not a trace. */
export function readTrace(fields: Fields): Trace {
  const { spans } = fields
  if (!Array.isArray(spans) || !spans.every(isFields))
    throw new CommandFailed(2, 'unexpected response: it is not a trace. Check that the URL is that of a Turnkeep server of this version.')
  return { ...fields, spans: spans.filter(({ type }) => types.includes(String(type))) } as Trace
}

/** False if the server knows only how the attempts ended. */
export const hasContent = ({ spans }: Trace): boolean => spans.some(({ type }) => type !== 'attempt')

/**
 * Returns the attempts of each run in order, and with each what it did in order. What is known from the journal can be listed before the
 * attempt that did it; a span without a time keeps its position.
 */
export function inAttempts(spans: Span[]): OneAttempt[] {
  return [...Map.groupBy(spans, ({ run, attempt }) => `${run}-${attempt}`).values()].map((own) => {
    const { run, attempt } = own[0]!
    let before = -Infinity
    const timed = own.filter(({ type }) => type !== 'attempt').map((span) => ({ span, at: (before = span.start_ms ?? before) }))
    const sorted = timed.toSorted((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0))
    return { run, attempt, end: own.find((span) => span.type === 'attempt'), spans: sorted.map(({ span }) => span) }
  })
}

export const counted = (count: number, noun: string): string => `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`
