/** Runs a write of writes.ts with its audit entries. */
import type { Sql } from '../sql.ts'
import { addAuditEntries } from './audit.ts'
import type { Author } from './audit.ts'
import type { Write } from './operation.ts'
import { writes } from './writes.ts'
import type { Writes } from './writes.ts'

export type WriteCall = { name: keyof Writes; args: unknown[]; author: Author | undefined }

/** Runs a write and adds its audit entries if it has an author. Call it inside one transaction. */
export async function performWrite(sql: Sql, { name, args, author }: WriteCall): Promise<unknown> {
  const { run, before, audit } = writes[name] as unknown as Write<(sql: Sql, ...args: unknown[]) => unknown>
  if (!author || !audit) return run(sql, ...args)
  const earlier = await before?.(sql, args, author)
  const result = await run(sql, ...args)
  await addAuditEntries(sql, author, audit(result, args, earlier))
  return result
}
