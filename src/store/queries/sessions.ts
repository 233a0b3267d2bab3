/**
 * Sessions of the console: one row for each signed-in browser, with an end by the store's clock (`session.ends`). Contains only a digest of
 * the cookie.
 */
import type { Sql } from '../sql.ts'
import { integer, text } from './columns.ts'

export type Session = { id: string; expiresAt: number }

/** Of the sign-in. `operatorId` is null for the admin token. */
export type NewSession = {
  id: string
  digest: Uint8Array
  operatorId: string | null
  method: 'admin_token' | 'password' | 'passkey' | 'oidc' | 'link'
  address: string | null
  userAgent: string | null
  lifetimeMs: number
}

/** Also deletes ended sessions: sign-ins are rare, and nothing else needs them deleted. */
export async function openSession(
  sql: Sql,
  { id, digest, operatorId, method, address, userAgent, lifetimeMs }: NewSession,
): Promise<Session> {
  const now = await sql.now()
  const expiresAt = now + lifetimeMs
  await sql.run('delete from console_sessions where expires_at <= $1', now)
  await sql.run(
    `insert into console_sessions (digest, id, operator_id, method, address, user_agent, created_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    digest,
    id,
    operatorId,
    method,
    address,
    userAgent,
    now,
    expiresAt,
  )
  return { id, expiresAt }
}

/** Returns whether there was one. */
export async function closeSession(sql: Sql, id: string): Promise<boolean> {
  return (await sql.run('delete from console_sessions where id = $1', id)) > 0
}

/** Returns undefined if it does not exist or has ended. */
export async function findSession(sql: Sql, digest: Uint8Array): Promise<Session | undefined> {
  const [row] = await sql.all('select id, expires_at from console_sessions where digest = $1 and expires_at > $2', digest, await sql.now())
  return row && { id: text(row, 'id'), expiresAt: integer(row, 'expires_at') }
}
