/** The content of documents, in parts. The indexer reads it, and clearing.ts deletes what no document has. */
import type { Sql } from '../../sql.ts'
import { bytes as bytesOf } from '../columns.ts'
import { serviceRead, write } from '../operation.ts'
import { unrestricted } from '../scope.ts'

/** At most 256 KiB, so that no write occupies the embedded store's writer for long. Sending a part again replaces it. */
export type ContentPart = { contentId: string; part: number; bytes: Uint8Array }

/** As in the schema, `content_parts_are_small`: no write occupies the store's only writer for longer than the commit of this many bytes. */
const maxPart = 256 * 1024

/** Splits content into parts for `putContentPart`. Empty content has one part. */
export function partsOf(contentId: string, content: Uint8Array): ContentPart[] {
  return Array.from({ length: Math.max(1, Math.ceil(content.length / maxPart)) }, (_, part) => ({
    contentId,
    part,
    bytes: content.subarray(part * maxPart, (part + 1) * maxPart),
  }))
}

export async function putContentPart(sql: Sql, { contentId, part, bytes }: ContentPart): Promise<void> {
  await sql.run(
    `insert into contents (id, unused_since) values ($1, $2)
     on conflict (id) do update set unused_since = excluded.unused_since where contents.document_id is null`,
    contentId,
    await sql.now(),
  )
  await sql.run(
    'insert into content_parts (content_id, part, bytes) values ($1, $2, $3) on conflict (content_id, part) do update set bytes = excluded.bytes',
    contentId,
    part,
    bytes,
  )
}

/** Returns undefined after the last one. */
async function readContentPart(sql: Sql, contentId: string, part: number): Promise<Uint8Array | undefined> {
  const [row] = await sql.all('select bytes from content_parts where content_id = $1 and part = $2', contentId, part)
  return row && bytesOf(row, 'bytes')
}

export const contentReads = {
  readContentPart: serviceRead(readContentPart),
}

export const contentWrites = {
  putContentPart: write(putContentPart, {
    // Content of a document that does not exist yet. Its ID is new, and never one that a caller sends.
    scope: unrestricted,
    audit: null,
    changesCaches: false,
  }),
}
