/** /owners and their ledger, on the wire. Surfaces: the first rows of the admin table. */
import { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Admin } from '../admin/admin.ts'
import { ApiError } from '../errors.ts'
import { IdParams, Name, PageQuery, Usd, readPage, readUsd, wellFormed, writePage, writeTime, writeUsd } from './admin-fields.ts'
import { ledgerCsv } from './admin-ledger-csv.ts'
import { readIdempotencyKey } from './idempotency-key.ts'

type Owner = Awaited<ReturnType<Admin['findOwner']>>
type LedgerEntry = Awaited<ReturnType<Admin['addLedgerEntry']>>

const NewOwner = Type.Object({ name: Name, balance_usd: Type.Optional(Usd) }, { additionalProperties: false })
const OwnerChange = Type.Object({ name: Type.Optional(Name) }, { additionalProperties: false })
// 1,000: a sentence or two of bookkeeping, not a document.
const Note = wellFormed({ maxLength: 1000 })
const NewEntry = Type.Object({ amount_usd: Usd, note: Type.Optional(Note) }, { additionalProperties: false })

export const ownerRoutes: FastifyPluginAsyncTypebox<{ admin: Admin }> = async (app, { admin }) => {
  app.post('/owners', { schema: { body: NewOwner } }, async (request, reply) => {
    const { name, balance_usd = '0' } = request.body
    const balance = readUsd('balance_usd', balance_usd)
    if (balance < 0n) throw new ApiError('validation_error', 'balance_usd must not be negative.')
    return reply.code(201).send(writeOwner(await admin.createOwner({ name, balance })))
  })

  app.get('/owners', { schema: { querystring: PageQuery } }, async (request) =>
    writePage(await admin.listOwners(readPage(request.query)), writeOwner),
  )

  app.get('/owners/:id', { schema: { params: IdParams } }, async (request) => writeOwner(await admin.findOwner(request.params.id)))

  app.patch('/owners/:id', { schema: { params: IdParams, body: OwnerChange } }, async (request) => {
    const { id } = request.params
    const { name } = request.body
    return writeOwner(name === undefined ? await admin.findOwner(id) : await admin.renameOwner(id, name))
  })

  app.post('/owners/:id/ledger', { schema: { params: IdParams, body: NewEntry } }, async (request, reply) => {
    const idempotencyKey = readIdempotencyKey(request.raw)
    const amount = readUsd('amount_usd', request.body.amount_usd)
    if (amount === 0n) throw new ApiError('validation_error', 'amount_usd must not be zero.')
    const entry = await admin.addLedgerEntry({ ownerId: request.params.id, idempotencyKey, amount, note: request.body.note ?? null })
    return reply.code(201).send(writeEntry(entry))
  })

  app.get('/owners/:id/ledger', { schema: { params: IdParams, querystring: PageQuery } }, async (request, reply) => {
    const { id } = request.params
    if (!wantsCsv(request.headers.accept)) return writePage(await admin.listLedger(id, readPage(request.query)), writeEntry)
    // Read before the first byte leaves, so that an unknown owner is still a 404.
    const rows = await ledgerCsv((page) => admin.listLedger(id, page))
    return reply.type('text/csv; charset=utf-8').send(Readable.from(rows))
  })
}

const wantsCsv = (accept = ''): boolean => /^\s*text\/csv\b/i.test(accept)

const writeOwner = ({ id, name, balance, held, createdAt }: Owner): object => ({
  id,
  name,
  balance_usd: writeUsd(balance),
  held_usd: writeUsd(held),
  available_usd: writeUsd(balance - held),
  created_at: writeTime(createdAt),
})

const writeEntry = (entry: LedgerEntry): object => ({
  id: entry.id,
  owner_id: entry.ownerId,
  kind: entry.kind,
  amount_usd: writeUsd(entry.amount),
  written_off_usd: writeUsd(entry.writtenOff),
  request_id: entry.requestId,
  note: entry.note,
  created_at: writeTime(entry.createdAt),
})
