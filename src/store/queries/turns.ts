/** Turns for the operator. Only the turn path writes them. */
import type { CauseKind } from '../../cause-kinds.ts'
import type { ReplyFinishReason } from '../../finish-reason.ts'
import type { Amount, Price } from '../../ledger/ledger.ts'
import type { JournalEntry, StoredReply } from '../turn-records.ts'
import type { Row, Sql } from '../sql.ts'
import { bigInteger, integer, integerOrNull, readDetails, readFinishReason, readPrice, text, textOrNull } from './columns.ts'
import type { UsageDetails } from './columns.ts'
import type { PageRequest } from './paging.ts'
import { isAgentOf } from './scope-of.ts'
import { read, serviceRead } from './operation.ts'
import { byFilter, ofOwner, ofTurn } from './scope.ts'
import { readingIf } from './audit.ts'

export const turnStates = ['running', 'completed', 'failed', 'released', 'cancelled'] as const
export type TurnState = (typeof turnStates)[number]

export type TurnRecord = {
  /** The request ID. */
  id: string
  conversationId: string
  /** Null after an erasure. */
  externalUserId: string | null
  apiKeyId: string
  ownerId: string
  agentId: string
  agentVersion: number
  state: TurnState
  run: number
  attempt: number
  hold: Amount
  price: Price
  failure: { code: string; cause: string | null; causeKind: CauseKind | null } | null
  /** Of a completed turn, and of a cancelled one that was charged for its tool calls. */
  usage: (UsageDetails & { promptTokens: number; completionTokens: number; estimated: boolean; charged: Amount; writtenOff: Amount }) | null
  firstDeltaMs: number | null
  cancelRequestedAt: number | null
  /** The reply is the text that had been generated when the turn was cancelled. */
  incomplete: boolean
  /** `turn.finish-reason` */
  finishReason: ReplyFinishReason | null
  /** The W3C traceparent header of the request that started the current run. */
  traceparent: string | null
  erasedAt: number | null
  createdAt: number
  /** Of the current run. */
  startedAt: number
  endedAt: number | null
}

export type TurnStep = JournalEntry & { run: number; createdAt: number }

export type TurnFilter = {
  state?: TurnState | undefined
  ownerId?: string | undefined
  agentId?: string | undefined
  conversationId?: string | undefined
  /** An end user of the agent: only together with `agentId`. */
  externalUserId?: string | undefined
  /** `trace.context`: the trace ID of a traceparent header, 32 hexadecimal digits. */
  traceId?: string | undefined
}

/**
 * Newest first. Each set of filters has its own statement: one with "or any" would scan all turns to find the few of a state. Turns of one
 * conversation or a trace are found by that alone; the state is written as an expression so that SQLite does not use its index and scan
 * all turns of that state. Those of an end user are found through its conversations, one for each key of the agent; their time is written as
 * an expression so that neither store reads all turns in the order of the list to find them.
 */
export async function listTurns(
  sql: Sql,
  { state, ownerId, agentId, conversationId, externalUserId, traceId }: TurnFilter,
  { limit, before }: PageRequest,
): Promise<TurnRecord[]> {
  const isOfUser = externalUserId !== undefined
  const agent = isOfUser ? 'k.agent_id' : 't.agent_id'
  const at = isOfUser ? '+t.created_at' : 't.created_at'
  const filters = [
    { column: conversationId === undefined && traceId === undefined && !isOfUser ? 't.state' : `t.state || ''`, value: state },
    { column: agent, value: agentId },
    { column: 'c.external_user_id', value: externalUserId },
    { column: 't.conversation_id', value: conversationId },
    { column: 't.traceparent is not null and substr(t.traceparent, 4, 32)', value: traceId },
  ].filter((filter): filter is { column: string; value: string } => filter.value !== undefined)
  const conditions = filters.map(({ column }, index) => `and ${column} = $${index + 4}`)
  if (isOfUser) conditions.push('and c.api_key_id = k.id and t.conversation_id = c.id')
  // By its agents: the index has the agent of a turn, and not its owner.
  if (ownerId !== undefined) conditions.push(`and ${isAgentOf(sql, agent, `$${filters.length + 4}`)}`)
  const rows = await sql.all(
    `select ${turnColumns} from ${isOfUser ? 'api_keys k cross join conversations c cross join ' : ''}turns t
      left join ledger l on l.request_id = t.request_id and l.kind = 'charge'
      where (${at}, t.request_id) < ($1, $2) ${conditions.join(' ')}
      order by ${at} desc, t.request_id desc limit $3`,
    before.createdAt,
    before.id,
    limit,
    ...filters.map(({ value }) => value),
    ...(ownerId === undefined ? [] : [ownerId]),
  )
  return rows.map(readTurn)
}

/** Returns the turn with the steps in the journals of all its runs, in order. */
export async function findTurn(sql: Sql, requestId: string): Promise<(TurnRecord & { steps: TurnStep[] }) | undefined> {
  const [row] = await sql.all(
    `select ${turnColumns} from turns t left join ledger l on l.request_id = t.request_id and l.kind = 'charge' where t.request_id = $1`,
    requestId,
  )
  if (!row) return undefined
  const steps = await sql.all(`select ${stepColumns} from journal j where j.request_id = $1 order by ${stepOrder}`, requestId)
  return { ...readTurn(row), steps: steps.map(readStep) }
}

const stepColumns = 'j.run, j.step, j.part, j.kind, j.payload, j.created_at'
const stepOrder = `j.run, j.step, j.part, case j.kind when 'model' then 0 when 'tool_started' then 1 else 2 end`

/**
 * The steps that led to the state of each of these turns, in order: of its last run and of those that it continued. At most one page of
 * turns.
 */
export async function listStepsOfTurns(sql: Sql, requestIds: string[]): Promise<Map<string, TurnStep[]>> {
  if (requestIds.length === 0) return new Map()
  const rows = await sql.all(
    `select j.request_id, ${stepColumns} from turns t join journal j on j.request_id = t.request_id and j.run >= coalesce(t.continues_from, t.run)
      where t.request_id in (${requestIds.map((_, index) => `$${index + 1}`).join(', ')}) order by ${stepOrder}`,
    ...requestIds,
  )
  const steps = Map.groupBy(rows, (row) => text(row, 'request_id'))
  return new Map([...steps].map(([requestId, own]) => [requestId, own.map(readStep)]))
}

export type RunningHold = {
  requestId: string
  agentId: string
  apiKeyId: string
  /** Null after an erasure. */
  externalUserId: string | null
  hold: Amount
  /** Of the current run. */
  startedAt: number
}

/** The running turns of an owner, which hold parts of its balance, newest first. Their index has only running turns. */
async function listHolds(sql: Sql, ownerId: string, limit: number): Promise<RunningHold[]> {
  const rows = await sql.all(
    `select t.request_id, t.agent_id, t.api_key_id, c.external_user_id, t.hold, t.started_at
      from turns t join conversations c on c.id = t.conversation_id
      where t.state = 'running' and t.owner_id = $1 order by t.started_at desc, t.request_id desc limit $2`,
    ownerId,
    limit,
  )
  return rows.map((row) => ({
    requestId: text(row, 'request_id'),
    agentId: text(row, 'agent_id'),
    apiKeyId: text(row, 'api_key_id'),
    externalUserId: textOrNull(row, 'external_user_id'),
    hold: bigInteger(row, 'hold'),
    startedAt: integer(row, 'started_at'),
  }))
}

/** `idempotency.replay`: the stored replies of these completed turns, as the settlement stored them, without those that were erased. */
async function findReplies(sql: Sql, requestIds: string[]): Promise<Map<string, StoredReply>> {
  const rows = await sql.all(
    `select t.request_id, t.conversation_id, m.id, m.content, m.created_at, t.prompt_tokens, t.completion_tokens, t.charged,
        t.incomplete, t.finish_reason
      from turns t join messages m on m.request_id = t.request_id and m.role = 'assistant'
      where t.request_id in (${requestIds.map((_, index) => `$${index + 1}`).join(', ')})`,
    ...requestIds,
  )
  return new Map(rows.map((row) => [text(row, 'request_id'), readReply(row)]))
}

const readReply = (row: Row): StoredReply => ({
  requestId: text(row, 'request_id'),
  conversationId: text(row, 'conversation_id'),
  messageId: text(row, 'id'),
  content: text(row, 'content'),
  createdAt: integer(row, 'created_at'),
  promptTokens: integer(row, 'prompt_tokens'),
  completionTokens: integer(row, 'completion_tokens'),
  charged: bigInteger(row, 'charged'),
  incomplete: integer(row, 'incomplete') === 1,
  finishReason: readFinishReason(row),
})

/** Of turns `t`, left joined with the ledger entries `l` of their charges. */
export const turnColumns = `t.request_id, t.conversation_id, t.api_key_id, t.owner_id, t.agent_id, t.agent_version, t.state, t.run, t.attempt, t.hold,
  t.prompt_price, t.completion_price, t.cached_prompt_price, t.cache_write_price, t.cached_prompt_tokens, t.cache_write_tokens,
  t.reasoning_tokens, t.tool_calls, t.failure_code, t.failure_cause, t.prompt_tokens, t.completion_tokens, t.usage_estimated, t.charged,
  l.written_off, t.first_delta_ms, t.cancel_requested_at, t.incomplete, t.finish_reason, t.traceparent, t.erased_at, t.created_at, t.started_at, t.ended_at,
  (select e.cause_kind from turn_errors e where e.request_id = t.request_id and e.run = t.run) as cause_kind,
  (select o.external_user_id from conversations o where o.id = t.conversation_id) as external_user_id`

export function readState(row: Row): TurnState {
  const state = turnStates.find((known) => known === row['state'])
  if (!state) throw new Error(`turn ${String(row['request_id'])} is in an unknown state`)
  return state
}

export function readTurn(row: Row): TurnRecord {
  const state = readState(row)
  const failureCode = textOrNull(row, 'failure_code')
  return {
    id: text(row, 'request_id'),
    conversationId: text(row, 'conversation_id'),
    externalUserId: textOrNull(row, 'external_user_id'),
    apiKeyId: text(row, 'api_key_id'),
    ownerId: text(row, 'owner_id'),
    agentId: text(row, 'agent_id'),
    agentVersion: integer(row, 'agent_version'),
    state,
    run: integer(row, 'run'),
    attempt: integer(row, 'attempt'),
    hold: bigInteger(row, 'hold'),
    price: readPrice(row),
    failure:
      failureCode === null
        ? null
        : { code: failureCode, cause: textOrNull(row, 'failure_cause'), causeKind: textOrNull(row, 'cause_kind') as CauseKind | null },
    usage: row['charged'] === null ? null : readUsage(row),
    firstDeltaMs: integerOrNull(row, 'first_delta_ms'),
    cancelRequestedAt: integerOrNull(row, 'cancel_requested_at'),
    incomplete: integer(row, 'incomplete') === 1,
    finishReason: readFinishReason(row),
    traceparent: textOrNull(row, 'traceparent'),
    erasedAt: integerOrNull(row, 'erased_at'),
    createdAt: integer(row, 'created_at'),
    startedAt: integer(row, 'started_at'),
    endedAt: integerOrNull(row, 'ended_at'),
  }
}

const readUsage = (row: Row): NonNullable<TurnRecord['usage']> => ({
  ...readDetails(row),
  promptTokens: integerOrNull(row, 'prompt_tokens') ?? 0,
  completionTokens: integerOrNull(row, 'completion_tokens') ?? 0,
  estimated: integerOrNull(row, 'usage_estimated') === 1,
  charged: bigInteger(row, 'charged'),
  writtenOff: bigInteger(row, 'written_off'),
})

function readStep(row: Row): TurnStep {
  const kind = text(row, 'kind')
  if (kind !== 'model' && kind !== 'tool_started' && kind !== 'tool_finished') throw new Error(`unknown kind of step: ${kind}`)
  return {
    run: integer(row, 'run'),
    step: integer(row, 'step'),
    part: integer(row, 'part'),
    kind,
    payload: text(row, 'payload'),
    createdAt: integer(row, 'created_at'),
  }
}

export const turnReads = {
  findTurn: read(findTurn, {
    // mutant: operator.scope
    scope: ofTurn((requestId) => requestId, undefined),
    readings: (found, requestId) => readingIf(found && found.steps.length > 0, 'turn', requestId),
  }),
  findReplies: serviceRead(findReplies, 'search'),
  listHolds: read(listHolds, { scope: ofOwner((ownerId) => ownerId, []), readings: null }),
  listTurns: read(listTurns, {
    queue: 'report',
    // mutant: operator.scope-2
    scope: byFilter,
    readings: null,
  }),
}
