/**
 * Operators: the people who sign in to the console, with their roles. What they sign in with is in passkeys.ts and sign-in-secrets.ts. Every
 * change of what an operator may do ends its sessions in the same transaction (`operator.change`). Writes outside the turn path run one after the
 * other, in all processes, so a check within a write holds until its commit.
 */
import { extraPermissions, roles } from '../../operators/principal.ts'
import type { ExtraPermission, Role } from '../../operators/principal.ts'
import type { Row, Sql } from '../sql.ts'
import { integer, integerOrNull, text, textOrNull } from './columns.ts'
import type { PageRequest } from './paging.ts'
import { read, write } from './operation.ts'
import { installation } from './scope.ts'
import { changed, created, differing, when } from './audited-fields.ts'
import type { AuditedFields } from './audited-fields.ts'

/** `invited`: has not signed in yet, or must choose a new password. Only an `active` operator has sessions. */
export type OperatorState = 'invited' | 'active' | 'disabled'

export type Operator = {
  id: string
  /** In lower case. */
  email: string
  name: string
  role: Role
  permissions: ExtraPermission[]
  /** Null: not restricted to an owner. */
  ownerId: string | null
  state: OperatorState
  hasPassword: boolean
  hasCompanyAccount: boolean
  passkeys: number
  createdAt: number
  updatedAt: number
  lastSignInAt: number | null
}

export type Invitation = { digest: Uint8Array; lifetimeMs: number }
export type NewOperator = Pick<Operator, 'id' | 'email' | 'name' | 'role' | 'permissions' | 'ownerId'> & { invitation: Invitation }
export type OperatorChange = Partial<Pick<Operator, 'name' | 'role' | 'permissions' | 'ownerId'>> & { enabled?: boolean }

/** `expiresAt`: the end of the link. */
export type Invited = { operator: Operator; expiresAt: number }

type NotFound = { kind: 'not_found' }
/** The only operator who can manage operators would no longer be one. */
type LastAdmin = { kind: 'last_admin' }
type OwnerNotFound = { kind: 'owner_not_found' }
export type CreateOperatorOutcome = ({ kind: 'created' } & Invited) | { kind: 'email_taken' } | OwnerNotFound
export type ChangeOperatorOutcome = { kind: 'changed'; operator: Operator } | NotFound | LastAdmin | OwnerNotFound
export type RemoveOperatorOutcome = { kind: 'removed'; operator: Operator } | NotFound | LastAdmin

async function createOperator(sql: Sql, given: NewOperator): Promise<CreateOperatorOutcome> {
  const { id, email, name, role, permissions, ownerId, invitation } = given
  if (ownerId !== null && !(await hasOwner(sql, ownerId))) return { kind: 'owner_not_found' }
  const createdRows = await sql.run(
    `insert into operators (id, email, name, role, permissions, owner_id, state, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, 'invited', $7, $7) on conflict (email) do nothing`,
    id,
    email,
    name,
    role,
    JSON.stringify(permissions),
    ownerId,
    await sql.now(),
  )
  if (createdRows === 0) return { kind: 'email_taken' }
  const expiresAt = await addInvitation(sql, id, invitation)
  return { kind: 'created', operator: (await findOperator(sql, id))!, expiresAt }
}

/** Replaces earlier invitations. Undefined if the operator does not exist or is disabled. */
async function inviteOperator(sql: Sql, id: string, invitation: Invitation): Promise<Invited | undefined> {
  const known = await sql.run(`update operators set updated_at = updated_at where id = $1 and state <> 'disabled'`, id)
  if (known === 0) return undefined
  await sql.run(`delete from sign_in_secrets where operator_id = $1 and purpose = 'invitation'`, id)
  const expiresAt = await addInvitation(sql, id, invitation)
  return { operator: (await findOperator(sql, id))!, expiresAt }
}

/** Ends the operator's sessions and links if it may do something else from now on. */
async function changeOperator(sql: Sql, id: string, change: OperatorChange): Promise<ChangeOperatorOutcome> {
  const present = await findOperator(sql, id)
  if (!present) return { kind: 'not_found' }
  const next = { ...present, ...change }
  if (next.ownerId !== null && !(await hasOwner(sql, next.ownerId))) return { kind: 'owner_not_found' }
  const state = change.enabled === undefined ? present.state : stateOf(present, change.enabled)
  if (isAdmin(present) && !isAdmin({ ...next, state }) && !(await hasAdmin(sql, id))) return { kind: 'last_admin' }
  await sql.run(
    'update operators set name = $1, role = $2, permissions = $3, owner_id = $4, state = $5, updated_at = $6 where id = $7',
    next.name,
    next.role,
    JSON.stringify(next.permissions),
    next.ownerId,
    state,
    // Always later, so that a sign-in that was checked before is refused (`openSession`).
    Math.max(await sql.now(), present.updatedAt + 1),
    id,
  )
  if (isOtherAccess(present, { ...next, state })) await endSessions(sql, id)
  if (state === 'disabled') await sql.run('delete from sign_in_secrets where operator_id = $1', id)
  return { kind: 'changed', operator: (await findOperator(sql, id))! }
}

/** With its passkeys, sessions and links. The audit log keeps its name. */
async function removeOperator(sql: Sql, id: string): Promise<RemoveOperatorOutcome> {
  const operator = await findOperator(sql, id)
  if (!operator) return { kind: 'not_found' }
  if (isAdmin(operator) && !(await hasAdmin(sql, id))) return { kind: 'last_admin' }
  await endSessions(sql, id)
  await sql.run('delete from sign_in_secrets where operator_id = $1', id)
  await sql.run('delete from passkeys where operator_id = $1', id)
  await sql.run('delete from operators where id = $1', id)
  return { kind: 'removed', operator }
}

export async function findOperator(sql: Sql, id: string): Promise<Operator | undefined> {
  const [row] = await sql.all(`select ${columns} from operators where id = $1`, id)
  return row && readOperator(row)
}

/** For a sign-in with a password. */
export async function findOperatorByEmail(sql: Sql, email: string): Promise<(Operator & { passwordHash: string | null }) | undefined> {
  const [row] = await sql.all(`select ${columns} from operators where email = $1`, email)
  return row && { ...readOperator(row), passwordHash: textOrNull(row, 'password_hash') }
}

/** For a sign-in with the company's identity provider. */
export async function findOperatorByIdentity(sql: Sql, issuer: string, subject: string): Promise<Operator | undefined> {
  const [row] = await sql.all(`select ${columns} from operators where oidc_issuer = $1 and oidc_subject = $2`, issuer, subject)
  return row && readOperator(row)
}

/** Newest first. */
async function listOperators(sql: Sql, { limit, before }: PageRequest): Promise<Operator[]> {
  const rows = await sql.all(
    `select ${columns} from operators where (created_at, id) < ($1, $2) order by created_at desc, id desc limit $3`,
    before.createdAt,
    before.id,
    limit,
  )
  return rows.map(readOperator)
}

/** Ends every session of the operator but `keep`. Returns how many. */
export async function endSessions(sql: Sql, operatorId: string, keep: string | null = null): Promise<number> {
  return sql.run('delete from console_sessions where operator_id = $1 and id <> $2', operatorId, keep ?? '')
}

async function addInvitation(sql: Sql, operatorId: string, { digest, lifetimeMs }: Invitation): Promise<number> {
  const now = await sql.now()
  await sql.run(
    `insert into sign_in_secrets (digest, purpose, operator_id, created_at, expires_at) values ($1, 'invitation', $2, $3, $4)`,
    digest,
    operatorId,
    now,
    now + lifetimeMs,
  )
  return now + lifetimeMs
}

const admins = `role = 'admin' and state = 'active' and owner_id is null`

async function hasAdmin(sql: Sql, besides: string): Promise<boolean> {
  return (await sql.all(`select id from operators where ${admins} and id <> $1 limit 1`, besides)).length > 0
}

const hasOwner = async (sql: Sql, id: string): Promise<boolean> => (await sql.all('select id from owners where id = $1', id)).length > 0

const isAdmin = ({ role, state, ownerId }: Pick<Operator, 'role' | 'state' | 'ownerId'>): boolean =>
  role === 'admin' && state === 'active' && ownerId === null

function stateOf(operator: Operator, isEnabled: boolean): OperatorState {
  if (!isEnabled) return 'disabled'
  return operator.hasPassword || operator.hasCompanyAccount || operator.passkeys > 0 ? 'active' : 'invited'
}

const isOtherAccess = (before: Operator, after: Operator): boolean =>
  before.role !== after.role ||
  before.ownerId !== after.ownerId ||
  before.state !== after.state ||
  before.permissions.join() !== after.permissions.join()

const columns = `id, email, name, role, permissions, owner_id, state, password_hash, oidc_subject,
  (select count(*) from passkeys where operator_id = operators.id) as passkeys, created_at, updated_at, last_sign_in_at`

const readOperator = (row: Row): Operator => ({
  id: text(row, 'id'),
  email: text(row, 'email'),
  name: text(row, 'name'),
  ...readAccess(row),
  state: text(row, 'state') as OperatorState,
  hasPassword: row['password_hash'] !== null,
  hasCompanyAccount: row['oidc_subject'] !== null,
  passkeys: integer(row, 'passkeys'),
  createdAt: integer(row, 'created_at'),
  updatedAt: integer(row, 'updated_at'),
  lastSignInAt: integerOrNull(row, 'last_sign_in_at'),
})

/** What an operator or a token may do. Throws for a role or permission that this version does not know. */
export function readAccess(row: Row): Pick<Operator, 'role' | 'permissions' | 'ownerId'> {
  const role = text(row, 'role')
  if (!(role in roles)) throw new Error(`an operator or token has an unknown role: ${role}`)
  const permissions = JSON.parse(text(row, 'permissions')) as ExtraPermission[]
  if (!permissions.every((one) => extraPermissions.includes(one)))
    throw new Error(`an operator or token has an unknown permission: ${permissions.join(', ')}`)
  return { role: role as Role, permissions, ownerId: textOrNull(row, 'owner_id') }
}

export const operatorFields = ({ name, email, role, permissions, ownerId, state, ...signIn }: Operator): AuditedFields => ({
  name,
  email,
  role,
  permissions,
  owner_id: ownerId,
  state,
  has_password: signIn.hasPassword,
  has_company_account: signIn.hasCompanyAccount,
})

export const operatorReads = {
  findOperator: read(findOperator, { scope: installation, readings: null }),
  findOperatorByEmail: read(findOperatorByEmail, { scope: installation, readings: null }),
  findOperatorByIdentity: read(findOperatorByIdentity, { scope: installation, readings: null }),
  listOperators: read(listOperators, { scope: installation, readings: null }),
}

export const operatorWrites = {
  createOperator: write(createOperator, {
    scope: installation,
    audit: (outcome) => (outcome.kind === 'created' ? created('operator', outcome.operator.id, operatorFields, outcome.operator) : []),
    changesCaches: false,
  }),
  inviteOperator: write(inviteOperator, {
    scope: installation,
    audit: (operator, [id]) => when(operator, 'invite', 'operator', id),
    changesCaches: false,
  }),
  changeOperator: write(changeOperator, {
    scope: installation,
    before: (sql, [id]) => findOperator(sql, id),
    audit: (outcome, [id], before) => changed('operator', id, operatorFields, before, outcome.kind === 'changed' && outcome.operator),
    changesCaches: false,
  }),
  removeOperator: write(removeOperator, {
    scope: installation,
    audit: (outcome, [id]) => (outcome.kind === 'removed' ? differing('remove', 'operator', id, operatorFields(outcome.operator), {}) : []),
    changesCaches: false,
  }),
  endSessions: write(endSessions, {
    scope: installation,
    audit: (ended, [id]) => when(ended, 'end_sessions', 'operator', id),
    changesCaches: false,
  }),
}
