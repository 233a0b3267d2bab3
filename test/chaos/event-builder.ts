/**
 * Builds a history by hand, for tests of the checker: a minimal service that keeps its guarantees, with its own IDs, clock, money and
 * storage.
 */
import type {
  AdminChange,
  AnswerEvent,
  CallEvent,
  CancelEvent,
  FeedbackEvent,
  HistoryEvent,
  PollEvent,
  StoredDeliveries,
  StoredFeedback,
  StoredTurns,
  Tenant,
} from './history.ts'
import { hiddenWords, readMessage } from './messages.ts'

type StreamEvents = NonNullable<AnswerEvent['events']>
export type Said = { key: string; user: string; idempotencyKey: string; message: string }

const price = { promptUsdPerMillion: '0.50', completionUsdPerMillion: '1.50' }
const agentsOf = (names: string[]): Tenant['agents'] => names.map((name) => ({ id: `agt_${name}`, name, ...price, historyTokens: 100_000 }))
const key = (name: string, agent: string, limit = 1000): Tenant['keys'][0] => ({
  name,
  id: `key_${name}`,
  agentId: `agt_${agent}`,
  permission: 'full',
  limit,
  windowSeconds: 60,
})
const tenants: Tenant[] = [
  {
    name: 'amber',
    canary: 'amber1',
    hidden: hiddenWords('amber1'),
    owner: { id: 'own_amber', balanceUsd: '10', rich: true },
    agents: agentsOf(['main', 'off']),
    keys: [key('main', 'main'), key('off', 'off'), key('limited', 'main', 3), key('revoked', 'main')],
  },
  {
    name: 'birch',
    canary: 'birch2',
    hidden: hiddenWords('birch2'),
    owner: { id: 'own_birch', balanceUsd: '0.001', rich: false },
    agents: agentsOf(['thin']),
    keys: [key('thin', 'thin')],
  },
  {
    name: 'cedar',
    canary: 'cedar3',
    hidden: hiddenWords('cedar3'),
    owner: { id: 'own_cedar', balanceUsd: '10', rich: true },
    agents: agentsOf(['capped']).map((agent) => ({ ...agent, capped: { agentUsd: '0.002', endUserUsd: '0.002', maxOutputTokens: 400 } })),
    keys: [key('capped', 'capped')],
  },
]

const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
const ulid = (n: number): string => String(n).padStart(26, '0')
const time = (n: number): string => new Date(1_800_000_000_000 + n).toISOString()
const usd = (units: bigint): string => `${units / 100_000_000n}.${(units % 100_000_000n).toString().padStart(8, '0')}`
/** For prompt and completion tokens at the price above, rounded up. */
const costOf = (prompt: number, completion: number): bigint => (BigInt(prompt * 50 + completion * 150) * 1_000_000n + 999_999n) / 1_000_000n

const statuses: Record<string, [status: number, retryAfter?: string]> = {
  validation_error: [422],
  invalid_api_key: [401],
  agent_disabled: [403],
  not_found: [404],
  idempotency_conflict: [409],
  idempotency_in_progress: [409, '2'],
  conversation_busy: [409, '2'],
  turn_cancelled: [409],
  insufficient_balance: [402],
  spend_limit_exceeded: [402],
  rate_limit_exceeded: [429, '30'],
  api_rate_limit_unavailable: [503, '5'],
  service_unavailable: [503, '5'],
  internal_error: [500],
}

export function createEventBuilder() {
  const events: HistoryEvent[] = []
  let at = 0
  let calls = 0
  let serials = 0
  let ids = 0
  const now = (): number => (at += 10)
  const windows = new Map<string, number>()
  const replies = new Map<string, { text: string; said: any; key: string }>()
  const conversations = new Map<string, { id: string; messages: any[] }>()
  /** Of the prompt. */
  const agent = { version: 1 }
  const charges: { owner: string; requestId: string; units: bigint }[] = []
  const keyOf = (name: string): Tenant['keys'][0] => tenants.flatMap(({ keys }) => keys).find((one) => one.name === name)!

  const write = (event: HistoryEvent): void => void events.push(event)
  const say = (name: string, keyName: string, user: string, does: string): Said => {
    const canary = tenants.find(({ keys }) => keys.some((one) => one.name === keyName))!.canary
    return { key: keyName, user, idempotencyKey: `k-${name}`, message: `${name} ${canary} ${does} | ?` }
  }
  const call = (said: Said, more: Partial<CallEvent> = {}): number => {
    calls++
    write({ kind: 'call', at: now(), call: calls, transport: 'chat', supervised: 0, ...said, ...more })
    return calls
  }
  const answer = (of: number, more: Partial<AnswerEvent>): void => {
    const headAt = now()
    write({ kind: 'answer', at: now(), headAt, call: of, status: null, headers: {}, body: null, events: null, end: 'whole', ...more })
  }
  const rate = (keyName: string): Record<string, string> => {
    const { limit } = keyOf(keyName)
    windows.set(keyName, (windows.get(keyName) ?? 0) + 1)
    const remaining = Math.max(0, limit - windows.get(keyName)!)
    return { 'x-ratelimit-limit': String(limit), 'x-ratelimit-remaining': String(remaining), 'x-ratelimit-reset': '1800000060' }
  }
  /** `location`: of the turn that is running. */
  const refuse = (of: number, code: string, keyName = 'main', requestId = uuid(++ids), location?: string): void => {
    const [status, retryAfter] = statuses[code]!
    const headers = {
      'x-request-id': requestId,
      'content-type': 'application/json; charset=utf-8',
      ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }),
      ...(location === undefined ? {} : { location }),
      ...(status === 429 ? rate(keyName) : {}),
    }
    answer(of, { status, headers, body: JSON.stringify({ error: { code, message: 'It says why.', request_id: requestId } }) })
  }
  const model = (said: Said, does: 'text' | 'tools' | 'fault', asksToBook = 0): number => {
    serials++
    const serial = serials
    const { canary, name } = readMessage(said.message)!
    const history = conversations.get(`${said.key} ${said.user}`)?.messages ?? []
    const messages = [
      { role: 'system', content: `You are version ${agent.version} of an agent. Never say prompt-${canary}.` },
      ...history.map(({ role, content }) => ({ role, content })),
      { role: 'user', content: said.message },
    ]
    const text = does === 'text' ? `[c${serial}] v${agent.version} to ${name} of ${canary}. And more.` : ''
    const usage = { prompt_tokens: 100, completion_tokens: 7 }
    write({ kind: 'model', at: now(), serial, message: said.message, messages, does, text, usage, asksToBook })
    return serial
  }
  const modelEnds = (serial: number, answered: 'whole' | 'fault' | 'aborted' = 'whole'): void =>
    write({ kind: 'modelEnd', at: now(), serial, answered })
  /** Settles: the exchange is stored and charged. `incomplete`: only its first half was generated, and its tokens are estimated. */
  const settle = (said: Said, serial: number, steps = 1, incomplete = false): void => {
    const pair = `${said.key} ${said.user}`
    const conversation = conversations.get(pair) ?? { id: `conv_${ulid(++ids)}`, messages: [] }
    conversations.set(pair, conversation)
    const result = events.find((event) => event.kind === 'model' && event.serial === serial) as Extract<HistoryEvent, { kind: 'model' }>
    const content = incomplete ? result.text.slice(0, Math.floor(result.text.length / 2)) : result.text
    const [prompt, completion] = [100 * steps, incomplete ? Math.ceil(Buffer.byteLength(content) / 4) : 7 * steps]
    const charged = costOf(prompt, completion)
    const requestId = uuid(++ids)
    const [question, reply] = [ulid(++ids), ulid(++ids)]
    const common = { requestId, createdAt: time(at) }
    conversation.messages.push(
      { id: `msg_${question}`, role: 'user', content: said.message, ...common },
      { id: `msg_${reply}`, role: 'assistant', content, ...common },
    )
    const reported = {
      request_id: requestId,
      conversation_id: conversation.id,
      message: { id: `msg_${reply}`, role: 'assistant', content, created_at: common.createdAt, ...(incomplete ? { incomplete } : {}) },
      usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion, charged_usd: usd(charged) },
    }
    replies.set(said.message, { text: JSON.stringify(reported), said: reported, key: said.key })
    charges.push({ owner: tenants.find(({ keys }) => keys.includes(keyOf(said.key)))!.owner.id, requestId, units: charged })
    deliver(requestId, 'completed', deliveries.length === 0 ? 2 : 1)
  }
  const deliveries: StoredDeliveries['deliveries'] = []
  /** The event of an ended turn; the receiver accepts the last of these attempts. */
  const deliver = (requestId: string, status: 'completed' | 'cancelled', attempts = 1): void => {
    const id = `evt_${requestId}_turn_${status}`
    const body = JSON.stringify({ type: `turn.${status}`, timestamp: time(at), data: { request_id: requestId, status, run: 1 } })
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const accepted = attempt === attempts
      write({ kind: 'webhook', at: now(), id, body, manner: accepted ? 'ok' : 'error', accepted })
    }
    deliveries.push({ id, status: 'delivered', attempts })
  }
  const reply = (said: Said, of: number, transport: 'chat' | 'stream' = 'chat', pieces = 2): void => {
    const { text, said: reported } = replies.get(said.message)!
    const common = { status: 200, headers: { 'x-request-id': reported.request_id } as Record<string, string> }
    const figures = rate(said.key)
    if (transport === 'chat') {
      const headers = { ...common.headers, 'content-type': 'application/json; charset=utf-8', ...figures }
      return answer(of, { ...common, headers, body: text })
    }
    const streamed = eventsOf(reported)
    stream(of, reported.request_id, pieces === 0 ? [streamed[0]!, streamed.at(-1)!] : streamed)
  }
  /** Of a reply: created, two deltas, completed. */
  const eventsOf = (reported: any): StreamEvents => {
    const { content } = reported.message as { content: string }
    const cut = Math.floor(content.length / 2)
    const deltas = [content.slice(0, cut), content.slice(cut)]
    return [
      created(reported.request_id, reported.conversation_id),
      ...deltas.map((delta, n) => ({ event: 'response.output_text.delta', id: `${n + 1}-x`, data: JSON.stringify({ delta }) })),
      { event: 'response.completed', id: 'end', data: JSON.stringify(reported) },
    ]
  }
  const created = (requestId: string, conversationId = `conv_${ulid(0)}`): StreamEvents[0] => ({
    event: 'response.created',
    id: '0-0',
    data: JSON.stringify({ request_id: requestId, conversation_id: conversationId }),
  })
  const stream = (of: number, requestId: string, streamed: StreamEvents, end: AnswerEvent['end'] = 'whole'): void => {
    const headers = {
      'x-request-id': requestId,
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    }
    answer(of, { status: 200, headers, events: streamed, end })
  }
  /** The events of the reply that was settled. */
  const streamOf = (said: Said): StreamEvents => eventsOf(replies.get(said.message)!.said)
  const errorEvent = (code: string, requestId: string): StreamEvents[0] => ({
    event: 'error',
    id: 'end',
    data: JSON.stringify({ code, message: 'It says why.', request_id: requestId }),
  })
  /** A request about the turn. */
  const ask = (
    said: Said,
    requestId: string,
    asked: Pick<CancelEvent | PollEvent, 'kind'> | Pick<FeedbackEvent, 'kind' | 'rating' | 'comment' | 'tags'>,
  ): number => {
    calls++
    write({ at: now(), call: calls, supervised: 0, ...said, requestId, ...asked })
    return calls
  }
  const cancel = (said: Said, requestId: string): number => ask(said, requestId, { kind: 'cancel' })
  const poll = (said: Said, requestId: string): number => ask(said, requestId, { kind: 'poll' })
  const given: StoredFeedback['feedback'] = []
  /** Feedback, with its response if it is confirmed. */
  const giveFeedback = (said: Said, rating: 'up' | 'down', isConfirmed = true): void => {
    const requestId = replies.get(said.message)!.said.request_id as string
    const feedback = { rating, comment: `comment ${calls + 1}`, tags: ['fast'] }
    const of = ask(said, requestId, { kind: 'feedback', ...feedback })
    if (!isConfirmed) return answer(of, { end: 'broken', error: 'ECONNRESET' })
    given.splice(0, given.length, ...given.filter((one) => one.requestId !== requestId), { requestId, ...feedback })
    const headers = { 'x-request-id': uuid(9_000_000 + of), 'content-type': 'application/json; charset=utf-8', ...rate(said.key) }
    answer(of, {
      status: 200,
      headers,
      body: JSON.stringify({ request_id: requestId, ...feedback, created_at: time(at), updated_at: time(at) }),
    })
  }
  /** The response to a caller that does not wait. */
  const accept = (of: number, said: Said, requestId: string): void => {
    const headers = {
      'x-request-id': requestId,
      'content-type': 'application/json; charset=utf-8',
      location: `/v1/agents/${keyOf(said.key).agentId}/turns/${requestId}`,
      'preference-applied': 'respond-async',
    }
    answer(of, {
      status: 202,
      headers,
      body: JSON.stringify({ request_id: requestId, conversation_id: `conv_${ulid(0)}`, status: 'running' }),
    })
  }
  /** The response to a cancel or a poll. */
  const reportTurn = (of: number, said: Said, requestId: string, turn: { status: string; cancelRequested: boolean }): void => {
    const reported = turn.status === 'completed' ? replies.get(said.message)!.said : undefined
    const body = {
      request_id: requestId,
      conversation_id: reported?.conversation_id ?? `conv_${ulid(0)}`,
      external_user_id: said.user,
      status: turn.status,
      created_at: time(at),
      ended_at: turn.status === 'running' ? null : time(at),
      message: reported?.message ?? null,
      usage: reported
        ? {
            ...reported.usage,
            prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
            completion_tokens_details: { reasoning_tokens: 0 },
            tool_calls_usd: '0.00000000',
          }
        : null,
      error: turn.status === 'cancelled' ? { code: 'turn_cancelled', message: 'It says why.' } : null,
      cancel_requested: turn.cancelRequested,
      finish_reason: reported?.message && !reported.message.incomplete ? 'stop' : null,
    }
    const headers = { 'x-request-id': uuid(9_000_000 + of), 'content-type': 'application/json; charset=utf-8', ...rate(said.key) }
    answer(of, { status: 200, headers, body: JSON.stringify(body) })
  }
  const simple = (said: Said, transport: 'chat' | 'stream' = 'chat'): void => {
    const of = call(said, { transport })
    const serial = model(said, 'text')
    modelEnds(serial)
    settle(said, serial)
    reply(said, of, transport)
  }
  const change = (reported: AdminChange): void => {
    const startedAt = now()
    write({ kind: 'admin', at: now(), startedAt, ...reported })
  }

  /** Everything that is stored; requests with two attempts are distinguished. */
  function lastLook(twice: Said, cancelled: string[]): void {
    for (const [pair, { id, messages }] of conversations) {
      const [keyName = '', user = ''] = pair.split(' ')
      write({ kind: 'stored', what: 'conversation', at: now(), key: keyName, user, id, messages, by: 'admin' })
    }
    for (const { owner } of tenants) {
      const paid = owner.id === 'own_birch' ? [100_000n, 1_000_000n] : [1_000_000_000n]
      const own = charges.filter((one) => one.owner === owner.id)
      const balance = paid.reduce((sum, one) => sum + one, 0n) - own.reduce((sum, { units }) => sum + units, 0n)
      const entry = (kind: string, amountUsd: string, requestId: string | null) => ({
        id: `led_${ulid(++ids)}`,
        kind,
        amountUsd,
        writtenOffUsd: '0.00000000',
        requestId,
      })
      const ledger = [
        ...paid.map((one) => entry('topup', usd(one), null)),
        ...own.map(({ units, requestId }) => entry('charge', `-${usd(units)}`, requestId)),
      ]
      write({
        kind: 'stored',
        what: 'owner',
        at: now(),
        owner: owner.id,
        balanceUsd: usd(balance),
        heldUsd: '0.00000000',
        availableUsd: usd(balance),
        ledger,
      })
    }
    const turns = [...replies.values()].map(({ said: { request_id: requestId }, key: keyName }) => {
      const attempts = requestId === replies.get(twice.message)!.said.request_id ? 2 : 1
      return { requestId, key: keyName, state: 'completed', run: 1, attempts, heldUsd: '0.00000000' }
    })
    for (const requestId of cancelled) deliver(requestId, 'cancelled')
    const unanswered = cancelled.map((requestId): StoredTurns['turns'][0] => {
      return { requestId, key: 'main', state: 'cancelled', run: 1, attempts: 1, heldUsd: '0.00000000' }
    })
    write({ kind: 'stored', what: 'turns', at: now(), turns: [...turns, ...unanswered] })
    write({ kind: 'stored', what: 'feedback', at: now(), feedback: given })
    write({ kind: 'stored', what: 'deliveries', at: now(), deliveries })
  }

  /** Moves the clock. */
  const pass = (ms: number): void => void (at += ms)
  /** Of the request that is settled next. */
  const nextRequestId = (): string => uuid(ids + 2)
  /** Resets the window of a key, or of all keys. */
  const clearWindows = (): void => windows.clear()
  const forget = (pair: string): void => void conversations.delete(pair)

  return {
    events,
    tenants,
    agent,
    now,
    pass,
    write,
    say,
    call,
    answer,
    refuse,
    model,
    modelEnds,
    settle,
    reply,
    stream,
    streamOf,
    created,
    errorEvent,
    cancel,
    poll,
    giveFeedback,
    accept,
    reportTurn,
    simple,
    change,
    lastLook,
    nextRequestId,
    clearWindows,
    forget,
  }
}
