/** The admin route for usage figures. */
import type { Static } from 'typebox'
import type { AdminCalls } from '../../admin/admin.ts'
import { invalid } from '../../errors.ts'
import { Usage, UsageLine, about, alsoAsCsv, answers, oneOf, pageOf } from './answers.ts'
import { usageColumns, usageCsv, wantsCsv } from './csv.ts'
import { streamOf } from './downloads.ts'
import { ExternalUserId, idGiven, Moment, pageQuery, readMoment, readPage, writePage, writeTime, writeUsd } from './fields.ts'
import { Type } from '../edge/schema.ts'
import type { TypedRoutes } from '../edge/typed-routes.ts'

type Found = Awaited<ReturnType<AdminCalls['readUsage']>>
type GroupedLine = Awaited<ReturnType<AdminCalls['listUsageLines']>>['data'][number]
type Grouping = Parameters<AdminCalls['listUsageLines']>[0]['groupBy'][number]

const groupings: readonly Grouping[] = ['owner', 'agent', 'api_key', 'end_user', 'day', 'month']

const UsageQuery = Type.Object(
  {
    bucket: Type.Optional(Type.Enum(['hour', 'day'], { description: 'Bucket size, in UTC. Default: day. Not together with `group_by`.' })),
    group_by: Type.Optional(
      Type.String({
        description: `One or more of ${groupings.join(', ')}, separated by commas.`,
        examples: ['agent,month'],
      }),
    ),
    ...pageQuery,
    from: Type.Optional(Moment),
    to: Type.Optional(Moment),
    owner_id: Type.Optional(idGiven('own', 'Only turns of this owner.')),
    agent_id: Type.Optional(idGiven('agt', 'Only turns of this agent.')),
    key_id: Type.Optional(idGiven('key', 'Only turns of this API key, by its ID (`key_…`).')),
    external_user_id: Type.Optional(ExternalUserId),
  },
  { additionalProperties: false },
)

/** The CSV response of readUsage with `group_by=agent`. */
const usageCsvExample = [
  usageColumns.join(','),
  ',,own_01jd3v9qk8x2m5n7p4r6t8w0ya,Example Shop,agt_01jd3v9qk8x2m5n7p4r6t8w0yc,Support,,,,,1,1,0,0,0,412,18,0.00039000,0.00000000,0.00000000',
  '',
].join('\r\n')

/** Throws ApiError `validation_error` for an unknown or repeated grouping. */
function readGroupings(text: string): Grouping[] {
  const given = text.split(',')
  const known = groupings.filter((grouping) => given.includes(grouping))
  if (known.length === given.length) return known
  throw invalid('group_by', `group_by must be one or more of ${groupings.join(', ')}, each at most once, separated by commas.`)
}

export const usageRoutes: TypedRoutes = async (app) => {
  app.get(
    '/usage',
    {
      schema: {
        ...about(
          'Usage',
          'readUsage',
          'Get usage by hour or day, or by group',
          'Without `group_by`: returns turns, tokens, charges and latencies for every bucket from `from` to `to` (exclusive). A turn counts in the bucket in which it ended. Tokens, charges and latencies are those of completed turns. An error is a run of a turn that ended without a reply; a retry that runs the turn again is another run. A cancelled turn is not an error. `unpaid_usd` is what turns without a reply used, at their price; no owner was charged for it. It includes turns that failed because of the provider or of the service, for which nothing is reserved on the owner. With `group_by`: returns pages of lines, one for each group of turns that ended from `from` to `to`, at most 400 days apart. Lines are ordered by day or month, then by the IDs of owner, agent and key, then by end user. `agent`, `api_key` and `end_user` include the IDs of what they belong to, and `day` includes the month. The line of an erased end user has the ID of its conversation instead of the name. `limit` and `cursor` are for lines. With `Accept: text/csv`, the response is every line as CSV; `group_by` is then `day` by default.',
        ),
        querystring: UsageQuery,
        response: alsoAsCsv(usageCsvExample, answers(oneOf(Usage, pageOf(UsageLine)))),
      },
    },
    async (request, reply) => {
      const { bucket, group_by, owner_id: ownerId, agent_id: agentId, key_id: keyId, external_user_id: externalUserId } = request.query
      const { from, to, limit, cursor } = request.query
      const isCsv = wantsCsv(request.headers.accept)
      const asked = { ownerId, agentId, keyId, externalUserId, from: readMoment('from', from), to: readMoment('to', to) }
      const grouping = group_by ?? (isCsv ? 'day' : undefined)
      if (grouping !== undefined) {
        if (bucket !== undefined) throw invalid('bucket', 'bucket cannot be combined with group_by or text/csv; group by day.')
        const groupBy = readGroupings(grouping)
        if (!isCsv)
          return writePage(await request.admin.listUsageLines({ ...asked, groupBy }, readPage({ limit, cursor })), writeGroupedLine)
        const lines = await request.admin.readUsageLines({ ...asked, groupBy })
        return reply.type('text/csv; charset=utf-8').send(streamOf(request, usageCsv(lines)))
      }
      if (limit !== undefined || cursor !== undefined)
        throw invalid(limit === undefined ? 'cursor' : 'limit', 'limit and cursor need group_by: usage by bucket has no pages.')
      const { buckets, totals } = await request.admin.readUsage({ ...asked, bucket: bucket ?? 'day' })
      const data = buckets.map((one) => ({ bucket_start: writeTime(one.bucketStart), ...writeFigures(one) }))
      return { data, totals: writeFigures(totals) }
    },
  )
}

const writeFigures = (usage: Found['totals']): Static<typeof Usage.ref>['totals'] => ({
  turns: usage.turns,
  completed: usage.completed,
  failed: usage.failed,
  released: usage.released,
  cancelled: usage.cancelled,
  errors: usage.errors,
  errors_by_cause: Object.fromEntries([...usage.errorsByCause].toSorted(([, one], [, other]) => other - one)),
  prompt_tokens: usage.promptTokens,
  completion_tokens: usage.completionTokens,
  charged_usd: writeUsd(usage.charged),
  written_off_usd: writeUsd(usage.writtenOff),
  unpaid_usd: writeUsd(usage.unpaid),
  p50_ms: usage.latency.p50,
  p95_ms: usage.latency.p95,
  p50_first_delta_ms: usage.firstDelta.p50,
  p95_first_delta_ms: usage.firstDelta.p95,
})

const writeGroupedLine = (line: GroupedLine): Static<typeof UsageLine.ref> => ({
  month: line.month,
  day: line.day,
  owner_id: line.ownerId || null,
  owner_name: line.ownerName,
  agent_id: line.agentId || null,
  agent_name: line.agentName,
  key_id: line.apiKeyId || null,
  key_name: line.keyName,
  external_user_id: line.externalUserId || null,
  erased_conversation_id: line.erasedConversationId || null,
  turns: line.turns,
  completed: line.completed,
  failed: line.failed,
  released: line.released,
  cancelled: line.cancelled,
  prompt_tokens: line.promptTokens,
  completion_tokens: line.completionTokens,
  charged_usd: writeUsd(line.charged),
  written_off_usd: writeUsd(line.writtenOff),
  unpaid_usd: writeUsd(line.unpaid),
})
