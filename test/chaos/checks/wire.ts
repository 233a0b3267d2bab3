/** The shape of each response: H4 (event streams), H5 (IDs and headers), the error envelope, and the possible codes for a request. Pure. */
import { flaws } from '../history.ts'
import type { AnswerEvent } from '../history.ts'
import { parse } from './reading.ts'
import type { Feedback, Reading, Reply, Request, Try, Turn, TurnUsage, Violation } from './reading.ts'

type AboutTurn = Reading['aboutTurns'][number]

export function checkWire(reading: Reading): Violation[] {
  const answered = reading.tries.filter(({ answer }) => answer && answer.status !== null)
  return [
    ...answered.flatMap((one) => [...stream(one), ...headers(one, reading), ...body(one), ...flawed(one, reading)]),
    ...reading.aboutTurns
      .filter(({ answer }) => answer && answer.status !== null)
      .flatMap((one) => [...headers(one, reading), ...aboutTurn(one, reading)]),
    ...reading.requests.flatMap((request) => [...deltas(request), ...codes(request, reading)]),
  ]
}

// The documented error codes; 400, 408, 417 and 431 share one code.
const statuses: Record<string, number[]> = {
  invalid_api_key: [401],
  agent_mismatch: [403],
  permission_denied: [403],
  agent_disabled: [403],
  agent_not_found: [404],
  not_found: [404],
  method_not_allowed: [405],
  payload_too_large: [413],
  validation_error: [422],
  idempotency_conflict: [409],
  idempotency_in_progress: [409],
  conversation_busy: [409],
  turn_cancelled: [409],
  insufficient_balance: [402],
  spend_limit_exceeded: [402],
  rate_limit_exceeded: [429],
  api_rate_limit_unavailable: [503],
  service_unavailable: [503],
  internal_error: [500],
  bad_request: [400, 408, 417, 431],
}
const retryAfter: Record<string, number> = {
  idempotency_in_progress: 2,
  conversation_busy: 2,
  api_rate_limit_unavailable: 5,
  service_unavailable: 5,
}
const inAStream = new Set(['insufficient_balance', 'spend_limit_exceeded', 'service_unavailable', 'internal_error', 'turn_cancelled'])

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const id = (prefix: string): RegExp => new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{26}$`)
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const inside = /\n\s+at |node:internal|\/src\/|\bselect \w+ from\b|\binsert into\b|sqlite|postgres|ECONN|ETIMEDOUT|redis|failpoint/i

/**
 * H4: created, deltas, then exactly one of completed and error, each with an ID and one line of JSON with the specified fields and no
 * others. A continued stream has no start, and may have resets.
 */
function* stream({ call, answer, events }: Try): Generator<Violation> {
  if (!answer!.events) return
  const names = answer!.events.map(({ event }) => event.replace('response.', '')).join(' ')
  const whole = call.resumes
    ? /^(created )?(output_text\.(delta|reset) )*(completed|error)$/
    : /^created( output_text\.delta)* (completed|error)$/
  const started = call.resumes
    ? /^(created ?)?(output_text\.(delta|reset) ?)*(completed|error)?$/
    : /^(created( output_text\.delta)*( completed| error)?)?$/
  if (!(answer!.end === 'whole' ? whole : started).test(names)) yield { check: 'H4', what: `events out of order: ${names}`, events }
  for (const { event, id: eventId, data } of answer!.events) {
    const said = parse(data)
    const wanted = fieldsOf[event]
    if (eventId === '' || data.includes('\n') || wanted === undefined || !hasFields(said, wanted))
      yield { check: 'H4', what: `${event} with the ID ${eventId} and the data ${data}`, events }
    else if (event === 'error') {
      const { code, message } = said as { code: string; message: string }
      if (!inAStream.has(code) || inside.test(message)) yield { check: 'envelope', what: `the error event ${data}`, events }
    } else if (event === 'response.completed') yield* shape(said as Reply, events)
    if ((said as { request_id?: string })?.request_id !== undefined && (said as Reply).request_id !== answer!.headers['x-request-id'])
      yield { check: 'H5', what: `${event} names another request than X-Request-ID`, events }
  }
}

const fieldsOf: Record<string, string> = {
  'response.created': 'conversation_id request_id',
  'response.output_text.delta': 'delta',
  'response.output_text.reset': '',
  'response.completed': 'conversation_id message request_id usage',
  error: 'code message request_id',
}

const hasFields = (said: unknown, names: string): boolean =>
  typeof said === 'object' && said !== null && Object.keys(said).toSorted().join(' ') === names

/** H4: the deltas add up to the reply. Only a reader who did not read may have missed the end, and only a replay has no deltas. */
function* deltas({ tries, openedAt }: Request): Generator<Violation> {
  for (const { call, answer, reply, events } of tries) {
    // A continued stream has only the rest: resumes.ts.
    if (!reply || !answer?.events || call.resumes) continue
    const pieces = answer.events.flatMap(({ event, data }) =>
      event === 'response.output_text.delta' ? [(parse(data) as { delta: string }).delta] : [],
    )
    const { content } = reply.said.message
    const said = pieces.join('')
    if (pieces.length === 0) {
      // The first caller listens from the first word on.
      if (call.at === openedAt && tries.every((one) => one.call === call || one.call.at > answer.at))
        yield { check: 'H4', what: 'the first to ask was streamed no delta', events }
    } else if (call.reads === 'slowly' ? !content.startsWith(said) : said !== content)
      yield { check: 'H4', what: `the deltas add up to "${said}" and the reply is "${content}"`, events }
    else if (pieces.includes('')) yield { check: 'H4', what: 'an empty delta', events }
  }
}

/** H5: a UUID in each response; the rate limit headers in a 200 of JSON and a 429 and nowhere else; Retry-After where it is specified. */
function* headers({ call, answer, code, events }: Try | AboutTurn, { tenants }: Reading): Generator<Violation> {
  const { headers: given, status, events: streamed } = answer!
  const wrong = (what: string): Violation => ({ check: 'H5', what, events })
  if (!uuid.test(given['x-request-id'] ?? '')) yield wrong(`X-Request-ID is ${given['x-request-id']}`)
  const rate = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'].map((name) => given[name])
  if (status === 429 || (status === 200 && !streamed)) {
    const key = tenants.flatMap(({ keys }) => keys).find(({ name }) => name === call.key)
    const [limit, remaining] = rate.map(Number)
    if (!rate.every((value) => /^\d+$/.test(value ?? ''))) yield wrong(`rate headers ${rate.join(', ')} on a ${status}`)
    else if (key && limit !== key.limit) yield wrong(`a limit of ${limit} for a key that has ${key.limit}`)
    else if (remaining! >= limit! || (status === 429 && remaining !== 0)) yield wrong(`${remaining} of ${limit} left on a ${status}`)
  } else if (rate.some((value) => value !== undefined)) yield wrong(`rate headers on a ${status} of ${given['content-type']}`)
  const wait = given['retry-after']
  // An error within a stream has no headers.
  const ruled = streamed ? undefined : retryAfter[code ?? '']
  if (
    status === 429 ? !/^[1-9]\d*$/.test(wait ?? '') : answer!.end === 'whole' && wait !== (ruled === undefined ? undefined : String(ruled))
  )
    yield wrong(`Retry-After ${wait} on ${status} ${code}`)
  for (const name of Object.keys(given))
    if (/^(access-control-|server$|x-powered-by$|content-encoding$)/.test(name)) yield wrong(`the header ${name}`)
  const type = given['content-type'] ?? ''
  if (
    streamed
      ? !given['cache-control']?.includes('no-transform') || given['x-accel-buffering'] !== 'no'
      : status === 204
        ? type !== ''
        : !type.startsWith('application/json')
  )
    yield wrong(`the headers of a ${type}`)
}

/** Every failure has the error envelope, and every 200 the specified response. */
function* body({ call, answer, events }: Try): Generator<Violation> {
  const { status, body: text, end, headers: given } = answer!
  // An empty 204 is for resumes.ts.
  if (text === null || end !== 'whole' || (status === 204 && text === '')) return
  const said = parse(text)
  const wrong = (what: string): Violation => ({ check: 'envelope', what, events })
  if (status === 200) {
    if (!hasFields(said, fieldsOf['response.completed']!)) yield wrong(`a 200 with ${text}`)
    else {
      yield* shape(said as Reply, events)
      if ((said as Reply).request_id !== given['x-request-id'])
        yield { check: 'H5', what: 'the body names another request than X-Request-ID', events }
    }
    return
  }
  if (status === 202) {
    const { request_id: requestId = '', conversation_id: conversationId = '', status: state } = (said ?? {}) as Record<string, string>
    const isRight =
      hasFields(said, 'conversation_id request_id status') &&
      requestId === given['x-request-id'] &&
      id('conv').test(conversationId) &&
      state === 'running' &&
      given['location']?.endsWith(`/turns/${requestId}`) &&
      given['preference-applied'] === 'respond-async' &&
      call.prefersAsync === true
    if (!isRight) yield wrong(`a 202 with ${text}`)
    return
  }
  yield* envelope({ answer, events })
}

function* envelope({ answer, events }: Pick<Try, 'answer' | 'events'>): Generator<Violation> {
  const { status, body: text, headers: given } = answer!
  const said = parse(text ?? '')
  const wrong = (what: string): Violation => ({ check: 'envelope', what, events })
  const { error } = (said ?? {}) as { error?: { code: string; message: string; request_id: string } }
  if (!hasFields(said, 'error') || !hasFields(error, 'code message request_id')) return yield wrong(`a ${status} with ${text}`)
  if (!statuses[error!.code]?.includes(status!)) yield wrong(`${error!.code} with status ${status}`)
  if (error!.message === '' || inside.test(error!.message)) yield wrong(`an error says "${error!.message}"`)
  if (error!.request_id !== given['x-request-id'])
    yield { check: 'H5', what: 'the envelope names another request than X-Request-ID', events }
}

function* shape(said: Reply, events: number[]): Generator<Violation> {
  const { request_id: requestId, conversation_id: conversationId, message, usage } = said
  const isRight = uuid.test(requestId) && id('conv').test(conversationId) && isMessage(message) && isUsage(usage)
  if (!isRight) yield { check: 'envelope', what: `a response with ${JSON.stringify(said)}`, events }
}

const isMessage = (message: Reply['message']): boolean =>
  hasFields(message, message.incomplete === true ? 'content created_at id incomplete role' : 'content created_at id role') &&
  id('msg').test(message.id) &&
  message.role === 'assistant' &&
  time.test(message.created_at)

/** That of the reply, with the details of the turn resource. */
function isTurnUsage(usage: TurnUsage): boolean {
  const { prompt_tokens_details: prompt, completion_tokens_details: completion, tool_calls_usd: toolCalls, ...rest } = usage
  return (
    isUsage(rest) &&
    hasFields(prompt, 'cache_write_tokens cached_tokens') &&
    prompt.cached_tokens + prompt.cache_write_tokens <= usage.prompt_tokens &&
    hasFields(completion, 'reasoning_tokens') &&
    /^\d+\.\d{8}$/.test(toolCalls)
  )
}

function isUsage(usage: Reply['usage']): boolean {
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total, charged_usd: charged } = usage
  return (
    hasFields(usage, 'charged_usd completion_tokens prompt_tokens total_tokens') &&
    [prompt, completion].every((tokens) => Number.isSafeInteger(tokens) && tokens >= 0) &&
    total === prompt + completion &&
    /^\d+\.\d{8}$/.test(charged)
  )
}

const turnFields =
  'cancel_requested conversation_id created_at ended_at error external_user_id finish_reason message request_id status usage'
const finishReasons = new Set(['stop', 'length', 'refused', 'filtered'])
const endsWithoutReply = new Set(['failed', 'released', 'cancelled'])

/** The response to a cancel or a poll is the turn, that to feedback is the feedback, or an error that something explains. */
function* aboutTurn(one: AboutTurn, reading: Reading): Generator<Violation> {
  const { call, answer, code, events } = one
  if (answer!.end !== 'whole') return
  if (code === 'done') {
    const isRight = 'feedback' in one ? isFeedback(one.feedback!, call) : isTurn(one.turn!, call)
    if (!isRight) yield { check: 'envelope', what: `a ${call.kind} is answered with ${answer!.body}`, events }
    return
  }
  yield* envelope(one)
  const key = reading.tenants.flatMap(({ keys }) => keys).find(({ name }) => name === call.key)
  const explained =
    code === 'service_unavailable' ||
    code === 'api_rate_limit_unavailable' ||
    (code === 'internal_error' && reading.disturbed(call.at, answer!.at)) ||
    (code === 'rate_limit_exceeded' && (key?.limit ?? 0) < 1000) ||
    (code === 'invalid_api_key' && isRevoked(reading, call.key, answer!)) ||
    (code === 'not_found' && key && reading.erasedBy({ key, user: call.user }, answer!.at) !== undefined)
  if (!explained) yield { check: 'envelope', what: `a ${call.kind} is answered with ${answer!.status} ${code}`, events }
}

/** That it is what was given is for feedback.ts. */
const isFeedback = (feedback: Feedback, call: AboutTurn['call']): boolean =>
  hasFields(feedback, 'comment created_at rating request_id tags updated_at') &&
  feedback.request_id === call.requestId &&
  time.test(feedback.created_at) &&
  time.test(feedback.updated_at)

function isTurn(turn: Turn, call: AboutTurn['call']): boolean {
  if (!hasFields(turn, turnFields)) return false
  const { status, message, usage, error, ended_at: endedAt } = turn
  const ends =
    status === 'running'
      ? !message && !usage && !error && endedAt === null
      : status === 'completed'
        ? message && isMessage(message) && usage && isTurnUsage(usage) && !error
        : endsWithoutReply.has(status) && !message && isCharge(status, usage) && error && hasFields(error, 'code message')
  return (
    turn.request_id === call.requestId &&
    turn.external_user_id === call.user &&
    id('conv').test(turn.conversation_id) &&
    time.test(turn.created_at) &&
    (endedAt === null ? status === 'running' : time.test(endedAt)) &&
    typeof turn.cancel_requested === 'boolean' &&
    hasFinishReason(turn) &&
    Boolean(ends)
  )
}

/** Of a turn without a reply. One that was cancelled is charged for its finished tool calls. */
const isCharge = (status: string, usage: Turn['usage']): boolean =>
  usage === null || (status === 'cancelled' && isTurnUsage(usage) && Number(usage.charged_usd) > 0)

/** `turn.finish-reason`: each reply has one, except for one that was cancelled. */
const hasFinishReason = ({ finish_reason: reason, message }: Turn): boolean =>
  reason === null ? !message || message.incomplete === true : Boolean(message) && finishReasons.has(reason)

/** A request with a flaw gets the response for that flaw, or none. */
function* flawed({ call, answer, code, events }: Try, reading: Reading): Generator<Violation> {
  if (call.flaw === undefined || answer?.end !== 'whole') return
  const [status, wanted] = flaws[call.flaw]
  if (answer.status === status && code === wanted) return
  // Authentication comes first and needs the store; the rate window comes before the body.
  const before = [
    ...(call.flaw === 'no key' ? [] : ['service_unavailable', ...(isRevoked(reading, call.key, answer) ? ['invalid_api_key'] : [])]),
    ...(status === 422 ? ['rate_limit_exceeded', 'api_rate_limit_unavailable'] : []),
  ]
  if (before.includes(code ?? '') || (code === 'internal_error' && reading.disturbed(call.at, answer.at))) return
  yield { check: 'envelope', what: `${call.flaw}: ${answer.status} ${code}`, events }
}

/** Error codes that nothing in a request without a flaw, its key or its owner explains. */
function* codes(request: Request, reading: Reading): Generator<Violation> {
  const { key, tenant, tries } = request
  for (const { answer, code, events } of tries) {
    if (code === undefined || answer?.end !== 'whole') continue
    const explained =
      code === 'reply' ||
      code === 'ended' ||
      // That it was asked for is checked with its body.
      code === 'accepted' ||
      // That someone asked for it is for cancels.ts.
      code === 'turn_cancelled' ||
      code in retryAfter ||
      code === 'internal_error' ||
      code === 'idempotency_conflict' ||
      (code === 'insufficient_balance' && !tenant.owner.rich) ||
      // That it was reached is for spend-limits.ts.
      (code === 'spend_limit_exceeded' && tenant.agents.some(({ id: agentId, capped }) => agentId === key.agentId && capped)) ||
      (code === 'rate_limit_exceeded' && key.limit < 1000) ||
      (code === 'agent_disabled' && reading.admin.some((change) => change.what === 'switch' && change.agent === key.agentId)) ||
      (code === 'invalid_api_key' && isRevoked(reading, key.name, answer)) ||
      (code === 'not_found' && reading.erasedBy(request, answer.at) !== undefined)
    if (!explained) yield { check: 'envelope', what: `${answer.status} ${code} for a request that has no such fault`, events }
  }
}

const isRevoked = ({ admin }: Reading, key: string, { at }: AnswerEvent): boolean =>
  admin.some((change) => change.what === 'revoke' && change.key === key && change.startedAt <= at)
