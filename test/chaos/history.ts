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
  /** From then until now far more threads wanted a core than there are: crowd.ts. */
  | { kind: 'machine'; at: number; from: number; runnable: number }
  | { kind: 'setup'; at: number; tenants: Tenant[] }
  | CallEvent
  | AnswerEvent
  | ModelCallEvent
  | ModelEndEvent
  | ToolEvent
  | AdminEvent
  | StoredConversation
  | StoredOwner
  | StoredTurns
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

/** `begin`: about to be made · `applied`: in force · `healing`: about to be taken back · `end`: taken back. Checks that need to be sure use the inner two. */
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

/** Whose data nobody else may see. */
export type Tenant = {
  name: string
  /** Stands in its messages, and may stand in its own answers; in nobody else's. */
  canary: string
  /** Of its system prompt, documents, tool activity and reasoning: in no answer at all. */
  hidden: Record<'prompt' | 'document' | 'tool' | 'reasoning', string>
  owner: { id: string; balanceUsd: string; rich: boolean }
  agents: { id: string; name: string; promptUsdPerMillion: string; completionUsdPerMillion: string; historyTokens: number }[]
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

/** What is wrong with a request on purpose; the checker knows the one answer that it may have. */
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
  transport: 'chat' | 'stream'
  message: string
  supervised: number
  flaw?: Flaw
  /** The caller goes: `waiting` as soon as it is sent, `headers` when they are there, a number: after so many events. */
  leaves?: 'waiting' | 'headers' | number
  reads?: 'slowly'
  /** FIN right behind the request. */
  halfCloses?: true
  /** A last read, when no fault is left. */
  final?: true
}

export type AnswerEvent = {
  kind: 'answer'
  at: number
  /** When the status was there. */
  headAt: number | null
  call: number
  status: number | null
  /** Names in lower case. */
  headers: Record<string, string>
  /** Of what is no event stream, as it came. */
  body: string | null
  events: { event: string; data: string }[] | null
  /** `cut`: an answer began and never ended · `left`: the caller went, by plan or out of patience · `broken`: none began. */
  end: 'whole' | 'cut' | 'left' | 'broken'
  /** The system's word, where it ended badly. */
  error?: string
}

export type ModelCallEvent = {
  kind: 'model'
  at: number
  /** Counts the model calls of a run; stands in the reply. */
  serial: number
  /** The last message of the user, to the letter. */
  message: string
  /** As far as the checks read them: no tool calls' own fields. */
  messages: { role: string; content: string | null }[]
  /** What it is about to do: text with usage, tool calls, or a fault. */
  does: 'text' | 'tools' | 'empty' | 'fault'
  /** The text it says, where it says it all. */
  text: string
  usage: { prompt_tokens: number; completion_tokens: number } | null
  /** Calls of tools with side effects that it asks for. */
  asksToBook: number
}
/** `fault`: as it was told to · `aborted`: by the caller. */
export type ModelEndEvent = { kind: 'modelEnd'; at: number; serial: number; answered: 'whole' | 'fault' | 'aborted' }

export type ToolEvent = {
  kind: 'tool'
  at: number
  idempotencyKey: string
  name: string
  arguments: string
  sideEffects: boolean
  /** Of the message that the model was asked about. */
  message: string
}

/** A change by the operator, told when it was answered well. `at` is then; `startedAt` is before it was first sent. */
export type AdminEvent = { kind: 'admin'; at: number; startedAt: number } & AdminChange
export type AdminChange =
  | { what: 'top-up'; owner: string; amountUsd: string; idempotencyKey: string }
  /** The prompt says its version. */
  | { what: 'edit'; agent: string; version: number }
  | { what: 'switch'; agent: string; enabled: boolean }
  | { what: 'revoke'; key: string }
  | { what: 'erase'; key: string; user: string }
  | { what: 'document'; agent: string; title: string }
  | { what: 'balance'; owner: string; balanceUsd: string; heldUsd: string; availableUsd: string }

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

export type History = {
  /** The same as in the file, in memory. */
  readonly events: HistoryEvent[]
  /** Milliseconds since the begin. */
  now(): number
  write(event: HistoryEvent): void
  /** Resolves when all is in the file. */
  close(): Promise<void>
}

/** `file` absent: in memory alone. */
export function openHistory(file?: string): History {
  const events: HistoryEvent[] = []
  const startedAt = performance.now()
  const stream = file === undefined ? undefined : createWriteStream(file)
  // Without a listener an error would end the harness in the middle of a run; it is told at the end instead.
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

/** The events of a file that a history wrote, without a last line that is not whole. */
export function readHistory(file: string): HistoryEvent[] {
  const lines = readFileSync(file, 'utf8').split('\n')
  // What stands behind the last line's end was cut off, or is nothing.
  return lines.slice(0, -1).map((line) => JSON.parse(line) as HistoryEvent)
}
