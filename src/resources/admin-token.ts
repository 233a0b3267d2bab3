/** A token of the admin API for programs. The token itself is no field. */
import { extraPermissions, roleNames } from '../operators/principal.ts'
import { id, one, orNull, setOf, text, time } from './field.ts'
import type { Fields, Given, Resource } from './field.ts'

export const adminTokenFields = {
  id: { kind: id('tok'), example: 'tok_01jd3v9qk8x2m5n7p4r6t8w0ya' },
  name: { kind: text(1, 200), create: 'required', example: 'CI' },
  role: { kind: one(...roleNames), create: 'required', example: 'editor' },
  permissions: {
    kind: setOf(one(...extraPermissions), extraPermissions.length),
    create: 'optional',
    initial: [],
    says: 'Permissions beyond those of the role. `conversations`: read the messages of end users.',
    asks: 'Permissions beyond those of the role. `conversations`: read the messages of end users.',
    example: [],
  },
  ownerId: {
    kind: orNull(id('own')),
    create: 'optional',
    initial: null,
    says: 'Sees only what belongs to this owner. Null: everything.',
    asks: 'Restricts the token to what belongs to this owner.',
    example: null,
  },
  /** With an agent, `ownerId` is the owner of it. */
  agentId: {
    kind: orNull(id('agt')),
    create: 'optional',
    initial: null,
    says: 'Sees only this agent, without its owner. Null: no restriction.',
    asks: 'Restricts the token to this agent, without its owner.',
    example: null,
  },
  createdAt: { kind: time, example: '2026-11-26T09:00:00.000Z' },
  expiresAt: {
    kind: orNull(time),
    create: 'optional',
    initial: null,
    says: 'Null: it does not expire.',
    example: '2027-11-26T09:00:00.000Z',
  },
  revokedAt: { kind: orNull(time), example: null },
  lastUsedAt: { kind: orNull(time), says: 'To the minute. Null: never.', example: null },
} as const satisfies Fields

export type AdminToken = Resource<typeof adminTokenFields>
export type GivenAdminToken = Given<typeof adminTokenFields>
