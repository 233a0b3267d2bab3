/** The admin route of the audit log, as pages or as CSV. */
import type { Static } from 'typebox'
import type { AdminCalls } from '../../admin/admin.ts'
import { AuditEntry, about, alsoAsCsv, answers, authors, pageOf } from './answers.ts'
import { auditColumns, auditCsv, wantsCsv } from './csv.ts'
import { streamOf } from './downloads.ts'
import { idGiven, Moment, pageQuery, readMoment, readPage, wellFormed, writePage, writeTime } from './fields.ts'
import { Type } from '../edge/schema.ts'
import type { TypedRoutes } from '../edge/typed-routes.ts'

type Entry = Awaited<ReturnType<AdminCalls['listAudit']>>['data'][number]

const word = (description: string, example: string) =>
  Type.String({ ...wellFormed({ minLength: 1, maxLength: 100 }), description, examples: [example] })

const AuditQuery = Type.Object(
  {
    ...pageQuery,
    who: Type.Optional(Type.Enum([...authors], { description: 'Only entries by this kind of author.' })),
    author_id: Type.Optional(idGiven('opr', 'Only entries of this operator (`opr_…`) or token (`tok_…`).')),
    verb: Type.Optional(word('Only entries with this verb; exact match.', 'change')),
    noun: Type.Optional(word('Only entries with this noun; exact match.', 'agent')),
    subject_id: Type.Optional(idGiven('agt', 'Only entries about the thing with this ID.')),
    from: Type.Optional(Moment),
    to: Type.Optional(Moment),
  },
  { additionalProperties: false },
)

/** The CSV response of listAudit. */
const auditCsvExample = [
  auditColumns.join(','),
  'aud_01jd3v9qk8x2m5n7p4r6t8w0yb,2026-11-21T09:30:00.000Z,operator,opr_01jd3v9qk8x2m5n7p4r6t8w0yc,Kim Lee,change,owner,own_01jd3v9qk8x2m5n7p4r6t8w0ya,name,"{""name"":{""before"":""Example"",""after"":""Example Shop""}}",7c0f5d2e-1b7a-4c53-9f0e-2d1f6f5c9a10',
  '',
].join('\r\n')

export const auditRoutes: TypedRoutes = async (app) => {
  app.get(
    '/audit',
    {
      schema: {
        ...about(
          'Audit',
          'listAudit',
          'List the audit log, newest first',
          'One entry for each change, and for each reading of messages. All filters together must match. `from` (inclusive) and `to` (exclusive) filter by time. Entries are never changed or deleted, and contain no secret and no text or name of an end user. Readings of one author and subject within 15 minutes are one entry. With `Accept: text/csv`, the response is every entry as CSV; `limit` and `cursor` are then ignored.',
        ),
        querystring: AuditQuery,
        response: alsoAsCsv(auditCsvExample, answers(pageOf(AuditEntry))),
      },
    },
    async (request, reply) => {
      const { who, author_id: authorId, verb, noun, subject_id: subjectId, from, to, ...page } = request.query
      const filter = { who, authorId, verb, noun, subjectId, from: readMoment('from', from), to: readMoment('to', to) }
      if (!wantsCsv(request.headers.accept)) return writePage(await request.admin.listAudit(filter, readPage(page)), writeEntry)
      const rows = await auditCsv((one) => request.admin.listAudit(filter, one))
      return reply.type('text/csv; charset=utf-8').send(streamOf(request, rows))
    },
  )
}

const writeEntry = (entry: Entry): Static<typeof AuditEntry.ref> => ({
  id: entry.id,
  who: entry.who,
  author_id: entry.authorId,
  author_name: entry.authorName,
  verb: entry.verb,
  noun: entry.noun,
  subject_id: entry.subjectId,
  fields: entry.fields,
  changes: entry.changes,
  request_id: entry.requestId,
  created_at: writeTime(entry.createdAt),
})
