/** The admin routes for operators. An invitation link is only in the response to the request that created it. */
import type { IncomingMessage } from 'node:http'
import type { Static } from 'typebox'
import type { AdminCalls } from '../../admin/admin.ts'
import { about, answers, gone, made, pageOf } from './answers.ts'
import { EmptyBody, Name, PageQuery, idGiven, readPage, wellFormed, writePage, writeTime, writeTimeOrNull } from './fields.ts'
import { ExtraPermissions, Invitation, InvitedOperator, Operator as OperatorAnswer, RoleName } from './operator-answers.ts'
import { Type } from '../edge/schema.ts'
import type { TypedRoutes } from '../edge/typed-routes.ts'

type Operator = Awaited<ReturnType<AdminCalls['findOperator']>>
type Invited = Awaited<ReturnType<AdminCalls['createOperator']>>

export type OperatorRoutesOptions = { consoleUrl: (request: IncomingMessage) => string }

const closed = { additionalProperties: false } as const
const OperatorParams = Type.Object({ id: idGiven('opr', 'Id of the operator.') })
const OwnerRestriction = Type.Union([idGiven('own', 'Restricts the operator to what belongs to this owner.'), Type.Null()])
const NewOperator = Type.Object(
  {
    email: wellFormed({ minLength: 3, maxLength: 254 }),
    name: Name,
    role: RoleName,
    permissions: Type.Optional(ExtraPermissions),
    owner_id: Type.Optional(OwnerRestriction),
  },
  { ...closed, examples: [{ email: 'ada@acme.example', name: 'Ada', role: 'editor' }] },
)
const OperatorChange = Type.Object(
  {
    name: Type.Optional(Name),
    role: Type.Optional(RoleName),
    permissions: Type.Optional(ExtraPermissions),
    owner_id: Type.Optional(OwnerRestriction),
    enabled: Type.Optional(Type.Boolean({ description: 'False: the operator can no longer sign in.' })),
  },
  { ...closed, examples: [{ role: 'viewer', permissions: ['conversations'] }] },
)

export const operatorRoutes: TypedRoutes<OperatorRoutesOptions> = async (app, { consoleUrl }) => {
  const writeLink = (request: IncomingMessage, { token, expiresAt }: Invited): Static<typeof Invitation.ref> => ({
    invitation_url: `${consoleUrl(request)}/console/invitation#${token}`,
    invitation_expires_at: writeTime(expiresAt),
  })

  app.post(
    '/operators',
    {
      schema: {
        ...about(
          'Operators',
          'createOperator',
          'Invite an operator',
          'Returns a link for this person, shown once and valid for 7 days. No email is sent. Returns 409 `conflict` if an operator has the email address.',
        ),
        body: NewOperator,
        response: made(InvitedOperator, 'conflict'),
      },
    },
    async (request, reply) => {
      const { email, name, role, permissions = [], owner_id: ownerId = null } = request.body
      const invited = await request.admin.createOperator({ email, name, role, permissions, ownerId })
      return reply.code(201).send({ ...writeOperator(invited.operator), ...writeLink(request.raw, invited) })
    },
  )

  app.get(
    '/operators',
    {
      schema: {
        ...about('Operators', 'listOperators', 'List operators, newest first', 'Passwords, passkeys and links are not returned.'),
        querystring: PageQuery,
        response: answers(pageOf(OperatorAnswer)),
      },
    },
    async (request) => writePage(await request.admin.listOperators(readPage(request.query)), writeOperator),
  )

  app.get(
    '/operators/:id',
    {
      schema: {
        ...about('Operators', 'findOperator', 'Get an operator', 'With its role, its state and how it can sign in.'),
        params: OperatorParams,
        response: answers(OperatorAnswer, 'not_found'),
      },
    },
    async (request) => writeOperator(await request.admin.findOperator(request.params.id)),
  )

  app.patch(
    '/operators/:id',
    {
      schema: {
        ...about(
          'Operators',
          'changeOperator',
          'Update an operator',
          'Omitted fields are unchanged. A change of what the operator may do ends its sessions immediately. Returns 409 `conflict` if no active operator with the role `admin` and without a restriction would be left.',
        ),
        params: OperatorParams,
        body: OperatorChange,
        response: answers(OperatorAnswer, 'not_found', 'conflict'),
      },
    },
    async (request) => {
      const { name, role, permissions, owner_id: ownerId, enabled } = request.body
      const given = { name, role, permissions, ownerId, enabled }
      const change = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
      return writeOperator(await request.admin.changeOperator(request.params.id, change))
    },
  )

  app.delete(
    '/operators/:id',
    {
      schema: {
        ...about(
          'Operators',
          'removeOperator',
          'Remove an operator',
          'Ends its sessions immediately, and deletes its password, passkeys and links. The audit log keeps its name. Returns 409 `conflict` as for an update.',
        ),
        params: OperatorParams,
        response: gone('not_found', 'conflict'),
      },
    },
    async (request, reply) => {
      await request.admin.removeOperator(request.params.id)
      return reply.code(204).send()
    },
  )

  app.post(
    '/operators/:id/invite',
    {
      schema: {
        ...about(
          'Operators',
          'inviteOperator',
          'Create a new link for an operator',
          'With it, the operator chooses a new password. Earlier links stop working. Returns 409 `conflict` for a disabled operator.',
        ),
        params: OperatorParams,
        body: EmptyBody,
        response: made(Invitation, 'not_found', 'conflict'),
      },
    },
    async (request, reply) => reply.code(201).send(writeLink(request.raw, await request.admin.inviteOperator(request.params.id))),
  )

  app.delete(
    '/operators/:id/sessions',
    {
      schema: {
        ...about(
          'Operators',
          'endSessionsOfOperator',
          'Sign an operator out everywhere',
          'Ends every session of the operator immediately.',
        ),
        params: OperatorParams,
        response: gone('not_found'),
      },
    },
    async (request, reply) => {
      await request.admin.findOperator(request.params.id)
      await request.admin.closeSessions(request.params.id)
      return reply.code(204).send()
    },
  )
}

const writeOperator = (operator: Operator): Static<typeof OperatorAnswer.ref> => ({
  id: operator.id,
  email: operator.email,
  name: operator.name,
  role: operator.role,
  permissions: operator.permissions,
  owner_id: operator.ownerId,
  state: operator.state,
  has_password: operator.hasPassword,
  has_company_account: operator.hasCompanyAccount,
  passkeys: operator.passkeys,
  created_at: writeTime(operator.createdAt),
  updated_at: writeTime(operator.updatedAt),
  last_sign_in_at: writeTimeOrNull(operator.lastSignInAt),
})
