/** Response schemas of traces, reruns and previews, and their examples. */
import type { TSchema } from 'typebox'
import { causeKinds } from '../../cause-kinds.ts'
import { describeStream, exampleId, writeStream } from '../public/answers.ts'
import { chatEvents } from '../public/examples.ts'
import { ErrorObject, OutputTextDelta, define } from '../public/schemas.ts'
import { Type } from '../edge/schema.ts'
import { overrideFields } from '../../resources/agent.ts'
import { answerProperties } from './wire.ts'
import { AmountUsd, Count, RequestId, idOf, orNull } from './answer-fields.ts'
import { PriceCalculation, usageDetails } from './price-answers.ts'
import { calculationExample, detailsExample } from './price-examples.ts'

const CauseKind = orNull(Type.Enum([...causeKinds]))
const described = <Schema extends TSchema>(schema: Schema, description: string) => Type.Union([schema, Type.Null()], { description })

const common = {
  run: Type.Integer({ minimum: 1, description: 'A retry of a released turn is a new run.' }),
  attempt: described(
    Type.Integer({ minimum: 1, maximum: 3 }),
    'The process that worked on the run. Null if the journal does not say which.',
  ),
  start_ms: described(Type.Integer(), 'Milliseconds after the admission of the turn. Null if not known.'),
  duration_ms: described(Type.Integer({ minimum: 0 }), 'Null if not known, or while it lasts.'),
}
const recorded = Type.Enum(['trace', 'journal'], {
  description: '`journal`: from an attempt that died or has no trace. Only what the journal contains is known.',
})

const Attempt = Type.Object({
  type: Type.Literal('attempt'),
  ...common,
  end: Type.Enum(['running', 'completed', 'failed', 'released', 'cancelled', 'process_died']),
  cause_kind: CauseKind,
  cause: described(Type.String(), 'Of the last run of a turn without a reply. May contain the words of a provider.'),
})
const Admission = Type.Object({ type: Type.Literal('admission'), ...common, held_usd: AmountUsd })
const Retrieval = Type.Object({
  type: Type.Literal('retrieval'),
  ...common,
  query: Type.String(),
  passages: Type.Array(
    Type.Object({
      document_id: idOf('doc'),
      title: Type.String(),
      section: Type.String(),
      score: Type.Number(),
      text: Type.String({ description: 'As it was when the turn ran.' }),
      used: Type.Boolean({ description: 'False if it did not fit in the token budget and was left out of the prompt.' }),
    }),
    { description: 'Best first: those in the prompt, then those that did not fit.' },
  ),
})
const AskedCall = Type.Object({ id: Type.String(), name: Type.String(), arguments: Type.String() })
const Message = Type.Object({
  role: Type.Enum(['system', 'user', 'assistant', 'tool']),
  content: Type.String(),
  tool_calls: Type.Optional(Type.Array(AskedCall)),
  tool_call_id: Type.Optional(Type.String()),
})
const ModelCall = Type.Object({
  type: Type.Literal('model_call'),
  ...common,
  recorded,
  step: Count,
  number: described(Count, '1 for the first call of a step, and one more for each retry.'),
  provider: Type.String(),
  model: Type.String(),
  parameters: Type.Object({ temperature: orNull(Type.Number()), max_output_tokens: Count }),
  messages: described(
    Type.Array(Message),
    'What was sent to the model, before it was written in the format of its API. Null if it cannot be rebuilt.',
  ),
  tools: Type.Array(
    Type.Object({
      name: Type.String(),
      description: Type.String(),
      parameters: Type.Unsafe<object>({ type: 'object', description: 'JSON Schema of the arguments.' }),
    }),
  ),
  time_to_first_text_ms: described(Type.Integer({ minimum: 0 }), 'From the start of the call. Null without text.'),
  usage: orNull(Type.Object({ prompt_tokens: Count, completion_tokens: Count, ...usageDetails, estimated: Type.Boolean() })),
  finish_reason: described(Type.Enum(['stop', 'length', 'tool_calls', 'other', 'refused', 'filtered']), 'Null without a complete answer.'),
  skipped: Type.Array(Type.Object({ what: Type.String(), count: Count }), {
    description:
      'What of the answer was not read, such as events of kinds that are not known, and each usage that was reported if there were several.',
  }),
  text: described(Type.String(), 'The answer, or the part of it that arrived.'),
  tool_calls: Type.Array(AskedCall),
  error: orNull(
    Type.Object({
      kind: Type.Enum(['unavailable', 'refused', 'too_long', 'stopped', 'internal'], {
        description: '`stopped`: by a deadline, a cancel, or the end of the process.',
      }),
      cause_kind: CauseKind,
      message: Type.String({ description: 'May contain the words of the provider.' }),
    }),
  ),
})
const ToolCall = Type.Object({
  type: Type.Literal('tool_call'),
  ...common,
  recorded,
  step: Count,
  part: Type.Integer({ minimum: 1, description: 'The position of the call in its step.' }),
  name: Type.String(),
  arguments: Type.String({ description: 'As the model wrote them.' }),
  result: described(Type.String(), 'What the model received. Null if no end is known.'),
  status: Type.Enum(['answered', 'error', 'not_made', 'interrupted', 'running'], {
    description: '`not_made`: the call was refused, and the result says why. `interrupted`: it started, and no end is known.',
  }),
  journal: Type.Enum(['none', 'started', 'finished'], { description: 'What is stored of the call in the journal of the turn.' }),
  price_usd: Type.Union([AmountUsd, Type.Null()], { description: 'What the call costs. Null until it has finished.' }),
})
const Settlement = Type.Object({
  type: Type.Literal('settlement'),
  ...common,
  charged_usd: AmountUsd,
  hold_released_usd: AmountUsd,
  price_calculation: orNull(PriceCalculation.ref),
})

const Span = define('Span', Type.Union([Attempt, Admission, Retrieval, ModelCall, ToolCall, Settlement]))

export const TurnTrace = define(
  'TurnTrace',
  Type.Object({
    request_id: RequestId,
    conversation_id: idOf('conv'),
    status: Type.Enum(['running', 'completed', 'failed', 'released', 'cancelled']),
    run: Type.Integer({ minimum: 1, description: 'The number of runs.' }),
    message: Type.String({ description: "The end user's message, also of a turn without a reply." }),
    reply: described(Type.String(), 'The stored reply. Null without one.'),
    version: Type.Object(
      { number: Type.Integer({ minimum: 1 }), ...answerProperties(overrideFields) },
      { description: 'What the turn ran with: the version of the agent, as far as a rerun can change it.' },
    ),
    complete: Type.Boolean({
      description: 'False while the turn runs, and if a run has no stored trace: it is too old, traces are off, or every attempt died.',
    }),
    spans: Type.Array(Span.ref),
  }),
)

export const RunUsage = Type.Object({
  prompt_tokens: Count,
  completion_tokens: Count,
  total_tokens: Count,
  ...usageDetails,
  estimated: Type.Boolean(),
})
const unstoredRun = (priceOf: string) => ({
  text: Type.String({ description: 'The reply. Empty if the run has no reply.' }),
  usage: RunUsage,
  cost_usd: Type.String({
    pattern: '^\\d+\\.\\d{8}$',
    description: `At the price of ${priceOf}. Nothing is charged.`,
    examples: ['0.00039000'],
  }),
  failure: Type.Union([Type.Object({ cause_kind: Type.Enum([...causeKinds]), cause: Type.String() }), Type.Null()], {
    description: 'Why there is no reply.',
  }),
  spans: Type.Array(Span.ref),
})

export const TurnRerun = define('TurnRerun', Type.Object(unstoredRun('the turn')))
export const Preview = define(
  'Preview',
  Type.Object({ version: Type.Integer({ minimum: 1, description: 'The version of the agent that ran.' }), ...unstoredRun('the version') }),
)

export const PreviewEvent = define(
  'PreviewEvent',
  Type.Union(
    [
      Type.Object(
        { event: Type.Literal('response.output_text.delta'), data: OutputTextDelta.ref },
        { description: 'A piece of the text. Zero or more of these events. Text before a tool call is streamed, too.' },
      ),
      Type.Object(
        { event: Type.Literal('response.output_text.reset'), data: Type.Object({}, { additionalProperties: false }) },
        { description: 'The text so far was reasoning of the model. Discard it; the text starts again.' },
      ),
      Type.Object(
        { event: Type.Literal('preview.completed'), data: Preview.ref },
        { description: 'The last event of a run that has ended.' },
      ),
      Type.Object({ event: Type.Literal('error'), data: ErrorObject.ref }, { description: 'The last event of a run without a result.' }),
    ],
    { description: 'A server-sent event without an ID: a stream that was interrupted cannot be continued, and its run has ended.' },
  ),
)

export const traceSchemas = [Span, TurnTrace, TurnRerun, Preview, PreviewEvent]

const first = { run: 1, attempt: 1 }
const message = 'May I return order 4711?'
const prompt = 'You answer questions about orders. Be brief.'
const modelCall = {
  type: 'model_call',
  ...first,
  start_ms: 9,
  duration_ms: 1210,
  recorded: 'trace',
  step: 1,
  number: 1,
  provider: 'openai',
  model: 'gpt-5.4-mini',
  parameters: { temperature: null, max_output_tokens: 2048 },
  messages: [
    { role: 'system', content: prompt },
    { role: 'user', content: message },
  ],
  tools: [],
  time_to_first_text_ms: 631,
  usage: { prompt_tokens: 412, completion_tokens: 18, ...detailsExample, estimated: false },
  finish_reason: 'stop',
  skipped: [],
  text: 'Yes, within 30 days.',
  tool_calls: [],
  error: null,
}
const attempt = { type: 'attempt', ...first, start_ms: 0, duration_ms: 1224, end: 'completed', cause_kind: null, cause: null }

export const traceAnswer = {
  ref: TurnTrace.ref,
  example: {
    request_id: exampleId,
    conversation_id: 'conv_01jd3v9qk8x2m5n7p4r6t8w0yb',
    status: 'completed',
    run: 1,
    message,
    reply: modelCall.text,
    version: { number: 3, system_prompt: prompt, model: 'openai/gpt-5.4-mini', temperature: null, max_output_tokens: 2048 },
    complete: true,
    spans: [
      attempt,
      { type: 'admission', ...first, start_ms: -3, duration_ms: 3, held_usd: '0.00120000' },
      {
        type: 'retrieval',
        ...first,
        start_ms: 0,
        duration_ms: 8,
        query: message,
        passages: [
          {
            document_id: 'doc_01jd3v9qk8x2m5n7p4r6t8w0yf',
            title: 'Shipping and returns',
            section: 'Returns › Deadlines',
            score: 3.11,
            text: 'Goods may be returned within 30 days.',
            used: true,
          },
        ],
      },
      modelCall,
      {
        type: 'settlement',
        ...first,
        start_ms: 1224,
        duration_ms: null,
        charged_usd: '0.00039000',
        hold_released_usd: '0.00081000',
        price_calculation: calculationExample,
      },
    ],
  },
}

const unstoredExample = {
  text: modelCall.text,
  usage: { ...modelCall.usage, total_tokens: 430 },
  cost_usd: '0.00039000',
  failure: null,
  spans: [attempt, modelCall],
}
export const rerunAnswer = { ref: TurnRerun.ref, example: unstoredExample }
export const previewAnswer = { ref: Preview.ref, example: { version: 3, ...unstoredExample } }

const delta = chatEvents['response.output_text.delta'].value

/** Adds the stream of events to the 200 response. */
export const previewEvents = <Response extends { 200: { content: object } }>(response: Response) => ({
  ...response,
  200: {
    ...response[200],
    content: {
      ...response[200].content,
      ...describeStream(PreviewEvent.ref, {
        completed: { value: writeStream(delta, { event: 'preview.completed', data: previewAnswer.example }) },
        failed: { value: writeStream(delta, chatEvents.error.value) },
      }),
    },
  },
})
