/**
 * What an operator signs in with: the password, an invitation or a link for recovery, and the company account. Each change ends the operator's
 * other sessions in the same transaction, and is refused for a disabled operator.
 */
import type { Role } from '../../operators/principal.ts'
import type { Sql } from '../sql.ts'
import { text } from './columns.ts'
import { endSessions, findOperator, findOperatorByEmail, findOperatorByIdentity, operatorFields } from './operators.ts'
import type { Operator } from './operators.ts'
import { useToken } from './sign-in-secrets.ts'
import type { TokenUse, UsedToken } from './sign-in-secrets.ts'
import { write } from './operation.ts'
import { installation } from './scope.ts'
import { changed, created, differing, when } from './audited-fields.ts'

type TokenRefused = { kind: Exclude<TokenUse, 'accepted'> }

/** The time of a change, later than the one before it, so that a sign-in that was checked before it is refused (`openSession`). */
const later = (now: string): string => `case when updated_at < ${now} then ${now} else updated_at + 1 end`

/**
 * Sets the password of an active operator without a company account, if it still has the hash `before`. Ends every session but `keepSession`.
 * Returns whether it was set.
 */
async function setPassword(
  sql: Sql,
  { operatorId, before, after, keepSession }: { operatorId: string; before: string | null; after: string; keepSession: string | null },
): Promise<boolean> {
  const changedRows = await sql.run(
    `update operators set password_hash = $1, updated_at = ${later('$2')}
      where id = $3 and state = 'active' and oidc_subject is null and coalesce(password_hash, '') = $4`,
    after,
    await sql.now(),
    operatorId,
    before ?? '',
  )
  if (changedRows > 0) await endSessions(sql, operatorId, keepSession)
  return changedRows > 0
}

/** Replaces the hash of the same password by one with other parameters. */
async function upgradePasswordHash(sql: Sql, operatorId: string, before: string, after: string): Promise<boolean> {
  return (await sql.run('update operators set password_hash = $1 where id = $2 and password_hash = $3', after, operatorId, before)) > 0
}

/**
 * `operator.invitation`: uses an invitation: of many uses at the same time one succeeds. Returns the operator, who is active from now on, or undefined. A new password
 * replaces the old one and a company account.
 */
async function acceptInvitation(
  sql: Sql,
  { digest, name, passwordHash }: { digest: Uint8Array; name: string | null; passwordHash: string | null },
): Promise<Operator | undefined> {
  const now = await sql.now()
  const [row] = await sql.all(
    `delete from sign_in_secrets where digest = $1 and purpose = 'invitation' and expires_at > $2 returning operator_id`,
    digest,
    now,
  )
  if (!row) return undefined
  const id = text(row, 'operator_id')
  const changedRows = await sql.run(
    `update operators set state = 'active', name = coalesce($1, name), updated_at = ${later('$2')} where id = $3 and state <> 'disabled'`,
    name,
    now,
    id,
  )
  if (changedRows === 0) return undefined
  if (passwordHash !== null)
    await sql.run('update operators set password_hash = $1, oidc_issuer = null, oidc_subject = null where id = $2', passwordHash, id)
  await endSessions(sql, id)
  return findOperator(sql, id)
}

export type Recovery = { token: UsedToken; id: string; email: string; name: string | null; passwordHash: string }
export type RecoverOutcome = { kind: 'recovered'; operator: Operator } | TokenRefused

/**
 * `operator.recovery`: makes the operator with this email address an active admin without restrictions who signs in with this password alone. Creates it with
 * `id` if no operator has the address.
 */
async function recoverOperator(sql: Sql, { token, id, email, name, passwordHash }: Recovery): Promise<RecoverOutcome> {
  // mutant: operator.recovery
  const use = await useToken(sql, token)
  if (use !== 'accepted') return { kind: use }
  await sql.run(
    `insert into operators (id, email, name, role, state, password_hash, created_at, updated_at)
     values ($1, $2, coalesce($3, $2), 'admin', 'active', $4, $5, $5)
     on conflict (email) do update set role = 'admin', permissions = '[]', owner_id = null, state = 'active', name = coalesce($3, operators.name),
       password_hash = excluded.password_hash, oidc_issuer = null, oidc_subject = null,
       updated_at = case when operators.updated_at < $5 then $5 else operators.updated_at + 1 end`,
    id,
    email,
    name,
    passwordHash,
    await sql.now(),
  )
  const operator = (await findOperatorByEmail(sql, email))!
  await removeOtherSignIns(sql, operator.id)
  return { kind: 'recovered', operator: (await findOperator(sql, operator.id))! }
}

/**
 * `role`: what the provider's claims say: a role, `none` if they name none, and `unmapped` if roles are given here. `id`: of an operator that
 * has to be created.
 */
export type CompanySignIn = {
  issuer: string
  subject: string
  email: string
  name: string
  role: Role | 'none' | 'unmapped'
  id: string
}
export type CompanySignInOutcome =
  | { kind: 'accepted'; operator: Operator }
  | { kind: 'unknown' | 'other_account' | 'disabled' }
  | { kind: 'no_role'; operator: Operator | undefined }

/**
 * Finds the operator of a company account, or gives it to the operator with its email address that has none (`operator.oidc`). Its role
 * follows the claims.
 */
async function signInWithCompany(sql: Sql, given: CompanySignIn): Promise<CompanySignInOutcome> {
  const { issuer, subject, email, role } = given
  if (role !== 'none' && role !== 'unmapped') await createFromClaims(sql, { ...given, role })
  const bound = await findOperatorByIdentity(sql, issuer, subject)
  const found = bound ?? (await findOperatorByEmail(sql, email))
  if (role === 'none') {
    if (bound) await endSessions(sql, bound.id)
    return { kind: 'no_role', operator: bound }
  }
  if (!found) return { kind: 'unknown' }
  if (found.state === 'disabled') return { kind: 'disabled' }
  if (!bound && found.hasCompanyAccount) return { kind: 'other_account' }
  const differs = !bound || (role !== 'unmapped' && role !== found.role)
  if (differs && !(await bind(sql, found.id, { issuer, subject, role: role === 'unmapped' ? found.role : role })))
    return { kind: 'other_account' }
  return { kind: 'accepted', operator: (await findOperator(sql, found.id))! }
}

/** Creates the operator unless its account or its email address is known. */
async function createFromClaims(sql: Sql, { id, email, name, issuer, subject, role }: CompanySignIn & { role: Role }): Promise<void> {
  await sql.run(
    `insert into operators (id, email, name, role, state, oidc_issuer, oidc_subject, created_at, updated_at)
     values ($1, $2, $3, $4, 'active', $5, $6, $7, $7) on conflict do nothing`,
    id,
    email,
    name,
    role,
    issuer,
    subject,
    await sql.now(),
  )
}

/** Returns false if another account was faster, or the operator was disabled in between. */
async function bind(sql: Sql, id: string, { issuer, subject, role }: { issuer: string; subject: string; role: Role }): Promise<boolean> {
  const changedRows = await sql.run(
    `update operators set state = 'active', role = $1, oidc_issuer = $2, oidc_subject = $3, password_hash = null, updated_at = ${later('$4')}
      where id = $5 and state <> 'disabled' and (oidc_subject is null or (oidc_issuer = $2 and oidc_subject = $3))`,
    role,
    issuer,
    subject,
    await sql.now(),
    id,
  )
  if (changedRows > 0) await removeOtherSignIns(sql, id)
  return changedRows > 0
}

async function removeOtherSignIns(sql: Sql, operatorId: string): Promise<void> {
  await sql.run('delete from passkeys where operator_id = $1', operatorId)
  await sql.run('delete from sign_in_secrets where operator_id = $1', operatorId)
  await endSessions(sql, operatorId)
}

export const operatorSignInWrites = {
  acceptInvitation: write(acceptInvitation, {
    scope: installation,
    audit: (operator) => (operator ? when(true, 'accept', 'invitation', operator.id) : []),
    changesCaches: false,
  }),
  recoverOperator: write(recoverOperator, {
    scope: installation,
    before: (sql, [{ email }]) => findOperatorByEmail(sql, email),
    audit: (outcome, _, before) =>
      outcome.kind === 'recovered'
        ? differing('recover', 'operator', outcome.operator.id, before ? operatorFields(before) : {}, operatorFields(outcome.operator))
        : [],
    changesCaches: false,
  }),
  setPassword: write(setPassword, {
    scope: installation,
    audit: (isSet, [{ operatorId: subjectId }]) => (isSet ? [{ verb: 'change', noun: 'operator', subjectId, fields: ['password'] }] : []),
    changesCaches: false,
  }),
  upgradePasswordHash: write(upgradePasswordHash, { scope: installation, audit: null, changesCaches: false }),
  signInWithCompany: write(signInWithCompany, {
    scope: installation,
    before: async (sql, [{ issuer, subject, email }]) =>
      (await findOperatorByIdentity(sql, issuer, subject)) ?? (await findOperatorByEmail(sql, email)),
    audit(outcome, _, before) {
      if (outcome.kind === 'no_role') return outcome.operator ? when(true, 'end_sessions', 'operator', outcome.operator.id) : []
      if (outcome.kind !== 'accepted') return []
      const { operator } = outcome
      return before
        ? changed('operator', operator.id, operatorFields, before, operator)
        : created('operator', operator.id, operatorFields, operator)
    },
    changesCaches: false,
  }),
}
