/**
 * Which document is indexed next, and who has to wait: owners take turns (`knowledge.turns`), and an owner whose documents have used up the
 * CPU time of an hour waits until its window ends, while others go on (`knowledge.bounded`).
 */
import type { Row, Sql } from '../../sql.ts'
import { integer, integerOrNull, text } from '../columns.ts'
import { documentColumns } from './documents.ts'
import { read, serviceRead, serviceWrite } from '../operation.ts'
import { ofOwner } from '../scope.ts'

/** An owner may use its CPU time once in each of these. */
export const windowMs = 60 * 60 * 1000

/** What an owner's documents wait for. `spentMs`: CPU time in the current window. `waitsUntil`: when it ends, if the limit is used up. */
export type OwnerIndexing = { queued: number; spentMs: number; waitsUntil: number | null }

/** The documents of all owners. */
export type DocumentBacklog = { queued: number; indexing: number }

const claimed = `select ${documentColumns}, d.content_id, d.fence, d.attempt, a.owner_id from documents d join agents a on a.id = d.agent_id`

/**
 * Returns the document that is indexed next. `served`: the owners whose documents the caller claimed, the latest last. On PostgreSQL, the row
 * is locked, and rows that other processes have locked are left out.
 */
export async function findNext(sql: Sql, now: number, served: string[]): Promise<Row | undefined> {
  const locked = sql.engine === 'postgres' ? 'for update of d skip locked' : ''
  const free = `(d.status = 'queued' or (d.status = 'indexing' and d.lease_until <= $1)) and d.deleted_at is null and a.deleted_at is null`
  const firsts = await firstOfEachOwner(sql, now, served)
  for (const { id } of firsts) {
    // On PostgreSQL, no row means that another process has just claimed this document, so that it is the turn of the next owner.
    const [row] = await sql.all(`${claimed} where ${free} and d.id = $2 ${locked}`, now, id)
    if (row) return row
  }
  for (const { agentId } of firsts) {
    const [row] = await sql.all(
      `${claimed} where d.agent_id = $1 and d.status = 'queued' and d.deleted_at is null and a.deleted_at is null
       order by d.updated_at, d.id limit 1 ${locked}`,
      agentId,
    )
    if (row) return row
  }
  return undefined
}

type First = { id: string; agentId: string; ownerId: string; updatedAt: number }

/** Returns the document of each owner that has waited longest, in the order of the owners' turns. */
async function firstOfEachOwner(sql: Sql, now: number, served: string[]): Promise<First[]> {
  const inWork = await sql.all(
    `select d.id, d.agent_id, a.owner_id, d.updated_at, d.lease_until from documents d join agents a on a.id = d.agent_id
     where d.status = 'indexing' and d.deleted_at is null and a.deleted_at is null`,
  )
  const works = new Map<string, number>()
  const isExpired = (row: Row): boolean => integer(row, 'lease_until') <= now
  for (const row of inWork) if (!isExpired(row)) works.set(text(row, 'owner_id'), (works.get(text(row, 'owner_id')) ?? 0) + 1)
  const paused = await sql.all('select owner_id from indexing_windows where waits_until > $1', now)
  const isPaused = new Set(paused.map((row) => text(row, 'owner_id')))
  const firsts = new Map<string, First>()
  for (const row of [...(await firstOfEachAgent(sql)), ...inWork.filter(isExpired)]) {
    const first = {
      id: text(row, 'id'),
      agentId: text(row, 'agent_id'),
      ownerId: text(row, 'owner_id'),
      updatedAt: integer(row, 'updated_at'),
    }
    const known = firsts.get(first.ownerId)
    if (!isPaused.has(first.ownerId) && (!known || isBefore(first, known))) firsts.set(first.ownerId, first)
  }
  const turns = new Map(served.map((ownerId, turn) => [ownerId, turn]))
  const place = ({ ownerId }: First): [number, number] => [works.get(ownerId) ?? 0, turns.get(ownerId) ?? -1]
  return [...firsts.values()].toSorted((one, other) => {
    const [[oneInWork, oneTurn], [otherInWork, otherTurn]] = [place(one), place(other)]
    return oneInWork - otherInWork || oneTurn - otherTurn || (isBefore(one, other) ? -1 : 1)
  })
}

const isBefore = (one: First, other: First): boolean =>
  one.updatedAt < other.updatedAt || (one.updatedAt === other.updatedAt && one.id < other.id)

/** Goes from agent to agent in the index, so that a queue of any length costs one look-up for each agent that has documents in it. */
async function firstOfEachAgent(sql: Sql): Promise<Row[]> {
  const isWaiting = `status = 'queued' and deleted_at is null`
  return sql.all(
    `with recursive waiting (agent_id) as (
       select min(agent_id) from documents where ${isWaiting}
       union all
       select (select min(agent_id) from documents where ${isWaiting} and agent_id > w.agent_id) from waiting w where w.agent_id is not null
     )
     select d.id, d.agent_id, a.owner_id, d.updated_at from waiting w join agents a on a.id = w.agent_id
       join documents d on d.id = (select id from documents where ${isWaiting} and agent_id = w.agent_id order by updated_at, id limit 1)
     where w.agent_id is not null and a.deleted_at is null`,
  )
}

/**
 * Adds CPU time of reading a document to the owner's window. From `limitMs` on, no document of this owner is claimed until the window ends.
 * Counts whatever becomes of the document: one that is replaced again and again costs time as well.
 */
async function spendIndexing(sql: Sql, { ownerId, ms, limitMs }: { ownerId: string; ms: number; limitMs: number }): Promise<void> {
  const now = await sql.now()
  const isOver = `indexing_windows.started_at <= ${now - windowMs}`
  await sql.run(
    `insert into indexing_windows (owner_id, started_at, spent_ms) values ($1, $2, $3)
     on conflict (owner_id) do update set
       started_at = case when ${isOver} then excluded.started_at else indexing_windows.started_at end,
       spent_ms = case when ${isOver} then excluded.spent_ms else indexing_windows.spent_ms + excluded.spent_ms end`,
    ownerId,
    now,
    Math.round(ms),
  )
  await sql.run(
    'update indexing_windows set waits_until = case when spent_ms >= $2 then started_at + $3 end where owner_id = $1',
    ownerId,
    limitMs,
    windowMs,
  )
}

/** Without a window, nothing was spent. Undefined if there is no such owner. */
async function findOwnerIndexing(sql: Sql, ownerId: string): Promise<OwnerIndexing | undefined> {
  const now = await sql.now()
  const [row] = await sql.all(
    `select
       (select count(*) from agents a join documents d on d.agent_id = a.id
        where a.owner_id = o.id and a.deleted_at is null and d.status = 'queued' and d.deleted_at is null) as queued,
       coalesce(case when i.started_at > $2 then i.spent_ms end, 0) as spent_ms,
       case when i.waits_until > $3 then i.waits_until end as waits_until
     from owners o left join indexing_windows i on i.owner_id = o.id where o.id = $1`,
    ownerId,
    now - windowMs,
    now,
  )
  return row && { queued: integer(row, 'queued'), spentMs: integer(row, 'spent_ms'), waitsUntil: integerOrNull(row, 'waits_until') }
}

async function documentBacklog(sql: Sql): Promise<DocumentBacklog> {
  const count = (status: string): string =>
    `(select count(*) from documents where status = '${status}' and deleted_at is null) as ${status}`
  const [row] = await sql.all(`select ${count('queued')}, ${count('indexing')}`)
  return { queued: integer(row!, 'queued'), indexing: integer(row!, 'indexing') }
}

export const indexingQueueReads = {
  findOwnerIndexing: read(findOwnerIndexing, { scope: ofOwner((ownerId) => ownerId, undefined), readings: null }),
  documentBacklog: serviceRead(documentBacklog),
}

export const indexingQueueWrites = {
  spendIndexing: serviceWrite(spendIndexing, { audit: null, changesCaches: false }),
}
