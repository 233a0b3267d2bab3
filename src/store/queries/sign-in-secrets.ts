/**
 * What may be used once at a sign-in. An invitation is stored until it is used. Signed tokens (src/operators/signed-tokens.ts) are stored from
 * their use until they would have expired (`operator.single-use`). Using either is one statement, so of many uses at the same time one succeeds. Only digests are
 * stored.
 */
import type { Sql } from '../sql.ts'
import { integer } from './columns.ts'
import { findOperator } from './operators.ts'
import type { Operator } from './operators.ts'
import { read, write } from './operation.ts'
import { installation } from './scope.ts'

export type UsedToken = { digest: Uint8Array; expiresAt: number }
export type TokenUse = 'accepted' | 'used' | 'expired'

/** Uses a signed token. Also forgets those that have expired: sign-ins are rare, and nothing else needs them deleted. */
export async function useToken(sql: Sql, { digest, expiresAt }: UsedToken): Promise<TokenUse> {
  const now = await sql.now()
  await sql.run('delete from sign_in_secrets where expires_at <= $1', now)
  if (expiresAt <= now) return 'expired'
  const stored = await sql.run(
    `insert into sign_in_secrets (digest, purpose, created_at, expires_at) values ($1, 'used', $2, $3) on conflict (digest) do nothing`,
    digest,
    now,
    expiresAt,
  )
  return stored > 0 ? 'accepted' : 'used'
}

/** Whether a signed token would be accepted now. Only `useToken` decides: others may use it at the same time. */
async function isTokenUnused(sql: Sql, { digest, expiresAt }: UsedToken): Promise<boolean> {
  if (expiresAt <= (await sql.now())) return false
  return (await sql.all('select digest from sign_in_secrets where digest = $1', digest)).length === 0
}

/** Returns undefined for an invitation that does not exist, was used or has expired, and if its operator is disabled. */
async function findInvitation(sql: Sql, digest: Uint8Array): Promise<{ operator: Operator; expiresAt: number } | undefined> {
  const [row] = await sql.all(
    `select operator_id, expires_at from sign_in_secrets where digest = $1 and purpose = 'invitation' and expires_at > $2`,
    digest,
    await sql.now(),
  )
  const operator = row && (await findOperator(sql, String(row['operator_id'])))
  return operator && operator.state !== 'disabled' ? { operator, expiresAt: integer(row, 'expires_at') } : undefined
}

export const signInSecretReads = {
  findInvitation: read(findInvitation, { scope: installation, readings: null }),
  isTokenUnused: read(isTokenUnused, { scope: installation, readings: null }),
}

export const signInSecretWrites = {
  // Before the identity provider is asked, so there is no one yet whom an entry could name.
  useSignInState: write(useToken, { scope: installation, audit: null, changesCaches: false }),
}
