/** Operators, who sign in to the console: invited by link, with a role. docs/operate/operators.md describes the roles. */
import { hash } from 'node:crypto'
import type { RandomBytes } from '../access/api-key.ts'
import { ApiError, invalid } from '../errors.ts'
import type { Ids } from '../ids.ts'
import { normalizedEmail } from '../operators/email.ts'
import type { ExtraPermission, Role } from '../operators/principal.ts'
import type { Operator, OperatorChange } from '../store/queries/operators.ts'
import { pageOf, pageRequest } from '../store/queries/paging.ts'
import type { Page, PageWanted } from '../store/queries/paging.ts'
import type { PerRequest } from './admin-store.ts'

export type NewOperator = { email: string; name: string; role: Role; permissions: ExtraPermission[]; ownerId: string | null }

/** `token` is for the link, shown once and accepted once, until `expiresAt`. */
export type Invited = { operator: Operator; token: string; expiresAt: number }

/** Each throws ApiError `not_found` for an operator that does not exist. */
export type OperatorsAdmin = {
  /** Throws ApiError `conflict` for an email address that an operator has, and `validation_error` for an unknown owner. */
  createOperator(given: NewOperator): Promise<Invited>
  /** A new link, with which the operator can choose a new password. Earlier links end. Throws ApiError `conflict` for a disabled operator. */
  inviteOperator(id: string): Promise<Invited>
  /** Newest first. */
  listOperators(page: PageWanted): Promise<Page<Operator>>
  findOperator(id: string): Promise<Operator>
  /**
   * If this changes what the operator may do, its sessions end. Throws ApiError `conflict` if no operator would be left who can manage
   * operators.
   */
  changeOperator(id: string, change: OperatorChange): Promise<Operator>
  /** With its sessions, passkeys and links. Throws as `changeOperator`. */
  removeOperator(id: string): Promise<void>
}

// Longer than a weekend and a day off, short enough that a forgotten link does not stay open.
const invitationMs = 7 * 24 * 60 * 60 * 1000
const invitationPrefix = 'svc_invite_'

/** What the store keeps of an invitation. */
export const digestOfInvitation = (token: string): Uint8Array => hash('sha256', `invitation ${token}`, 'buffer')

type Options = { newId: Ids['newId']; randomBytes: RandomBytes }

export function createOperatorsAdmin({ newId, randomBytes }: Options): PerRequest<OperatorsAdmin> {
  function newInvitation(): { token: string; invitation: { digest: Uint8Array; lifetimeMs: number } } {
    const token = invitationPrefix + Buffer.from(randomBytes(32)).toString('base64url')
    return { token, invitation: { digest: digestOfInvitation(token), lifetimeMs: invitationMs } }
  }

  return {
    async createOperator({ store }, { email, ...given }) {
      const { token, invitation } = newInvitation()
      const outcome = await store.write.createOperator({ id: newId('opr'), email: readEmail(email), ...given, invitation })
      switch (outcome.kind) {
        case 'created':
          return { operator: outcome.operator, token, expiresAt: outcome.expiresAt }
        case 'email_taken':
          throw new ApiError('conflict', 'An operator with this email address exists.', { param: 'email' })
        case 'owner_not_found':
          throw noSuchOwner()
      }
    },

    async inviteOperator({ store }, id) {
      const { token, invitation } = newInvitation()
      const invited = await store.write.inviteOperator(id, invitation)
      if (invited) return { ...invited, token }
      if (await store.read.findOperator(id)) throw new ApiError('conflict', 'This operator is disabled. Enable it first.')
      throw noSuchOperator()
    },

    listOperators: async ({ store }, page) => pageOf(await store.read.listOperators(pageRequest(page)), page),

    async findOperator({ store }, id) {
      const operator = await store.read.findOperator(id)
      if (!operator) throw noSuchOperator()
      return operator
    },

    async changeOperator({ store }, id, change) {
      const outcome = await store.write.changeOperator(id, change)
      switch (outcome.kind) {
        case 'changed':
          return outcome.operator
        case 'not_found':
          throw noSuchOperator()
        case 'last_admin':
          throw lastAdmin()
        case 'owner_not_found':
          throw noSuchOwner()
      }
    },

    async removeOperator({ store }, id) {
      const { kind } = await store.write.removeOperator(id)
      if (kind === 'not_found') throw noSuchOperator()
      if (kind === 'last_admin') throw lastAdmin()
    },
  }
}

/** In lower case. Throws ApiError `validation_error`. What an address is, is decided by the server that gets mail for it. */
export function readEmail(given: string): string {
  const email = normalizedEmail(given)
  if (email === undefined || !/^[^\s@<>(),;:"\\]+@[^\s@<>(),;:"\\]+\.[^\s@<>(),;:"\\]+$/.test(email))
    throw invalid('email', 'email must be an email address.')
  return email
}

const noSuchOperator = (): ApiError => new ApiError('not_found', 'This operator does not exist.')
const noSuchOwner = (): ApiError => invalid('owner_id', 'owner_id: this owner does not exist.')
const lastAdmin = (): ApiError =>
  new ApiError('conflict', 'This is the only active operator with the role admin. Make another operator an admin first.')
