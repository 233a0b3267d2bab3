/**
 * A history, parsed once for all checks: each request with its response, each Idempotency-Key with its attempts, the operator's changes,
 * and the times of faults. Pure.
 */
import type {
  AdminEvent,
  AnswerEvent,
  CallEvent,
  CancelEvent,
  FeedbackEvent,
  HistoryEvent,
  KeySetup,
  ModelCallEvent,
  PollEvent,
  StoredConversation,
  Tenant,
} from '../history.ts'

export type CheckName =
  | `H${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12}`
  /** Sums, charges and balances. */
  | 'money'
  /** Tool calls and their effects. */
  | 'tools'
  /** Shape and codes of responses. */
  | 'envelope'
  /** IDs belong to one request, a reply to its message. */
  | 'own'
  /** A change by the operator applies from then on, and not before. */
  | 'operator'
  /** Without faults there are no errors. */
  | 'calm'
  /** A continued stream shows the reply. */
  | 'resume'
  /** A turn ends once, and as cancelled only if a caller asked for it. */
  | 'cancel'
  /** A turn whose caller does not wait is admitted before it is accepted. */
  | 'background'
  /** The last feedback counts. */
  | 'feedback'
  /** What happened is delivered, and nothing else. */
  | 'webhooks'
  /** A limit is never exceeded, and refuses nothing that fits. */
  | 'spend-limit'
  /** Links are used once, what has ended stays ended, and each change has its audit entry. */
  | 'access'
  /** What one owner sends at its limits is answered as specified. */
  | 'unfair'

/** `events` are positions in the history. */
export type Violation = { check: CheckName; what: string; events: number[] }

/** The data of `response.completed`, and of a 200 on /chat. */
export type Reply = {
  request_id: string
  conversation_id: string
  /** `incomplete`: the turn was cancelled after this text. */
  message: { id: string; role: string; content: string; created_at: string; incomplete?: true }
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number; charged_usd: string }
}

export type Try = {
  call: CallEvent
  /** Undefined if the history ends before it. */
  answer: AnswerEvent | undefined
  /** Positions of the two in the history. */
  events: number[]
  /** `reply`, the error code, `accepted` for a 202, `ended` for a 204, or undefined if the response was incomplete. */
  code: string | undefined
  reply: { text: string; said: Reply } | undefined
  /** From the body of the response, if it has one. */
  requestId: string | undefined
}

/** The usage of a reply with the details of the turn resource. */
export type TurnUsage = Reply['usage'] & {
  prompt_tokens_details: { cached_tokens: number; cache_write_tokens: number }
  completion_tokens_details: { reasoning_tokens: number }
  tool_calls_usd: string
}

/** The response to a request to cancel, and to a poll. */
export type Turn = Pick<Reply, 'request_id' | 'conversation_id'> & {
  external_user_id: string
  status: string
  created_at: string
  ended_at: string | null
  message: Reply['message'] | null
  usage: TurnUsage | null
  error: { code: string; message: string } | null
  cancel_requested: boolean
  finish_reason: string | null
}

/** The response to feedback. */
export type Feedback = { request_id: string; rating: string; comment: string; tags: string[]; created_at: string; updated_at: string }

type AboutTurn<Event> = Pick<Try, 'answer' | 'events' | 'requestId'> & {
  call: Event
  /** `done`, the error code, or undefined if the response was incomplete. */
  code: string | undefined
}
export type Cancel = AboutTurn<CancelEvent> & { turn: Turn | undefined }
export type Poll = AboutTurn<PollEvent> & { turn: Turn | undefined }
export type GivenFeedback = AboutTurn<FeedbackEvent> & { feedback: Feedback | undefined }

/** The caller had disconnected. */
export const isUnheard = ({ answer }: Pick<Try, 'answer'>): boolean => answer?.end === 'broken' && answer.error === 'ECONNREFUSED'

/** One body with one Idempotency-Key of one API key. */
export type Request = {
  key: KeySetup
  tenant: Tenant
  user: string
  message: string
  idempotencyKey: string
  /** In the order in which they were sent, without invalid ones. */
  tries: Try[]
  /** The requests to cancel its turn. */
  cancels: Cancel[]
  polls: Poll[]
  feedback: GivenFeedback[]
  /** When its caller first got `turn_cancelled`. */
  cancelledAt: number | undefined
  /** Of the first reply that was seen. */
  reply: { text: string; said: Reply; at: number } | undefined
  /** Of every reply, every stream, and every refusal that leads to the running turn (`idempotency.in-progress`). */
  requestIds: Set<string>
  openedAt: number
}

export type Reading = {
  events: HistoryEvent[]
  tenants: Tenant[]
  tries: Try[]
  cancels: Cancel[]
  /** All requests about turns that were started by others. */
  aboutTurns: (Cancel | Poll | GivenFeedback)[]
  requests: Request[]
  /** By message, which no two requests share. */
  byMessage: Map<string, Request>
  models: (ModelCallEvent & { index: number })[]
  modelsOf: Map<string, (ModelCallEvent & { index: number })[]>
  admin: (AdminEvent & { index: number })[]
  conversations: (StoredConversation & { index: number })[]
  /** There was a fault, or had been one shortly before, between these two times. */
  disturbed(from: number, to: number): boolean
  /** The same, without the times in which only the machine was busy. */
  broken(from: number, to: number): boolean
  lastDisturbanceAt: number
  /** The user's data was erased by a request that was running or finished by then. */
  erasedBy(request: Pick<Request, 'key' | 'user'>, at: number): (AdminEvent & { index: number }) | undefined
  runs: Map<string, { run: number; attempts: number; state: string; key: string }>
}

// The log line of a failpoint and the end of a process are noticed a little after they happen, and their effects later.
const beforeMs = 1500
const afterMs = 3000

export function readHistoryOf(events: HistoryEvent[]): Reading {
  const indexed = events.map((event, index) => ({ ...event, index }))
  const of = <Kind extends HistoryEvent['kind']>(kind: Kind): (Extract<HistoryEvent, { kind: Kind }> & { index: number })[] =>
    indexed.filter((event): event is Extract<HistoryEvent, { kind: Kind }> & { index: number } => event.kind === kind)
  const tenants = of('setup').flatMap(({ tenants: reported }) => reported)
  const answers = new Map(of('answer').map((answer) => [answer.call, answer]))
  const tries = of('call').map((call) => tryOf(call, answers.get(call.call)))
  const cancels = of('cancel').map((call): Cancel => withTurn(aboutTurn(call, answers.get(call.call))))
  const polls = of('poll').map((call): Poll => withTurn(aboutTurn(call, answers.get(call.call))))
  const feedback = of('feedback').map((call): GivenFeedback => {
    const { said, ...about } = aboutTurn(call, answers.get(call.call))
    return { ...about, feedback: said as Feedback | undefined }
  })
  const requests = requestsOf(tries, { cancels, polls, feedback }, tenants)
  const models = of('model')
  const admin = of('admin')
  const spans = disturbances(events)
  const faults = disturbances(events.filter(({ kind }) => kind !== 'machine'))
  const meets = (all: typeof spans, from: number, to: number): boolean =>
    all.some((span) => span.from - beforeMs <= to && span.to + afterMs >= from)
  const agentOf = new Map(tenants.flatMap(({ keys }) => keys).map(({ name, agentId }) => [name, agentId]))
  const turns = of('stored').flatMap((stored) => (stored.what === 'turns' ? stored.turns : []))
  return {
    events,
    tenants,
    tries,
    cancels,
    aboutTurns: [...cancels, ...polls, ...feedback],
    requests,
    byMessage: new Map(requests.map((request) => [request.message, request])),
    models,
    modelsOf: Map.groupBy(models, ({ message }) => message),
    admin,
    conversations: of('stored').filter(
      (stored): stored is StoredConversation & { kind: 'stored'; index: number } => stored.what === 'conversation',
    ),
    disturbed: (from, to) => meets(spans, from, to),
    broken: (from, to) => meets(faults, from, to),
    lastDisturbanceAt: Math.max(0, ...spans.map(({ to }) => (to === Infinity ? 0 : to))),
    erasedBy: ({ key, user }, at) =>
      admin.find(
        (change) => change.what === 'erase' && change.user === user && agentOf.get(change.key) === key.agentId && change.startedAt <= at,
      ),
    runs: new Map(turns.map(({ requestId, ...turn }) => [requestId, turn])),
  }
}

function tryOf(call: Indexed<CallEvent>, answer: Indexed<AnswerEvent> | undefined): Try {
  const events = [call.index, ...(answer ? [answer.index] : [])]
  const nothing = { call, answer, events, code: undefined, reply: undefined, requestId: undefined }
  if (!answer || answer.status === null) return nothing
  if (answer.status === 204) return { ...nothing, code: answer.end === 'whole' ? 'ended' : undefined }
  const [accepted, last] = [parse(answer.body ?? '') as { request_id?: string } | undefined, answer.events?.at(-1)]
  if (answer.status === 202) return answer.end === 'whole' ? { ...nothing, code: 'accepted', requestId: accepted?.request_id } : nothing
  const text =
    last?.event === 'response.completed'
      ? last.data
      : answer.status === 200 && !answer.events && answer.end === 'whole'
        ? answer.body
        : null
  const said = text === null ? undefined : (parse(text) as Reply | undefined)
  if (text !== null && isReply(said)) return { ...nothing, code: 'reply', reply: { text, said }, requestId: said.request_id }
  // A final event counts, even if the connection did not end well after it.
  const hasEnded = answer.end === 'whole' || last?.event === 'error'
  if (!hasEnded) return { ...nothing, requestId: requestIdOf(answer.events?.[0]?.data) }
  // An incomplete stream is for the connection checks, and says nothing about the request.
  if (answer.events && last?.event !== 'error') return { ...nothing, requestId: requestIdOf(answer.events[0]?.data) }
  const error = answer.events ? parse(last!.data) : (parse(answer.body ?? '') as { error?: unknown } | undefined)?.error
  const { code, request_id: requestId } = (error ?? {}) as { code?: string; request_id?: string }
  return { ...nothing, code: code ?? 'no code', requestId }
}

function withTurn<Event>({ said, ...about }: AboutTurn<Event> & { said: unknown }): AboutTurn<Event> & { turn: Turn | undefined } {
  return { ...about, turn: said as Turn | undefined }
}

/** `said`: the body of a 200. */
function aboutTurn<Event>(call: Indexed<Event>, answer: Indexed<AnswerEvent> | undefined): AboutTurn<Event> & { said: unknown } {
  const events = [call.index, ...(answer ? [answer.index] : [])]
  const nothing = { call, answer, events, code: undefined, said: undefined, requestId: undefined }
  if (!answer || answer.status === null || answer.end !== 'whole') return nothing
  const said = parse(answer.body ?? '')
  if (answer.status === 200) return { ...nothing, code: 'done', said }
  const { code = 'no code', request_id: requestId } = ((said as { error?: unknown })?.error ?? {}) as { code?: string; request_id?: string }
  return { ...nothing, code, requestId }
}

type Indexed<Event> = Event & { index: number }

const requestIdOf = (data: string | undefined): string | undefined => (parse(data ?? '') as { request_id?: string } | undefined)?.request_id

const isReply = (said: Reply | undefined): said is Reply =>
  typeof said?.request_id === 'string' && typeof said.message?.content === 'string' && typeof said.usage?.charged_usd === 'string'

export function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function requestsOf(tries: Try[], about: Pick<Request, 'cancels' | 'polls' | 'feedback'>, tenants: Tenant[]): Request[] {
  const keys = new Map(tenants.flatMap((tenant) => tenant.keys.map((key) => [key.name, { key, tenant }] as const)))
  const sound = tries.filter(({ call }) => call.flaw === undefined && call.idempotencyKey !== null)
  const groupOf = ({ call }: Pick<Try | Reading['aboutTurns'][number], 'call'>): string =>
    JSON.stringify([call.key, call.idempotencyKey, call.user, call.message])
  const groups = Map.groupBy(sound, groupOf)
  const [cancels, polls, feedback] = [
    Map.groupBy(about.cancels, groupOf),
    Map.groupBy(about.polls, groupOf),
    Map.groupBy(about.feedback, groupOf),
  ]
  return [...groups].flatMap(([name, group]) => {
    const { call } = group[0]!
    const known = keys.get(call.key)
    if (!known) return []
    const answered = group.filter(({ reply }) => reply).toSorted((a, b) => a.answer!.at - b.answer!.at)[0]
    // An error on /chat may occur before any turn, with its own ID.
    const ids = group.flatMap(({ requestId, code, answer }) =>
      requestId !== undefined && (answer?.events || ofTurn.has(code ?? '') || leadsToTurn(code, answer)) ? [requestId] : [],
    )
    const cancelled = group.flatMap(({ code, answer }) => (code === 'turn_cancelled' ? [answer!.at] : []))
    return [
      {
        ...known,
        user: call.user,
        message: call.message,
        idempotencyKey: call.idempotencyKey!,
        tries: group,
        cancels: cancels.get(name) ?? [],
        polls: polls.get(name) ?? [],
        feedback: feedback.get(name) ?? [],
        cancelledAt: cancelled.length === 0 ? undefined : Math.min(...cancelled),
        reply: answered && { ...answered.reply!, at: answered.answer!.at },
        requestIds: new Set(ids),
        openedAt: call.at,
      },
    ]
  })
}

const ofTurn = new Set(['reply', 'turn_cancelled', 'accepted'])
const leadsToTurn = (code: string | undefined, answer: Try['answer']): boolean =>
  code === 'idempotency_in_progress' && answer?.headers['location'] !== undefined

/** The first start affects no caller. Any other fault of a process or a store does. */
function disturbances(events: HistoryEvent[]): { from: number; to: number }[] {
  const spans: { from: number; to: number }[] = []
  const started = new Map<number, number>()
  const down = new Map<number, number>()
  for (const event of events) {
    if (event.kind === 'failpoint') spans.push({ from: event.at, to: event.at })
    if (event.kind === 'machine') spans.push({ from: event.from, to: event.at })
    if (event.kind === 'fault' && event.phase === 'begin') started.set(event.id, event.at)
    if (event.kind === 'fault' && event.phase === 'end') {
      spans.push({ from: started.get(event.id) ?? event.at, to: event.at })
      started.delete(event.id)
    }
    if (event.kind !== 'process') continue
    if (event.what === 'started' || event.what === 'continued') {
      const from = down.get(event.supervised)
      if (from !== undefined) spans.push({ from, to: event.at })
      down.delete(event.supervised)
    } else if (!down.has(event.supervised)) down.set(event.supervised, event.at)
  }
  for (const from of [...started.values(), ...down.values()]) spans.push({ from, to: Infinity })
  return spans
}
