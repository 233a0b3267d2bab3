/** The admin routes that explain a turn: its trace, and a rerun of its message. Neither changes stored data. Previews share what a rerun may change. */
import type { Static } from 'typebox'
import { overrideFields } from '../../resources/agent.ts'
import type { AdminCalls } from '../../admin/admin.ts'
import { leftBy } from './access-watch.ts'
import { maxMessage, wellFormedPattern } from '../edge/invalid-input.ts'
import { changeProperties, readChange, writerOf } from './wire.ts'
import { Type } from '../edge/schema.ts'
import type { TypedRoutes } from '../edge/typed-routes.ts'
import { about, answers } from './answers.ts'
import { TurnParams, writeUsd } from './fields.ts'
import { rerunAnswer, traceAnswer } from './trace-answers.ts'
import { writeCalculation, writeDetails } from './price-answers.ts'

type Trace = Awaited<ReturnType<AdminCalls['traceTurn']>>
type UnstoredRun = Awaited<ReturnType<AdminCalls['rerunTurn']>>
type Span = Trace['spans'][number]
type ModelCall = Extract<Span, { type: 'model_call' }>
type Message = NonNullable<ModelCall['messages']>[number]
type TraceAnswer = Static<typeof traceAnswer.ref>
type SpanAnswer = TraceAnswer['spans'][number]
type ModelCallAnswer = Extract<SpanAnswer, { type: 'model_call' }>
type UsageAnswer = NonNullable<ModelCallAnswer['usage']>

const closed = { additionalProperties: false } as const

const RerunOverrides = Type.Object(
  {
    ...changeProperties(overrideFields),
    message: Type.Optional(Type.String({ minLength: 1, maxLength: maxMessage, pattern: wellFormedPattern })),
  },
  { ...closed, description: 'What differs from the turn. Everything else is as the version of the turn has it.' },
)

/** The body is optional. */
const RerunBody = Type.Union([Type.Object({ overrides: Type.Optional(RerunOverrides) }, closed), Type.Null()], {
  examples: [{ overrides: { system_prompt: 'You answer questions about orders. Name the deadline.', temperature: 0.2 } }],
})

export const traceRoutes: TypedRoutes = async (app) => {
  app.get(
    '/turns/:request_id/trace',
    {
      schema: {
        ...about(
          'History',
          'traceTurn',
          'Explain a turn: its trace',
          'Returns every run and attempt, the passages, each model call with the messages and tools that it was sent, each tool call, and the settlement. Traces are stored for `TURNKEEP_TRACE_DAYS`; after that, what the journal contains is returned.',
        ),
        params: TurnParams,
        response: answers(traceAnswer, 'not_found'),
      },
    },
    async (request) => {
      const trace = await request.admin.traceTurn(request.params.request_id)
      const { requestId, conversationId, state, run, message, reply, complete, spans } = trace
      const ids = { request_id: requestId, conversation_id: conversationId }
      return {
        ...ids,
        status: state,
        run,
        message,
        reply,
        version: { number: trace.version.number, ...writeOverridden(trace.version) },
        complete,
        spans: spans.map(writeSpan),
      }
    },
  )

  app.post(
    '/turns/:request_id/rerun',
    {
      schema: {
        ...about(
          'History',
          'rerunTurn',
          'Run the message of a turn again',
          'Runs the message with the history that the turn had, and with the changes in `overrides`. Searches the knowledge base again and calls tools without side effects. A call with side effects is not made. Stores nothing and charges no one; the provider bills the model calls. If the model fails, the response is a 200 with `failure`.',
        ),
        params: TurnParams,
        body: RerunBody,
        response: answers(rerunAnswer, 'not_found', 'conflict'),
      },
    },
    async (request, reply) => {
      const { message, ...changes } = request.body?.overrides ?? {}
      const overrides = { ...readChange(overrideFields, changes), message }
      const asked = { overrides, requestId: request.id, left: leftBy(request, reply) }
      return writeUnstored(await request.admin.rerunTurn(request.params.request_id, asked))
    },
  )
}

export const writeUnstored = (run: UnstoredRun): Static<typeof rerunAnswer.ref> => ({
  text: run.text,
  usage: { ...writeUsage(run), total_tokens: run.usage.promptTokens + run.usage.completionTokens },
  cost_usd: writeUsd(run.cost),
  failure: run.failure && { cause_kind: run.failure.causeKind, cause: run.failure.cause },
  spans: run.spans.map(writeSpan),
})

const writeOverridden = writerOf(overrideFields)

function writeSpan(span: Span): SpanAnswer {
  const { run, attempt, startMs, durationMs } = span
  const common = { run, attempt, start_ms: startMs, duration_ms: durationMs }
  switch (span.type) {
    case 'attempt':
      return { type: span.type, ...common, end: span.end, cause_kind: span.causeKind, cause: span.cause }
    case 'admission':
      return { type: span.type, ...common, held_usd: writeUsd(span.held) }
    case 'retrieval':
      return {
        type: span.type,
        ...common,
        query: span.query,
        passages: span.passages.map(({ documentId, title, section, score, text, used }) => ({
          document_id: documentId,
          title,
          section,
          score,
          text,
          used,
        })),
      }
    case 'model_call':
      return { type: span.type, ...common, ...writeModelCall(span) }
    case 'tool_call': {
      const { type, recorded, step, part, name, arguments: given, result, status, journal, price } = span
      const priceUsd = price === null ? null : writeUsd(price)
      return { type, ...common, recorded, step, part, name, arguments: given, result, status, journal, price_usd: priceUsd }
    }
    case 'settlement':
      return {
        type: span.type,
        ...common,
        charged_usd: writeUsd(span.charged),
        hold_released_usd: writeUsd(span.released),
        price_calculation: span.charge && writeCalculation(span.charge),
      }
  }
}

function writeModelCall(call: ModelCall): Omit<ModelCallAnswer, keyof SpanAnswer> {
  const { recorded, step, number, provider, model, temperature, maxOutputTokens, messages, tools, error } = call
  return {
    recorded,
    step,
    number,
    provider,
    model,
    parameters: { temperature, max_output_tokens: maxOutputTokens },
    messages: messages && messages.map(writeMessage),
    tools,
    time_to_first_text_ms: call.firstTextMs,
    usage: call.usage && writeUsage({ usage: call.usage, usageEstimated: call.usageEstimated }),
    finish_reason: call.finishReason,
    skipped: call.skipped,
    text: call.text,
    tool_calls: call.toolCalls,
    error: error && { kind: error.kind, cause_kind: error.causeKind, message: error.message },
  }
}

/** Without the continuation of a provider, which is encrypted or internal to its API. */
function writeMessage(message: Message): NonNullable<ModelCallAnswer['messages']>[number] {
  const { role, content } = message
  if (message.role === 'tool') return { role, content, tool_call_id: message.toolCallId }
  return message.role === 'assistant' && message.toolCalls ? { role, content, tool_calls: message.toolCalls } : { role, content }
}

const writeUsage = ({ usage, usageEstimated }: { usage: NonNullable<ModelCall['usage']>; usageEstimated: boolean }): UsageAnswer => ({
  prompt_tokens: usage.promptTokens,
  completion_tokens: usage.completionTokens,
  ...writeDetails(usage),
  estimated: usageEstimated,
})
