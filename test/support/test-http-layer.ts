/**
 * A real HTTP layer on a real port with scripted modules behind it, for behavior of the connection alone. Tests that need the rules of a
 * turn use the whole app (test-app.ts).
 */
import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import type { Access, ApiKey, Authenticated, RateOutcome } from '../../src/access/outcome.ts'
import { createHttpLayer } from '../../src/http/http.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import type { HttpLayerOptions } from '../../src/http/http.ts'
import { isOurs } from './answer-check-run.ts'
import { ApiError } from '../../src/errors.ts'
import type { BeginResult, RunningTurn, TurnEnd, TurnRequest } from '../../src/turn/outcome.ts'
import type { TurnResource } from '../../src/turn/turn-resource.ts'
import { TurnText } from '../../src/turn/turn-text.ts'
import type { TextListener, TextPosition } from '../../src/turn/turn-text.ts'

type Public = NonNullable<HttpLayerOptions['public']>
type StoredReply = Extract<TurnEnd, { kind: 'completed' }>['reply']

export const apiKey: ApiKey = {
  id: 'key_door',
  agentId: 'agt_door',
  ownerId: 'own_door',
  agentName: 'Test agent',
  agentCreatedAt: 1_700_000_000_000,
  permission: 'full',
  rateLimit: 120,
  rateWindowSeconds: 60,
  defaultExternalUserId: null,
  mcp: true,
}
export const figures = { limit: 120, remaining: 119, resetAt: 1_900_000_000 }
/** An admin API that no test calls. */
export const uncalledAdmin = {
  admin: { calledBy: () => ({}) },
  adminToken: 'a-token-of-a-test',
  limits: { rate: 1000, parallel: 100 },
  turns: {},
  erasure: {},
} as never
export const chatPath = '/v1/agents/agt_door/chat'
export const body = (message = 'hello', user = 'user-1'): string => JSON.stringify({ external_user_id: user, message })

export type TestLayerOptions = Omit<Partial<HttpLayerOptions>, 'public'> & {
  authenticate?: (authorization: string | undefined) => Authenticated
  spend?: () => RateOutcome
  begin?: (request: TurnRequest) => BeginResult | Promise<BeginResult>
  conversations?: Public['conversations']
  resource?: Partial<TurnResource>
}

export type TestLayer = {
  url: string
  port: number
  /** The requests that reached the modules. */
  started: TurnRequest[]
  spent: number
  /** Log lines, parsed. */
  logged: Record<string, unknown>[]
  chat(options?: { path?: string; headers?: Record<string, string>; body?: string }): Promise<Response>
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export async function startTestLayer(options: TestLayerOptions = {}): Promise<TestLayer> {
  const { authenticate = byBearer, spend = allow, begin = replay, conversations = noConversations, resource = {}, ...given } = options
  const logged: Record<string, unknown>[] = []
  const access: Access = {
    authenticate: async (authorization) => authenticate(authorization),
    async spend() {
      layer.spent++
      return spend()
    },
  }
  const turns = {
    async begin(request: TurnRequest) {
      layer.started.push(request)
      return begin(request)
    },
    resource: { ...noTurns, ...resource },
  }
  const opened = await createHttpLayer({
    public: { access, turns, conversations },
    log: pino({ level: 'info' }, { write: (line: string) => void logged.push(JSON.parse(line)) }),
    metrics: createMetrics(),
    newRequestId: randomUUID,
    ready: async () => ({ draining: false, store: 'ok', limiter: 'ok' }),
    ...given,
  })
  const url = await opened.listen(0, '127.0.0.1')
  isOurs(url)
  let closing: Promise<void> | undefined
  const layer: TestLayer = {
    url,
    port: Number(new URL(url).port),
    started: [],
    spent: 0,
    logged,
    chat: ({ path = chatPath, headers = {}, body: sent = body() } = {}) =>
      fetch(`${url}${path}`, {
        method: 'POST',
        headers: { authorization: 'Bearer good', 'idempotency-key': 'k', 'content-type': 'application/json', ...headers },
        body: sent,
      }),
    close: () => (closing ??= opened.close()),
    [Symbol.asyncDispose]: () => layer.close(),
  }
  return layer
}

const byBearer = (authorization: string | undefined): Authenticated =>
  authorization === 'Bearer good' ? { kind: 'authenticated', apiKey } : { kind: 'invalid_api_key' }
const allow = (): RateOutcome => ({ kind: 'allowed', figures })
const replay = ({ message }: TurnRequest): BeginResult => ({ kind: 'replay', reply: storedReply(message) })
const noTurn = async (): Promise<never> => {
  throw new ApiError('not_found')
}
const noTurns: TurnResource = {
  find: noTurn,
  open: noTurn,
  cancel: noTurn,
  giveFeedback: noTurn,
  readMessage: noTurn,
  findNewest: async () => undefined,
  findOfKey: noTurn,
  findBlocking: async () => undefined,
}
const noConversations: Public['conversations'] = {
  list: async () => ({ data: [], nextCursor: null }),
  idOf: async () => undefined,
  messages: async () => ({ kind: 'not_found' }),
}

export const storedReply = (content: string, requestId: string = randomUUID()): StoredReply => ({
  requestId,
  conversationId: 'conv_door',
  messageId: 'msg_door',
  content,
  createdAt: 1_700_000_000_000,
  promptTokens: 3,
  completionTokens: 4,
  charged: 1234n,
  incomplete: false,
  finishReason: 'stop',
})

/** A turn whose output the test determines. */
export class ScriptedTurn implements RunningTurn {
  readonly requestId: string = randomUUID()
  readonly conversationId = 'conv_door'
  readonly fence = 1
  readonly end: Promise<TurnEnd>
  readonly #end = Promise.withResolvers<TurnEnd>()
  readonly #listening = Promise.withResolvers<void>()
  readonly #left = Promise.withResolvers<void>()
  readonly #text = new TurnText()

  constructor() {
    this.end = this.#end.promise
  }

  /** Whether there is a listener. */
  get listening(): Promise<void> {
    return this.#listening.promise
  }
  get left(): Promise<void> {
    return this.#left.promise
  }
  get started(): BeginResult {
    return { kind: 'running', turn: this }
  }

  get content(): string {
    return this.#text.text
  }

  listen(listener: TextListener, after?: TextPosition): () => void {
    const stop = this.#text.listen(listener, after)
    this.#listening.resolve()
    return () => {
      stop()
      this.#left.resolve()
    }
  }

  say(delta: string): void {
    this.#text.append(delta)
  }

  complete(): void {
    this.#end.resolve({ kind: 'completed', reply: storedReply(this.content, this.requestId) })
  }

  fail(code: Extract<TurnEnd, { kind: 'failed' }>['code']): void {
    this.#end.resolve({ kind: 'failed', code, state: null })
  }
}
