/**
 * What happened in a run, as the harness saw it: one event per line. Faults, callers and checker share only these types. Contains the
 * types, the writer and the reader. `at` is milliseconds since the start of the run by a monotonic clock. Events are in the order in which
 * they were written, which is that of `at` except for events that describe a time span and are written at its end.
 */
import { createWriteStream, readFileSync } from 'node:fs'
import { once } from 'node:events'

export type HistoryEvent =
  | { kind: 'begin'; at: number; seed: number; options: object; schedule: object[]; commit?: string }
  | ProcessEvent
  /** From the server's own line. */
  | { kind: 'failpoint'; at: number; supervised: number; name: string; action: string }
  | FaultEvent
  /** From then until now, far more threads were ready to run than there are cores: crowd.ts. */
  | { kind: 'machine'; at: number; from: number; runnable: number }
  | { kind: 'setup'; at: number; tenants: Tenant[] }
  | CallEvent
  | CancelEvent
  | PollEvent
  | FeedbackEvent
  | AnswerEvent
  | ModelCallEvent
  | ModelEndEvent
  | ToolEvent
  | WebhookEvent
  | AdminEvent
  | AccessEvent
  | UnfairEvent
  | StoredConversation
  | StoredOwner
  | StoredTurns
  | StoredFeedback
  | StoredDeliveries
  | StoredAccess
  | { kind: 'verify'; at: number; broken: { invariant: string; rows: number }[] }
  | { kind: 'end'; at: number }

export type ProcessEvent = {
  kind: 'process'
  at: number
  supervised: number
  what: 'started' | 'killed' | 'ended' | 'stopped' | 'continued' | 'terminated'
  code?: number | null
  signal?: string | null
  why: string
}

/**
 * `begin`: before it is injected · `applied`: in force · `healing`: before it is reverted · `end`: reverted. Checks that need certainty use
 * the two in the middle.
 */
export type FaultEvent = {
  kind: 'fault'
  at: number
  phase: 'begin' | 'applied' | 'healing' | 'end'
  id: number
  name: string
  /** Names from docs/fault-matrix.md. */
  faults: string[]
  detail: object
}

/** Owns data that no other tenant may see. */
export type Tenant = {
  name: string
  /** Part of its messages, and allowed in its own responses only. */
  canary: string
  /** Part of its system prompt, documents, tool activity and reasoning: not allowed in any response. */
  hidden: Record<'prompt' | 'document' | 'tool' | 'reasoning', string>
  owner: { id: string; balanceUsd: string; rich: boolean }
  /** Without a cached price, a cached token costs the prompt price. `toolUsd`: of a call of each HTTP tool. */
  agents: {
    id: string
    name: string
    promptUsdPerMillion: string
    completionUsdPerMillion: string
    cachedPromptUsdPerMillion?: string
    toolUsd?: Record<string, string>
    historyTokens: number
    /** Spend limits of all time that are reached. That of the agent is raised during the run. */
    capped?: { agentUsd: string; endUserUsd: string; maxOutputTokens: number }
  }[]
  keys: KeySetup[]
}
export type KeySetup = {
  /** How calls name it. */
  name: string
  id: string
  agentId: string
  permission: 'full' | 'read-only'
  limit: number
  windowSeconds: number
}

/** What is deliberately wrong with a request. The checker knows the one response that is correct for it. */
export const flaws = {
  'no Idempotency-Key': [422, 'validation_error'],
  'long Idempotency-Key': [422, 'validation_error'],
  'unknown field': [422, 'validation_error'],
  'empty message': [422, 'validation_error'],
  'no JSON': [422, 'validation_error'],
  'wrong secret': [401, 'invalid_api_key'],
  'no key': [401, 'invalid_api_key'],
  'another agent': [403, 'agent_mismatch'],
  'read-only': [403, 'permission_denied'],
} as const satisfies Record<string, [status: number, code: string]>
export type Flaw = keyof typeof flaws

export type CallEvent = {
  kind: 'call'
  at: number
  call: number
  /** The API key's name. */
  key: string
  user: string
  idempotencyKey: string | null
  /** `resume`: it continues the stream of an earlier call with GET …/turns/{request_id}/stream. */
  transport: 'chat' | 'stream' | 'resume'
  message: string
  supervised: number
  flaw?: Flaw
  /** When the caller disconnects: `waiting` immediately after sending, `headers` after they arrived, a number: after that many events. */
  leaves?: 'waiting' | 'headers' | number
  reads?: 'slowly'
  /** It sends `Prefer: respond-async`. */
  prefersAsync?: true
  /** It sends FIN directly after the request. */
  halfCloses?: true
  /** A last read, when there are no faults any more. */
  final?: true
  /** For `resume`: the turn, the call whose stream it continues, and the ID of the last event that the caller has; null: none. */
  resumes?: { requestId: string; call: number; after: string | null }
}

/** A request about a turn that its caller has started. Its response is an `answer` with the same `call`. */
type AboutTurn = {
  at: number
  /** Numbered together with the calls. */
  call: number
  key: string
  user: string
  idempotencyKey: string
  message: string
  supervised: number
  requestId: string
}
/** Asks to cancel the turn. */
export type CancelEvent = AboutTurn & { kind: 'cancel' }
/** Asks for the status of the turn. */
export type PollEvent = AboutTurn & { kind: 'poll' }
/** Gives feedback on the turn. No two have the same comment. */
export type FeedbackEvent = AboutTurn & { kind: 'feedback'; rating: 'up' | 'down'; comment: string; tags: string[] }

export type AnswerEvent = {
  kind: 'answer'
  at: number
  /** When the status was there. */
  headAt: number | null
  call: number
  status: number | null
  /** Names in lower case. */
  headers: Record<string, string>
  /** For a response that is not an event stream, unchanged. */
  body: string | null
  events: { event: string; id: string; data: string }[] | null
  /**
   * `cut`: a response started and did not end · `left`: the caller disconnected, as planned or because it waited too long · `broken`: no
   * response started.
   */
  end: 'whole' | 'cut' | 'left' | 'broken'
  /** The error code of the operating system, if it ended badly. */
  error?: string
}

export type ModelCallEvent = {
  kind: 'model'
  at: number
  /** Counts the model calls of a run; part of the reply. */
  serial: number
  /** The last user message, unchanged. */
  message: string
  /** Only what the checks read: without the fields of tool calls. */
  messages: { role: string; content: string | null }[]
  /** What it is about to return: text with usage, tool calls, or a fault. */
  does: 'text' | 'tools' | 'empty' | 'fault'
  /** The complete text, if it returns all of it. */
  text: string
  usage: ModelReport | null
  /** The number of requested calls of tools with side effects. */
  asksToBook: number
}
export type ModelReport = { prompt_tokens: number; completion_tokens: number; prompt_tokens_details?: { cached_tokens: number } }
/** `fault`: as planned · `aborted`: by the caller. */
export type ModelEndEvent = { kind: 'modelEnd'; at: number; serial: number; answered: 'whole' | 'fault' | 'aborted' }

export type ToolEvent = {
  kind: 'tool'
  at: number
  idempotencyKey: string
  name: string
  arguments: string
  sideEffects: boolean
  /** The message for which the model was called. */
  message: string
}

/** A delivery that the receiver of webhooks got. */
export type WebhookEvent = {
  kind: 'webhook'
  at: number
  /** The header `webhook-id`. */
  id: string
  body: string
  /** How it answers, and whether the sender must take that as delivered. */
  manner: string
  accepted: boolean
}

/** A change by the operator, recorded after a successful response. `at` is that time; `startedAt` is before it was first sent. */
export type AdminEvent = { kind: 'admin'; at: number; startedAt: number } & AdminChange
export type AdminChange =
  | { what: 'top-up'; owner: string; amountUsd: string; idempotencyKey: string }
  /** The prompt contains its version. */
  | { what: 'edit'; agent: string; version: number }
  | { what: 'switch'; agent: string; enabled: boolean }
  | { what: 'revoke'; key: string }
  | { what: 'erase'; key: string; user: string }
  | { what: 'document'; agent: string; title: string }
  | { what: 'limit'; agent: string; usd: string }
  | { what: 'spending'; agent: string; limitUsd: string; spentUsd: string; heldUsd: string; unpaidUsd: string }
  | { what: 'balance'; owner: string; balanceUsd: string; heldUsd: string; unpaidUsd: string; availableUsd: string }

/**
 * A request about who has access, recorded with its result: `acknowledged` by a 2xx, `refused` by a 4xx or because no server received it, and
 * `unknown` otherwise. Operators are named by their email addresses, sessions and tokens by names.
 */
export type AccessEvent = {
  kind: 'access'
  at: number
  startedAt: number
  supervised: number
  what: AccessRequest
  /** The session or the token that it was made with, `installation` for the admin token, or null for a sign-in. */
  by: string | null
  result: 'acknowledged' | 'refused' | 'unknown'
  status: number | null
  /** Of the response. */
  requestId: string | null
  operator?: string
  role?: string
  /** The link that it creates or uses. */
  link?: string
  /** The password that it sets or signs in with, and the one that it replaces. */
  password?: string
  before?: string
  /** The session or token that it creates or revokes. */
  session?: string
  token?: string
  /** Of the operator or token that was created. */
  id?: string
  operators?: StoredOperator[]
}
export type AccessRequest =
  | 'invite'
  | 'invite-again'
  | 'accept'
  | 'sign-in'
  | 'read'
  | 'list'
  | 'sign-out'
  | 'end-sessions'
  | 'password'
  | 'role'
  | 'disable'
  | 'enable'
  | 'remove'
  | 'create-token'
  | 'revoke-token'
type StoredOperator = { id: string; email: string; role: string; state: string }

/**
 * What the unfair owner sends, and the statuses that are correct for it, in a server with any limits: a server may read such a request,
 * refuse it, or refuse it because of what the owner sent before (429, 503).
 */
export const unfairRequests = {
  'chat of many names': [422],
  'stream of many names': [422],
  'feedback of many names': [404, 422],
  'response of many names': [400],
  'completion of many names': [400],
  'MCP message of many names': [200, 400],
  // Any of the bodies above.
  'slow body': [200, 400, 404, 408, 422],
  'unfinished body': [400, 408],
  follow: [200, 204],
  list: [200],
  'document of many elements': [202, 413, 422],
  'wrong key': [401],
} as const satisfies Record<string, number[]>
export type UnfairRequest = keyof typeof unfairRequests

/** A request of the unfair owner, besides its turns, which are calls. */
export type UnfairEvent = Pick<AnswerEvent, 'status' | 'end' | 'error'> & {
  kind: 'unfair'
  at: number
  startedAt: number
  supervised: number
  what: UnfairRequest
}

export type StoredConversation = {
  kind: 'stored'
  what: 'conversation'
  at: number
  key: string
  user: string
  id: string
  /** Oldest first. */
  messages: { id: string; role: string; content: string; requestId: string; createdAt: string }[]
  by: 'admin' | 'caller'
}
export type StoredOwner = {
  kind: 'stored'
  what: 'owner'
  at: number
  owner: string
  balanceUsd: string
  heldUsd: string
  availableUsd: string
  /** Oldest first. */
  ledger: { id: string; kind: string; amountUsd: string; writtenOffUsd: string; requestId: string | null }[]
}
export type StoredTurns = {
  kind: 'stored'
  what: 'turns'
  at: number
  turns: { requestId: string; key: string; state: string; run: number; attempts: number; heldUsd: string }[]
}

export type StoredFeedback = {
  kind: 'stored'
  what: 'feedback'
  at: number
  feedback: { requestId: string; rating: string; comment: string | null; tags: string[] }[]
}

export type StoredDeliveries = {
  kind: 'stored'
  what: 'deliveries'
  at: number
  /** `id` is that of the event. */
  deliveries: { id: string; status: string; attempts: number }[]
}

/** Operators, tokens, and the entries of the audit log about them and their sessions. */
export type StoredAccess = {
  kind: 'stored'
  what: 'access'
  at: number
  operators: StoredOperator[]
  tokens: { id: string; name: string; isRevoked: boolean }[]
  /** `created`: the email address of the operator or the name of the token that was created. */
  audit: {
    verb: string
    noun: string
    subjectId: string
    authorId: string | null
    requestId: string | null
    fields: string[]
    created: string | null
  }[]
}

export type History = {
  /** The same as in the file, in memory. */
  readonly events: HistoryEvent[]
  /** Milliseconds since the start. */
  now(): number
  write(event: HistoryEvent): void
  /** Resolves when everything is in the file. */
  close(): Promise<void>
}

/** Without `file`, in memory only. */
export function openHistory(file?: string): History {
  const events: HistoryEvent[] = []
  const startedAt = performance.now()
  const stream = file === undefined ? undefined : createWriteStream(file)
  // Without a listener an error would end the harness during a run; it is reported at the end instead.
  let failure: Error | undefined
  stream?.on('error', (error) => (failure = error))
  let closed: Promise<void> | undefined

  async function close(): Promise<void> {
    if (stream && !failure) {
      stream.end()
      await once(stream, 'close')
    }
    if (failure) throw failure
  }

  return {
    events,
    now: () => Math.round((performance.now() - startedAt) * 1000) / 1000,
    write(event) {
      events.push(event)
      stream?.write(`${JSON.stringify(event)}\n`)
    },
    close: () => (closed ??= close()),
  }
}

/** The events of a file that a history wrote, without an incomplete last line. */
export function readHistory(file: string): HistoryEvent[] {
  const lines = readFileSync(file, 'utf8').split('\n')
  // Text after the last line break is an incomplete line, or empty.
  return lines.slice(0, -1).map((line) => JSON.parse(line) as HistoryEvent)
}
