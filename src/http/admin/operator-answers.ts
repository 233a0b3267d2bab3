/** The schemas of operators, tokens for programs, and the signed-in principal. */
import { extraPermissions, permissions, roles } from '../../operators/principal.ts'
import type { ExtraPermission, Permission, Role } from '../../operators/principal.ts'
import { Count, Time, TimeOrNull, idOf, orNull } from './answer-fields.ts'
import { adminTokenFields } from '../../resources/admin-token.ts'
import { answerProperties, exampleOf } from './wire.ts'
import { define } from '../public/schemas.ts'
import { Type } from '../edge/schema.ts'

export const RoleName = Type.Enum(Object.keys(roles) as Role[])
export const ExtraPermissions = Type.Array(Type.Enum([...extraPermissions] as ExtraPermission[]), {
  description: 'Permissions beyond those of the role. `conversations`: read the messages of end users.',
  uniqueItems: true,
})
const Permissions = Type.Array(Type.Enum(Object.keys(permissions) as Permission[]), { description: 'Everything that it may do.' })
export const OwnerRestriction = Type.Union([idOf('own'), Type.Null()], {
  description: 'Sees only what belongs to this owner. Null: everything.',
})
export const AgentRestriction = Type.Union([idOf('agt'), Type.Null()], {
  description: 'Sees only this agent, without its owner. Null: no restriction.',
})

const operatorFields = {
  id: idOf('opr'),
  email: Type.String(),
  name: Type.String(),
  role: RoleName,
  permissions: ExtraPermissions,
  owner_id: OwnerRestriction,
  state: Type.Enum(['invited', 'active', 'disabled']),
  has_password: Type.Boolean(),
  has_company_account: Type.Boolean({ description: 'Has signed in with the identity provider.' }),
  passkeys: Count,
  created_at: Time,
  updated_at: Time,
  last_sign_in_at: TimeOrNull,
}
export const Operator = define('Operator', Type.Object(operatorFields))
export const Invitation = define(
  'Invitation',
  Type.Object({
    invitation_url: Type.String({ description: 'For this operator only. Shown once, and accepted once.' }),
    invitation_expires_at: Time,
  }),
)
export const InvitedOperator = define('InvitedOperator', Type.Object({ ...operatorFields, ...Invitation.schema.properties }))

const tokenFields = answerProperties(adminTokenFields)
export const AdminToken = define('AdminToken', Type.Object(tokenFields))
export const ShownAdminToken = define(
  'ShownAdminToken',
  Type.Object({ ...tokenFields, token: Type.String({ description: 'For `Authorization: Bearer`. Shown once.' }) }),
)

export const Me = define(
  'Me',
  Type.Object({
    who: Type.Enum(['admin_token', 'operator', 'token']),
    id: orNull(Type.String()),
    name: orNull(Type.String()),
    email: orNull(Type.String()),
    role: RoleName,
    permissions: Permissions,
    owner_id: OwnerRestriction,
    agent_id: AgentRestriction,
    has_password: Type.Boolean(),
    has_company_account: Type.Boolean(),
    method: Type.Union([Type.Enum(['admin_token', 'password', 'passkey', 'oidc', 'link']), Type.Null()], {
      description: 'How the session began. `link`: an invitation or a recovery link. Null for a token.',
    }),
  }),
)

export const operatorSchemas = [Operator, Invitation, InvitedOperator, AdminToken, ShownAdminToken, Me]

const time = '2026-11-26T09:00:00.000Z'
const operator = {
  id: 'opr_01jd3v9qk8x2m5n7p4r6t8w0ya',
  email: 'ada@acme.example',
  name: 'Ada',
  role: 'editor',
  permissions: [],
  owner_id: null,
  state: 'active',
  has_password: true,
  has_company_account: false,
  passkeys: 1,
  created_at: time,
  updated_at: time,
  last_sign_in_at: time,
}
const invitation = {
  invitation_url: 'https://turnkeep.acme.example/console/invitation#svc_invite_<secret>',
  invitation_expires_at: '2026-12-03T09:00:00.000Z',
}
const token = exampleOf(adminTokenFields)
export const operatorExamples: Record<string, object> = {
  Operator: operator,
  Invitation: invitation,
  InvitedOperator: {
    ...operator,
    state: 'invited',
    has_password: false,
    passkeys: 0,
    last_sign_in_at: null,
    ...invitation,
  },
  AdminToken: token,
  ShownAdminToken: { ...token, token: 'svc_admin_<secret>' },
  Me: {
    who: 'operator',
    id: operator.id,
    name: operator.name,
    email: operator.email,
    role: 'viewer',
    permissions: ['read'],
    owner_id: null,
    agent_id: null,
    has_password: true,
    has_company_account: false,
    method: 'password',
  },
}
