/** End users of an agent, and the export of all data of one (`end-users`, `end-users.export`). Erasure is in src/turn/erasure.ts. */
import { ApiError, invalid } from '../errors.ts'
import type { AnyConversation } from '../store/queries/any-conversations.ts'
import type { ExportedTurn } from '../store/queries/end-user-export.ts'
import type { EndUser, EndUserDetail, EndUserOrder, Spend } from '../store/queries/end-users.ts'
import { boundedPageOf, boundedRequest, decodeTextCursor, encodeTextCursor } from '../store/queries/paging.ts'
import type { Page, PageWanted } from '../store/queries/paging.ts'
import type { AdminStore, PerRequest } from './admin-store.ts'
import { toolCallsOf } from './agents/tool-activity.ts'
import type { Message } from './history.ts'

/** The current UTC day or month, or all time. */
export const spendWindows = ['day', 'month', 'total'] as const
export type SpendWindow = (typeof spendWindows)[number]

export type ShownEndUser = Omit<EndUserDetail, 'spend'> & { spend: Record<SpendWindow, Spend> }

export type ExportedPart =
  | { kind: 'conversation'; conversation: AnyConversation }
  | { kind: 'message'; conversationId: string; message: Message }
  | ({ kind: 'turn' } & ExportedTurn)

export type EndUsersAdmin = {
  /** Those with a turn that ended in the window, the largest spend or the latest activity first. Throws ApiError `not_found`. */
  listEndUsers(asked: { agentId: string; sort: EndUserOrder; window: SpendWindow }, page: PageWanted): Promise<Page<EndUser>>
  /** Throws ApiError `not_found`. */
  findEndUser(agentId: string, externalUserId: string): Promise<ShownEndUser>
  /** Everything that is stored of an end user, in parts that fit in memory. Throws ApiError `not_found` before it resolves. */
  exportEndUser(agentId: string, externalUserId: string): Promise<AsyncGenerator<ExportedPart[]>>
}

// Messages are limited by bytes too (`overload.unread`). A turn without messages may have 128 KB.
const exportedEach = 50

async function refuseUnknownAgent(store: AdminStore, agentId: string): Promise<void> {
  if (!(await store.read.findAgent(agentId))) throw new ApiError('not_found', 'This agent does not exist.')
}

async function detailOf(store: AdminStore, agentId: string, externalUserId: string): Promise<ShownEndUser> {
  const now = await store.read.storeTime()
  const since = spendWindows.map((window) => startOf(window, now))
  const found = await store.read.findEndUser({ agentId, externalUserId, since })
  if (!found) throw new ApiError('not_found', 'This end user does not exist: the agent has no conversation with this external_user_id.')
  const [day, month, total] = found.spend
  return { ...found, spend: { day: day!, month: month!, total: total! } }
}

export const endUsersAdmin: PerRequest<EndUsersAdmin> = {
  async listEndUsers({ store }, { agentId, sort, window }, { limit, cursor }) {
    await refuseUnknownAgent(store, agentId)
    const now = await store.read.storeTime()
    const after = cursor === undefined ? undefined : decodePosition(cursor)
    const rows = await store.read.listEndUsers({ agentId, sort, from: startOf(window, now), to: now + 1, limit: limit + 1, after })
    const data = rows.slice(0, limit)
    const last = data.at(-1)
    const value = (user: EndUser): string => String(sort === 'spend' ? user.spent : user.lastActivityAt)
    return { data, nextCursor: last && rows.length > limit ? encodeTextCursor([value(last), last.externalUserId]) : null }
  },
  async findEndUser({ store }, agentId, externalUserId) {
    await refuseUnknownAgent(store, agentId)
    return detailOf(store, agentId, externalUserId)
  },
  async exportEndUser({ store }, agentId, externalUserId) {
    await refuseUnknownAgent(store, agentId)
    const { conversations } = await detailOf(store, agentId, externalUserId)
    // Without the end user's name, because an entry of the audit log is never erased. Each conversation has its own entry.
    await store.write.recordReading({ verb: 'export', noun: 'end_user', subjectId: agentId })
    return readParts(
      store,
      conversations.map(({ id }) => id),
    )
  },
}

function startOf(window: SpendWindow, now: number): number {
  const date = new Date(now)
  if (window === 'total') return 0
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), window === 'day' ? date.getUTCDate() : 1)
}

function decodePosition(cursor: string): { value: bigint; externalUserId: string } {
  const [value = '', externalUserId = ''] = decodeTextCursor(cursor, 2)
  if (!/^\d{1,18}$/.test(value)) throw invalid('cursor', 'The cursor is not valid; use next_cursor as it was given.')
  return { value: BigInt(value), externalUserId }
}

/** A conversation that is erased meanwhile has no more parts. */
async function* readParts(store: AdminStore, conversationIds: string[]): AsyncGenerator<ExportedPart[]> {
  for (const conversationId of conversationIds) {
    const conversation = await store.read.findConversation(conversationId)
    if (!conversation || conversation.externalUserId === null) continue
    yield [{ kind: 'conversation', conversation }]
    for (let cursor: string | undefined; ;) {
      const page = await store.read.listAllMessages({ ...boundedRequest({ limit: exportedEach, cursor }), conversationId })
      if (!page) break
      const { data, nextCursor } = boundedPageOf(page)
      yield data.map(({ steps, ...message }) => ({
        kind: 'message',
        conversationId,
        message: { ...message, toolCalls: toolCallsOf(steps) },
      }))
      if (nextCursor === null) break
      cursor = nextCursor
    }
    for (let after = ''; ;) {
      const turns = await store.read.listExportedTurns({ conversationId, after, limit: exportedEach })
      yield turns.map((turn) => ({ kind: 'turn', ...turn }))
      if (turns.length < exportedEach) break
      after = turns.at(-1)!.turn.id
    }
  }
}
