/** The admin routes for end users: the list, one of them, and the export of all data of one. erasure.ts has the erasure. */
import type { Static } from 'typebox'
import type { AdminCalls } from '../../admin/admin.ts'
import { about, answers, ndjson, pageOf } from './answers.ts'
import { streamOf } from './downloads.ts'
import { EndUser, EndUserDetail } from './end-user-answers.ts'
import { AgentParams, ExternalUserId, pageQuery, readPage, writePage, writeTime, writeTimeOrNull, writeUsd } from './fields.ts'
import { writeConversation, writeMessage } from './history.ts'
import { writeFeedback } from './feedback.ts'
import type { LedgerEntry } from './owner-answers.ts'
import type { StoredConversation, StoredFeedback, StoredMessage, Turn } from './turn-answers.ts'
import { writeTurn } from './turns.ts'
import { Type } from '../edge/schema.ts'
import type { TypedRoutes } from '../edge/typed-routes.ts'

type Listed = Awaited<ReturnType<AdminCalls['listEndUsers']>>['data'][number]
type Detail = Awaited<ReturnType<AdminCalls['findEndUser']>>
type Parts = Awaited<ReturnType<AdminCalls['exportEndUser']>>
type Part = Parts extends AsyncGenerator<(infer One)[]> ? One : never
type Spend = Detail['spend']['day']

/** A line of an export. */
type Line =
  | ({ type: 'conversation' } & Static<typeof StoredConversation.ref>)
  | ({ type: 'message'; conversation_id: string } & Static<typeof StoredMessage.ref>)
  | ({ type: 'turn'; message: string | null } & Static<typeof Turn.ref>)
  | ({ type: 'feedback' } & Static<typeof StoredFeedback.ref>)
  | ({ type: 'ledger_entry' } & Omit<Static<typeof LedgerEntry.ref>, 'note'>)

const closed = { additionalProperties: false } as const

const EndUsersQuery = Type.Object(
  {
    ...pageQuery,
    sort: Type.Optional(Type.Enum(['spend', 'last_activity'], { description: 'What comes first. Default: spend.' })),
    window: Type.Optional(
      Type.Enum(['day', 'month', 'total'], { description: 'The current UTC day, the current UTC month, or all time. Default: month.' }),
    ),
  },
  closed,
)
const EndUserQuery = Type.Object({ external_user_id: ExternalUserId }, closed)

/** The NDJSON response of exportEndUser. */
const exportExample =
  '{"type":"conversation","id":"conv_01jd3v9qk8x2m5n7p4r6t8w0yb","agent_id":"agt_01jd3v9qk8x2m5n7p4r6t8w0yc","external_user_id":"customer-4711"}\n'

export const endUserRoutes: TypedRoutes = async (app) => {
  app.get(
    '/agents/:id/end-users',
    {
      schema: {
        ...about(
          'End users',
          'listEndUsers',
          'List the end users of an agent',
          'Those with a turn that ended in the window, the largest spend or the latest activity first. The keys of an agent share its end users. An erased end user is not listed. `turns`, `spent_usd` and `feedback` are of the window.',
        ),
        params: AgentParams,
        querystring: EndUsersQuery,
        response: answers(pageOf(EndUser), 'not_found'),
      },
    },
    async (request) => {
      const { sort = 'spend', window = 'month', ...page } = request.query
      const asked = { agentId: request.params.id, sort, window }
      return writePage(await request.admin.listEndUsers(asked, readPage(page)), writeEndUser)
    },
  )

  app.get(
    '/agents/:id/end-users/detail',
    {
      schema: {
        ...about(
          'End users',
          'findEndUser',
          'Get an end user',
          'Spend and turns by window, feedback, and one conversation for each API key. An erased end user is 404 `not_found`.',
        ),
        params: AgentParams,
        querystring: EndUserQuery,
        response: answers(EndUserDetail, 'not_found'),
      },
    },
    async (request) => writeDetail(request.params.id, await request.admin.findEndUser(request.params.id, request.query.external_user_id)),
  )

  app.get(
    '/agents/:id/end-users/export',
    {
      schema: {
        ...about(
          'End users',
          'exportEndUser',
          'Export the data of an end user',
          'Everything that is stored of an end user with the agent, as one JSON object per line, each with a `type`: `conversation`, followed by its `message` lines (newest first), and its turns in the order of their request IDs: `turn`, and where there is one, `feedback` and `ledger_entry`. The fields are those of the other routes. `message` of a turn is what the end user wrote if it is in no message: the turn has no reply. To erase the end user, see `eraseEndUser`.',
        ),
        params: AgentParams,
        querystring: EndUserQuery,
        response: ndjson(exportExample, 'validation_error', 'not_found'),
      },
    },
    async (request, reply) => {
      // An unknown end user still gets a 404.
      const parts = await request.admin.exportEndUser(request.params.id, request.query.external_user_id)
      return reply.type('application/x-ndjson; charset=utf-8').send(streamOf(request, writeExport(parts)))
    },
  )
}

async function* writeExport(parts: Parts): AsyncGenerator<string> {
  for await (const part of parts) {
    const lines = part.flatMap(linesOf)
    if (lines.length > 0) yield `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`
  }
}

function linesOf(part: Part): Line[] {
  switch (part.kind) {
    case 'conversation':
      return [{ type: 'conversation', ...writeConversation(part.conversation) }]
    case 'message':
      return [{ type: 'message', conversation_id: part.conversationId, ...writeMessage(part.message) }]
    case 'turn': {
      const { turn, message, feedback, charge } = part
      const lines: Line[] = [{ type: 'turn', ...writeTurn(turn), message }]
      if (feedback) lines.push({ type: 'feedback', request_id: turn.id, ...writeFeedback(feedback) })
      if (charge && turn.usage)
        lines.push({
          type: 'ledger_entry',
          id: charge.id,
          owner_id: turn.ownerId,
          kind: 'charge',
          amount_usd: writeUsd(charge.amount),
          written_off_usd: writeUsd(turn.usage.writtenOff),
          request_id: turn.id,
          created_at: writeTime(charge.createdAt),
        })
      return lines
    }
  }
}

const writeEndUser = ({ externalUserId, spent, turns, lastActivityAt, feedback }: Listed): Static<typeof EndUser.ref> => ({
  external_user_id: externalUserId,
  spent_usd: writeUsd(spent),
  turns,
  last_activity_at: writeTime(lastActivityAt),
  feedback,
})

const writeSpend = ({ spent, turns }: Spend): Static<typeof EndUserDetail.ref>['spend']['day'] => ({ spent_usd: writeUsd(spent), turns })

const writeDetail = (
  agentId: string,
  { externalUserId, spend, lastActivityAt, feedback, conversations }: Detail,
): Static<typeof EndUserDetail.ref> => ({
  agent_id: agentId,
  external_user_id: externalUserId,
  spend: { day: writeSpend(spend.day), month: writeSpend(spend.month), total: writeSpend(spend.total) },
  last_activity_at: writeTimeOrNull(lastActivityAt),
  feedback,
  conversations: conversations.map(({ id, apiKeyId, createdAt, lastMessageAt, messageCount }) => ({
    id,
    key_id: apiKeyId,
    created_at: writeTime(createdAt),
    last_message_at: writeTimeOrNull(lastMessageAt),
    message_count: messageCount,
  })),
})
