/**
 * The client: sends the message of an external user and returns the agent's reply, generated once and charged once, however many attempts
 * it takes. The API key is private to the client.
 */
import { refuseBrowser } from './browser-guard.ts'
import { ChatStream } from './chat-stream.ts'
import { Conversations } from './conversations.ts'
import { TurnkeepError } from './errors.ts'
import { headerOfKey, pathSegment, readApiKey, readBaseUrl, readLimits } from './options.ts'
import type { ChatOptions, Limits, TurnkeepOptions } from './options.ts'
import { persist } from './persist.ts'
import { randomKey } from './random-key.ts'
import { Reconciler } from './reconcile.ts'
import { makeSend, readBody } from './request.ts'
import type { RateLimit, Send } from './request.ts'
import { attemptStream } from './stream-attempt.ts'
import { readReply, writeChatRequest } from './wire.ts'
import type { ChatReply, ChatRequest } from './wire.ts'

const usualLimits: Limits = {
  // The service ends every turn after 110 s.
  timeout: 120_000,
  maxRetries: 10,
  // Enough for an interrupted turn and its recovery.
  maxWait: 300_000,
}

export class Turnkeep {
  readonly conversations: Conversations
  readonly #send: Send
  readonly #limits: Limits
  #rateLimit: RateLimit | undefined

  /** Throws TurnkeepError for an invalid option, and in a browser. */
  constructor(options: TurnkeepOptions) {
    refuseBrowser(globalThis)
    this.#limits = readLimits(options, usualLimits)
    this.#send = makeSend({
      agentUrl: `${readBaseUrl(options.baseURL)}/v1/agents/${pathSegment('agentId', options.agentId)}`,
      apiKey: readApiKey(options.apiKey),
      fetch: options.fetch,
      onRateLimit: (rateLimit) => (this.#rateLimit = rateLimit),
    })
    this.conversations = new Conversations(this.#send, this.#limits)
  }

  /** The rate limit of the API key, from the last response that contained it. Undefined: unknown. */
  get rateLimit(): RateLimit | undefined {
    return this.#rateLimit
  }

  /** Sends a message and waits for the reply. */
  async chat(request: ChatRequest, options: ChatOptions = {}): Promise<ChatReply> {
    const { call, outgoing } = this.#prepare(request, options)
    return persist(call, async (watch) =>
      readBody(await this.#send({ ...outgoing, path: '/chat', accept: 'application/json' }, watch), watch, readReply),
    )
  }

  /** Sends a message and streams the reply. Nothing is sent before the stream is read. */
  stream(request: ChatRequest, options: ChatOptions = {}): ChatStream {
    const { call, outgoing } = this.#prepare(request, options)
    const message = { ...outgoing, path: '/chat/stream', accept: 'text/event-stream' } as const
    const reconciler = new Reconciler()
    return new ChatStream(
      call.idempotencyKey,
      (emit, signal) => persist({ ...call, signal }, (watch) => attemptStream(this.#send, message, watch, { reconciler, emit })),
      options.signal,
    )
  }

  /** One key per call, for all of its attempts. */
  #prepare(request: ChatRequest, options: ChatOptions) {
    const idempotencyKey = options.idempotencyKey ?? randomKey()
    return {
      call: { ...readLimits(options, this.#limits), signal: options.signal, idempotencyKey },
      outgoing: { method: 'POST' as const, body: writeChatRequest(request), idempotencyKey: headerOfKey(idempotencyKey) },
    }
  }
}

export { ChatStream, Conversations, TurnkeepError }
export {
  APIConnectionError,
  APIConnectionTimeoutError,
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  InsufficientBalanceError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  ServiceUnavailableError,
  ValidationError,
} from './errors.ts'
export type { APIErrorDetails } from './errors.ts'
export type { ConversationQuery, PageOptions } from './conversations.ts'
export type { ChatOptions, RequestOptions, TurnkeepOptions } from './options.ts'
export type { ChatStreamEvent } from './reconcile.ts'
export type { RateLimit } from './request.ts'
export type { AssistantMessage, ChatReply, ChatRequest, Conversation, Message, Usage } from './wire.ts'
