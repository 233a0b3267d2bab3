/**
 * The client: sends the message of an end user and returns the agent's reply, generated once and charged once, however many attempts
 * it takes. The API key is private to the client.
 */
import { refuseBrowser } from './browser-guard.ts'
import { Conversations } from './conversations.ts'
import { TurnkeepError } from './errors.ts'
import { headerOfKey, pathSegment, readApiKey, readBaseUrl, readLimits } from './options.ts'
import type { BackgroundOption, ChatOptions, Limits, TurnkeepOptions } from './options.ts'
import { persist } from './persist.ts'
import { randomKey } from './random-key.ts'
import { ChatStream, ReplyStream } from './reply-stream.ts'
import { makeSend, readBody } from './request.ts'
import type { RateLimit, Send } from './request.ts'
import { StreamedTurn } from './streamed-turn.ts'
import { Turns } from './turns.ts'
import { readStarted } from './turn-wire.ts'
import type { StartedTurn } from './turn-wire.ts'
import { readReply, writeChatRequest } from './wire.ts'
import type { ChatReply, ChatRequest } from './wire.ts'

const usualLimits: Limits = {
  // The service ends every turn after 110 s.
  timeout: 120_000,
  maxRetries: 10,
  // Enough for an interrupted turn and its recovery.
  maxWait: 300_000,
}

/** The result of `chat` in the background: a turn that runs, or the reply of one that had completed before with the same key. */
export type BackgroundResult = StartedTurn | (ChatReply & { status: 'completed' })

export class Turnkeep {
  readonly conversations: Conversations
  readonly turns: Turns
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
    this.turns = new Turns(this.#send, this.#limits)
  }

  /** The rate limit of the API key, from the last response that contained it. Undefined: unknown. */
  get rateLimit(): RateLimit | undefined {
    return this.#rateLimit
  }

  /** Sends a message and waits for the reply. */
  chat(request: ChatRequest, options?: ChatOptions & { background?: false | undefined }): Promise<ChatReply>
  /**
   * Sends a message and returns when its turn has started. `turns.get` and `turns.stream` have its reply. If the key was sent before, the
   * result is the reply of its turn, which is waited for if it is still running. A server without this feature returns the reply.
   */
  chat(request: ChatRequest, options: ChatOptions & { background: true }): Promise<BackgroundResult>
  chat(request: ChatRequest, options: ChatOptions & BackgroundOption): Promise<ChatReply | BackgroundResult>
  async chat(request: ChatRequest, options: ChatOptions & BackgroundOption = {}): Promise<ChatReply | BackgroundResult> {
    const { call, outgoing } = this.#prepare(request, options)
    const background = options.background === true
    const message = { ...outgoing, path: '/chat', accept: 'application/json' } as const
    const wanted = background ? ({ prefer: 'respond-async', also: 202 } as const) : {}
    return persist(call, async (watch): Promise<ChatReply | BackgroundResult> => {
      const response = await this.#send({ ...message, ...wanted }, watch)
      if (response.status === 202) return readBody(response, watch, readStarted)
      const reply = await readBody(response, watch, readReply)
      return background ? { ...reply, status: 'completed' } : reply
    })
  }

  /**
   * Sends a message and streams the reply. Nothing is sent before the stream is read. A stream that breaks is continued where it broke, or
   * finished with the same key.
   */
  stream(request: ChatRequest, options: ChatOptions = {}): ChatStream {
    const { call, outgoing } = this.#prepare(request, options)
    const turn = new StreamedTurn(this.#send, { message: { ...outgoing, path: '/chat/stream', accept: 'text/event-stream' } })
    return new ChatStream(call.idempotencyKey, (emit, signal) => turn.run({ ...call, signal }, emit), options.signal)
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

export { ChatStream, Conversations, ReplyStream, TurnkeepError, Turns }
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
  SpendLimitError,
  ValidationError,
} from './errors.ts'
export { verifyWebhook, WebhookVerificationError } from './webhooks.ts'
export type { VerifyOptions, WebhookEvent, WebhookHeaders } from './webhooks.ts'
export type { APIErrorDetails } from './errors.ts'
export type { ConversationQuery, PageOptions } from './conversations.ts'
export type { ChatOptions, RequestOptions, TurnkeepOptions, TurnStreamOptions } from './options.ts'
export type { ChatStreamEvent } from './reconcile.ts'
export type { RateLimit } from './request.ts'
export type { Feedback, FeedbackRequest, StartedTurn, Turn, TurnError, TurnUsage } from './turn-wire.ts'
export type { AssistantMessage, ChatReply, ChatRequest, Conversation, Message, Usage } from './wire.ts'
