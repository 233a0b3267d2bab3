/**
 * The playground of the console: sends a message as the operator. The message runs, is stored, billed and streamed like any other. There is no
 * rate limit, because no caller has the key that it uses.
 */
import { randomUUID } from 'node:crypto'
import { ApiError } from '../../../errors.ts'
import { available } from '../../../ledger/ledger.ts'
import type { AdminCalls } from '../../../admin/admin.ts'
import { about, guessFailure } from '../answers.ts'
import { AgentParams, wellFormed, writeUsd } from '../fields.ts'
import { describeFailures, describeHeaders, describeStream } from '../../public/answers.ts'
import { chatStreams } from '../../public/examples.ts'
import { ChatEvent } from '../../public/schemas.ts'
import { sendBeginResult } from '../../public/chat-routes.ts'
import type { StreamOptions } from '../../public/event-stream.ts'
import { readIdempotencyKey } from '../../public/idempotency-key.ts'
import { maxMessage, wellFormedPattern } from '../../edge/invalid-input.ts'
import { Type } from '../../edge/schema.ts'
import type { TypedRoutes } from '../../edge/typed-routes.ts'

const Message = Type.Object(
  {
    message: Type.String({ minLength: 1, maxLength: maxMessage, pattern: wellFormedPattern }),
    external_user_id: Type.Optional(wellFormed({ minLength: 1, maxLength: 255 })),
  },
  { additionalProperties: false, examples: [{ message: 'What does the premium plan cost?' }] },
)

/** The `external_user_id` to use if the request has none. */
export const usualUser = 'playground'

const schema = {
  ...about(
    'Agents',
    'playInPlayground',
    'Send a message as the operator and stream the reply',
    'Streams the same events as the public API. The `Idempotency-Key` header is optional; without it every call is a new message.',
  ),
  params: AgentParams,
  body: Message,
  response: {
    200: {
      description: 'The stream of events.',
      headers: describeHeaders(),
      content: describeStream(ChatEvent.ref, chatStreams),
    },
    ...guessFailure,
    ...describeFailures(
      ...([
        'bad_request',
        'unauthorized',
        'forbidden',
        'validation_error',
        'payload_too_large',
        'not_found',
        'agent_not_found',
        'agent_disabled',
      ] as const),
      ...([
        'idempotency_conflict',
        'idempotency_in_progress',
        'conversation_busy',
        'spend_limit_exceeded',
        'insufficient_balance',
      ] as const),
      ...(['service_unavailable', 'internal_error'] as const),
    ),
  },
}

/** A caller gets a general message; the operator may see the figures (`billing.unpaid`). */
const tooLittle = ({ balance, held, unpaid }: Awaited<ReturnType<AdminCalls['findOwner']>>): string =>
  `The owner's available balance is too low for this reply: ${writeUsd(available({ balance, held, unpaid }))} USD. The balance is ` +
  `${writeUsd(balance)} USD; running turns hold ${writeUsd(held)} USD, and ${writeUsd(unpaid)} USD is unpaid. Nothing was charged.`

/** One who is restricted to the agent does not see its owner, and gets the general message. */
function ifNotFound(error: unknown): undefined {
  if (!(error instanceof ApiError) || error.code !== 'not_found') throw error
}

export const playgroundRoutes: TypedRoutes<{ streams: StreamOptions }> = async (app, { streams }) => {
  app.post('/agents/:id/playground', { schema }, async (request, reply) => {
    const { message, external_user_id: externalUserId = usualUser } = request.body
    const given = request.headers['idempotency-key'] !== undefined
    const idempotencyKey = given ? readIdempotencyKey(request.raw) : randomUUID()
    const agentId = request.params.id
    const started = await request.modules.beginInPlayground({ agentId, idempotencyKey, externalUserId, message })
    try {
      return await sendBeginResult(request, reply, started, message, { ...streams, access: request.access })
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'insufficient_balance') throw error
      const { ownerId } = await request.admin.findAgent(agentId)
      const owner = await request.admin.findOwner(ownerId).catch(ifNotFound)
      throw owner ? new ApiError(error.code, tooLittle(owner)) : error
    }
  })
}
