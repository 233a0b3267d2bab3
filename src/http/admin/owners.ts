/** The admin routes for owners and their ledgers. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { AdminCalls } from '../../admin/admin.ts'
import { invalid } from '../../errors.ts'
import { ownerFields } from '../../resources/owner.ts'
import type { Owner } from '../../resources/owner.ts'
import { changeProperties, newProperties, readChange, readNew, writerOf } from './wire.ts'
import { available } from '../../ledger/ledger.ts'
import { LedgerEntry as Entry, ListedLedgerEntry as Listed, Owner as OwnerAnswer, OwnerWithHolds } from './owner-answers.ts'
import { about, alsoAsCsv, answers, made, pageOf } from './answers.ts'
import {
  ExternalUserId,
  Moment,
  OwnerParams,
  PageQuery,
  Usd,
  idGiven,
  pageQuery,
  readMoment,
  readPage,
  readUsd,
  wellFormed,
  writePage,
  writeTime,
  writeTimeOrNull,
  writeUsd,
} from './fields.ts'
import { ledgerColumns, ledgerCsv, wantsCsv } from './csv.ts'
import { streamOf } from './downloads.ts'
import { readIdempotencyKey } from '../public/idempotency-key.ts'
import { Type } from '../edge/schema.ts'
import type { TypedRoutes } from '../edge/typed-routes.ts'

type RunningHold = Awaited<ReturnType<AdminCalls['findOwnerWithHolds']>>['runningTurns'][number]
type Indexing = Awaited<ReturnType<AdminCalls['findOwnerWithHolds']>>['indexing']
type LedgerEntry = Awaited<ReturnType<AdminCalls['addLedgerEntry']>>
type ListedEntry = Awaited<ReturnType<AdminCalls['listLedger']>>['data'][number]
type WithHolds = Static<typeof OwnerWithHolds.ref>

const closed = { additionalProperties: false } as const

const NewOwner = Type.Object(newProperties(ownerFields), { ...closed, examples: [{ name: 'Example Shop', balance_usd: '10.00' }] })
const OwnerChange = Type.Object(changeProperties(ownerFields), {
  ...closed,
  examples: [{ name: 'Example Shop Ltd.', low_balance_usd: '5.00' }],
})
// A note is a sentence or two of bookkeeping, not a document.
const Note = wellFormed({ maxLength: 1000 })
const NewEntry = Type.Object(
  { amount_usd: Usd, note: Type.Optional(Note) },
  { ...closed, examples: [{ amount_usd: '25.00', note: 'Invoice 2026-0117' }] },
)

export const ownerRoutes: TypedRoutes = async (app) => {
  app.post(
    '/owners',
    {
      schema: {
        ...about(
          'Owners',
          'createOwner',
          'Create an owner',
          'An owner pays for the turns of its agents. `balance_usd` is the initial credit. Default: 0.',
        ),
        body: NewOwner,
        response: made(OwnerAnswer),
      },
    },
    async (request, reply) => reply.code(201).send(writeOwner(await request.admin.createOwner(readNew(ownerFields, request.body)))),
  )

  app.get(
    '/owners',
    {
      schema: {
        ...about(
          'Owners',
          'listOwners',
          'List owners, newest first',
          'Each owner includes its balance, the amount held for running turns, the unpaid amount, and the available amount.',
        ),
        querystring: PageQuery,
        response: answers(pageOf(OwnerAnswer)),
      },
    },
    async (request) => writePage(await request.admin.listOwners(readPage(request.query)), writeOwner),
  )

  app.get(
    '/owners/:id',
    {
      schema: {
        ...about(
          'Owners',
          'findOwner',
          'Get an owner',
          'The balance is the sum of the ledger. A new turn can hold `available_usd`: the balance minus `held_usd`, which running turns hold, and `unpaid_usd`, and never below zero. `unpaid_usd` is what turns without a reply have used, until credits of the same amount are posted. The running turns are listed. `indexing` shows the documents that wait, and the CPU time that reading them took.',
        ),
        params: OwnerParams,
        response: answers(OwnerWithHolds, 'not_found'),
      },
    },
    async (request) => {
      const { runningTurns, indexing, ...owner } = await request.admin.findOwnerWithHolds(request.params.id)
      return { ...writeOwner(owner), running_turns: runningTurns.map(writeHold), indexing: writeIndexing(indexing) }
    },
  )

  app.patch(
    '/owners/:id',
    {
      schema: {
        ...about(
          'Owners',
          'changeOwner',
          'Update an owner',
          'Omitted fields are unchanged. The event `balance.low` is reported when a charge or an adjustment brings the balance below `low_balance_usd`. Null: never.',
        ),
        params: OwnerParams,
        body: OwnerChange,
        response: answers(OwnerAnswer, 'not_found'),
      },
    },
    async (request) => writeOwner(await request.admin.changeOwner(request.params.id, readChange(ownerFields, request.body))),
  )
}

/** The CSV response of a ledger. */
const ledgerCsvExample = [
  ledgerColumns.join(','),
  'led_01jd3v9qk8x2m5n7p4r6t8w0yg,2026-11-21T09:00:00.000Z,credit,10.00000000,0.00000000,,Invoice 2026-0117,own_01jd3v9qk8x2m5n7p4r6t8w0ya,,,,',
  '',
].join('\r\n')

const ledgerFilters = {
  ...pageQuery,
  kind: Type.Optional(Type.Enum(['credit', 'adjustment', 'charge'], { description: 'Only entries of this kind.' })),
  agent_id: Type.Optional(idGiven('agt', 'Only the charges of this agent.')),
  key_id: Type.Optional(idGiven('key', 'Only the charges of this API key, by its ID (`key_…`).')),
  external_user_id: Type.Optional(ExternalUserId),
  from: Type.Optional(Moment),
  to: Type.Optional(Moment),
}
const OwnerLedgerQuery = Type.Object(ledgerFilters, closed)
const LedgerQuery = Type.Object({ ...ledgerFilters, owner_id: Type.Optional(idGiven('own', 'Only the entries of this owner.')) }, closed)

const filtersDescribed =
  'Credits, adjustments and the charges of turns. `from` (inclusive) and `to` (exclusive) filter by creation time; a charge is created when its turn ends. A filter by agent, key or end user matches only charges. With `Accept: text/csv` the response is every matching entry as CSV, without pages.'

export const ledgerRoutes: TypedRoutes = async (app) => {
  app.post(
    '/owners/:id/ledger',
    {
      schema: {
        ...about(
          'Owners',
          'addLedgerEntry',
          'Credit or debit a balance',
          'A positive amount is a credit, a negative amount an adjustment. An adjustment makes unpaid usage that credits have cleared unpaid again. Returns 409 `conflict` if less would remain than running turns hold. A retry with the same `Idempotency-Key` returns the same entry.',
        ),
        params: OwnerParams,
        body: NewEntry,
        response: made(Entry, 'not_found', 'conflict'),
      },
    },
    async (request, reply) => {
      const idempotencyKey = readIdempotencyKey(request.raw)
      const amount = readUsd('amount_usd', request.body.amount_usd)
      if (amount === 0n) throw invalid('amount_usd', 'amount_usd must not be zero.')
      const entry = await request.admin.addLedgerEntry({
        ownerId: request.params.id,
        idempotencyKey,
        amount,
        note: request.body.note ?? null,
      })
      return reply.code(201).send(writeEntry(entry))
    },
  )

  app.get(
    '/owners/:id/ledger',
    {
      schema: {
        ...about('Owners', 'listLedger', 'List ledger entries, newest first', filtersDescribed),
        params: OwnerParams,
        querystring: OwnerLedgerQuery,
        response: alsoAsCsv(ledgerCsvExample, answers(pageOf(Listed), 'not_found')),
      },
    },
    (request, reply) => answerLedger(request, reply, { ...request.query, owner_id: request.params.id }),
  )

  app.get(
    '/ledger',
    {
      schema: {
        ...about('Owners', 'listAllLedgers', 'List the ledger entries of all owners, newest first', filtersDescribed),
        querystring: LedgerQuery,
        response: alsoAsCsv(ledgerCsvExample, answers(pageOf(Listed), 'not_found')),
      },
    },
    (request, reply) => answerLedger(request, reply, request.query),
  )
}

async function answerLedger(request: FastifyRequest, reply: FastifyReply, query: Static<typeof LedgerQuery>) {
  const { owner_id: ownerId, agent_id: agentId, key_id: keyId, external_user_id: externalUserId, kind, from, to, ...page } = query
  const filter = { ownerId, agentId, keyId, externalUserId, kind, from: readMoment('from', from), to: readMoment('to', to) }
  if (!wantsCsv(request.headers.accept)) return writePage(await request.admin.listLedger(filter, readPage(page)), writeListedEntry)
  // Reads the first page before sending anything, so an unknown owner still gets a 404.
  const rows = await ledgerCsv((one) => request.admin.listLedger(filter, one))
  reply.type('text/csv; charset=utf-8')
  return streamOf(request, rows)
}

const writeFields = writerOf(ownerFields)
const writeOwner = (owner: Owner) => writeFields({ ...owner, available: available(owner) })

const writeHold = ({ requestId, agentId, apiKeyId, externalUserId, hold, startedAt }: RunningHold): WithHolds['running_turns'][number] => ({
  request_id: requestId,
  agent_id: agentId,
  key_id: apiKeyId,
  external_user_id: externalUserId,
  held_usd: writeUsd(hold),
  started_at: writeTime(startedAt),
})

const writeIndexing = ({ queued, maxQueued, spentMs, cpuMs, waitsUntil }: Indexing): WithHolds['indexing'] => ({
  queued_documents: queued,
  max_queued_documents: maxQueued,
  cpu_seconds: spentMs / 1000,
  max_cpu_seconds: cpuMs / 1000,
  waits_until: writeTimeOrNull(waitsUntil),
})

const writeEntry = (entry: LedgerEntry): Static<typeof Entry.ref> => ({
  id: entry.id,
  owner_id: entry.ownerId,
  kind: entry.kind,
  amount_usd: writeUsd(entry.amount),
  written_off_usd: writeUsd(entry.writtenOff),
  request_id: entry.requestId,
  note: entry.note,
  created_at: writeTime(entry.createdAt),
})

const writeListedEntry = (entry: ListedEntry): Static<typeof Listed.ref> => ({
  ...writeEntry(entry),
  agent_id: entry.agentId,
  key_id: entry.apiKeyId,
  conversation_id: entry.conversationId,
  external_user_id: entry.externalUserId,
})
