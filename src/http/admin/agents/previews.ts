/** The route that runs a message with a version of an agent and drafted changes. Nothing of it is stored or charged (`rerun.harmless`). */
import type { Static } from 'typebox'
import type { AdminCalls } from '../../../admin/admin.ts'
import { ApiError, invalid } from '../../../errors.ts'
import { textStart } from '../../../turn/turn-text.ts'
import type { TextListener } from '../../../turn/turn-text.ts'
import { leftBy } from '../access-watch.ts'
import { note } from '../../edge/access-log.ts'
import { errorObject } from '../../edge/envelope.ts'
import { maxMessage, wellFormedPattern } from '../../edge/invalid-input.ts'
import { Type } from '../../edge/schema.ts'
import type { TypedRoutes } from '../../edge/typed-routes.ts'
import { streamRun } from '../../public/event-stream.ts'
import type { EventFormat, StreamedRun, StreamOptions } from '../../public/event-stream.ts'
import { about, answers } from '../answers.ts'
import { AgentParams, wellFormed } from '../fields.ts'
import type { Preview, PreviewEvent } from '../trace-answers.ts'
import { previewAnswer, previewEvents } from '../trace-answers.ts'
import { writeUnstored } from '../traces.ts'
import { overrideFields } from '../../../resources/agent.ts'
import { changeProperties, readChange } from '../wire.ts'
import { usualUser } from './playground.ts'

const closed = { additionalProperties: false } as const

const PreviewBody = Type.Object(
  {
    message: Type.String({ minLength: 1, maxLength: maxMessage, pattern: wellFormedPattern }),
    external_user_id: Type.Optional({
      ...wellFormed({ minLength: 1, maxLength: 255 }),
      description: `The history is that of this end user’s conversation in the playground. By default \`${usualUser}\`.`,
    }),
    before_turn: Type.Optional({
      ...wellFormed({ minLength: 1, maxLength: 100 }),
      description:
        'Request ID of a turn of the agent. The history is what that turn had, also while it runs: to compare with its reply. Not together with `external_user_id`.',
    }),
    version: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'By default the current version.' })),
    overrides: Type.Optional(Type.Object(changeProperties(overrideFields), { ...closed, description: 'What differs from the version.' })),
  },
  { ...closed, examples: [{ message: 'What does the premium plan cost?', overrides: { temperature: 0.2 } }] },
)

type RunPreview = Awaited<ReturnType<AdminCalls['preparePreview']>>

const writePreview = (preview: Awaited<ReturnType<RunPreview>>): Static<typeof Preview.ref> => ({
  version: preview.version,
  ...writeUnstored(preview),
})

const textOf = ({ event, data }: Static<typeof PreviewEvent.ref>): string => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`

/** The end of the run is its last event. No other stream can continue it, so events have no ID. */
const previewFormat = (requestId: string): EventFormat<string> => ({
  first: '',
  text: (text) => textOf({ event: 'response.output_text.delta', data: { delta: text } }),
  accepted: () => undefined,
  reset: () => ({ events: textOf({ event: 'response.output_text.reset', data: {} }), isLast: false }),
  last: (end) => end,
  refused: ({ code, message }) => textOf({ event: 'error', data: errorObject(code, message, requestId) }),
})

/** Starts the run. `fails` returns the last event after an error. */
function streamed(requestId: string, runPreview: RunPreview, fails: (error: unknown) => string): StreamedRun<string> {
  let listener: TextListener | undefined
  const pass = (text: string): void => listener?.onText(text, textStart)
  const onReset = (text: string): void => {
    listener?.onReset()
    if (text !== '') pass(text)
  }
  const end = runPreview({ onText: pass, onReset })
    .then((preview) => textOf({ event: 'preview.completed', data: writePreview(preview) }))
    .catch(fails)
  function listen(given: TextListener): () => void {
    listener = given
    return () => void (listener = undefined)
  }
  return { requestId, listen, end }
}

export const previewRoutes: TypedRoutes<{ streams: StreamOptions }> = async (app, { streams }) => {
  app.post(
    '/agents/:id/preview',
    {
      schema: {
        ...about(
          'Agents',
          'previewAgent',
          'Try a version or a draft of an agent',
          'Runs the message with the history of a conversation of the playground, with a version of the agent, and with the changes in `overrides`. Searches the knowledge base and calls tools without side effects. A call with side effects is not made. Stores nothing and charges no one; the provider bills the model calls. If the model fails, the response is a 200 with `failure`. If the caller disconnects, the run ends. With `Accept: text/event-stream`, the reply is streamed while it is generated.',
        ),
        params: AgentParams,
        body: PreviewBody,
        response: previewEvents(answers(previewAnswer, 'not_found')),
      },
    },
    async (request, reply) => {
      const { message, external_user_id: externalUserId, before_turn: beforeTurn, version, overrides = {} } = request.body
      if (beforeTurn !== undefined && externalUserId !== undefined)
        throw invalid('before_turn', 'Use either external_user_id or before_turn: each of them says which history the message has.')
      const historyOf = beforeTurn === undefined ? { externalUserId: externalUserId ?? usualUser } : { beforeTurn }
      const asked = {
        message,
        historyOf,
        version,
        overrides: readChange(overrideFields, overrides),
        requestId: request.id,
        left: leftBy(request, reply),
      }
      const runPreview = await request.admin.preparePreview(request.params.id, asked)
      if (!request.headers.accept?.includes('text/event-stream')) return writePreview(await runPreview())
      const fails = (error: unknown): string => {
        const { code, message: reason } = error instanceof ApiError ? error : new ApiError('internal_error')
        if (code === 'internal_error') streams.log.error({ err: error, request_id: request.id }, 'preview failed: internal error')
        note(request.raw, { code })
        return textOf({ event: 'error', data: errorObject(code, reason, request.id) })
      }
      note(request.raw, { transport: 'stream' })
      reply.hijack()
      const whileAllowed = { ...streams, access: request.access }
      return streamRun(reply.raw, streamed(request.id, runPreview, fails), previewFormat(request.id), message, whileAllowed)
    },
  )
}
