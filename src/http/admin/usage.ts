/** The admin routes for usage figures and the audit log. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { AdminCalls } from '../../admin/admin.ts'
import { AuditEntry, Usage, about, answers, pageOf } from './answers.ts'
import { idGiven, Moment, PageQuery, readMoment, readPage, writePage, writeTime, writeUsd } from './fields.ts'
import { Type } from '../edge/schema.ts'

type Found = Awaited<ReturnType<AdminCalls['readUsage']>>
type Line = Awaited<ReturnType<AdminCalls['listAudit']>>['data'][number]

const UsageQuery = Type.Object(
  {
    bucket: Type.Optional(Type.Enum(['hour', 'day'], { description: 'Bucket size, in UTC. Default: day.' })),
    from: Type.Optional(Moment),
    to: Type.Optional(Moment),
    owner_id: Type.Optional(idGiven('own', 'Only turns of this owner.')),
    agent_id: Type.Optional(idGiven('agt', 'Only turns of this agent.')),
    key_id: Type.Optional(idGiven('key', 'Only turns of this API key, by its id (`key_…`).')),
  },
  { additionalProperties: false },
)

export const usageRoutes: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/usage',
    {
      schema: {
        ...about(
          'Usage',
          'readUsage',
          'Get usage by hour or day',
          'Returns turns, tokens, charges and latencies for every bucket from `from` to `to` (exclusive). A turn counts in the bucket in which it ended. Tokens, charges and latencies are those of completed turns. An error is a run of a turn that ended without a reply; a retry that runs the turn again is another run. A cancelled turn is not an error. `unpaid_usd` is what turns without a reply used, at their price; no owner was charged for it. It includes turns that failed because of the provider or of the service, for which nothing is reserved on the owner.',
        ),
        querystring: UsageQuery,
        response: answers(Usage, 'validation_error'),
      },
    },
    async (request) => {
      const { bucket = 'day', from, to, owner_id: ownerId, agent_id: agentId, key_id: keyId } = request.query
      const range = { from: readMoment('from', from), to: readMoment('to', to) }
      const { buckets, totals } = await request.admin.readUsage({ ownerId, agentId, keyId, bucket, ...range })
      const data = buckets.map((one) => ({ bucket_start: writeTime(one.bucketStart), ...writeFigures(one) }))
      return { data, totals: writeFigures(totals) }
    },
  )

  app.get(
    '/audit',
    {
      schema: {
        ...about(
          'Audit',
          'listAudit',
          'List the audit log, newest first',
          'One entry per change, with the names of the changed fields and without their values.',
        ),
        querystring: PageQuery,
        response: answers(pageOf(AuditEntry), 'validation_error'),
      },
    },
    async (request) => writePage(await request.admin.listAudit(readPage(request.query)), writeLine),
  )
}

const writeFigures = (usage: Found['totals']): object => ({
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

const writeLine = (line: Line): object => ({
  id: line.id,
  who: line.who,
  verb: line.verb,
  noun: line.noun,
  subject_id: line.subjectId,
  fields: line.fields,
  request_id: line.requestId,
  created_at: writeTime(line.createdAt),
})
