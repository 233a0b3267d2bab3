/** The admin routes for tokens for programs. Only the response that creates a token contains it. */
import type { Static } from 'typebox'
import type { AdminCalls } from '../../admin/admin.ts'
import { about, answers, gone, made, pageOf } from './answers.ts'
import { Moment, Name, PageQuery, idGiven, readMoment, readPage, writePage, writeTime, writeTimeOrNull } from './fields.ts'
import { AdminToken as TokenAnswer, ExtraPermissions, RoleName, ShownAdminToken } from './operator-answers.ts'
import { Type } from '../edge/schema.ts'
import type { TypedRoutes } from '../edge/typed-routes.ts'

type AdminToken = Awaited<ReturnType<AdminCalls['findAdminToken']>>

const TokenParams = Type.Object({ id: idGiven('tok', 'Id of the token.') })
const NewToken = Type.Object(
  {
    name: Name,
    role: RoleName,
    permissions: Type.Optional(ExtraPermissions),
    owner_id: Type.Optional(Type.Union([idGiven('own', 'Restricts the token to what belongs to this owner.'), Type.Null()])),
    agent_id: Type.Optional(Type.Union([idGiven('agt', 'Restricts the token to this agent, without its owner.'), Type.Null()])),
    expires_at: Type.Optional(Type.Union([Moment, Type.Null()])),
  },
  { additionalProperties: false, examples: [{ name: 'CI', role: 'editor', expires_at: '2027-11-26' }] },
)

export const tokenRoutes: TypedRoutes = async (app) => {
  app.post(
    '/tokens',
    {
      schema: {
        ...about(
          'Tokens',
          'createToken',
          'Create a token for a program',
          'Only this response contains the token. Send it as `Authorization: Bearer`, or set it as `TURNKEEP_ADMIN_TOKEN` for the command line. Without `expires_at` it does not expire.',
        ),
        body: NewToken,
        response: made(ShownAdminToken),
      },
    },
    async (request, reply) => {
      const { name, role, permissions = [], owner_id: ownerId = null, agent_id: agentId = null, expires_at } = request.body
      const expiresAt = readMoment('expires_at', expires_at ?? undefined) ?? null
      const { text, ...token } = await request.admin.createAdminToken({ name, role, permissions, ownerId, agentId, expiresAt })
      return reply.code(201).send({ ...writeToken(token), token: text })
    },
  )

  app.get(
    '/tokens',
    {
      schema: {
        ...about(
          'Tokens',
          'listTokens',
          'List tokens for programs, newest first',
          'Includes revoked and expired ones. The tokens are not returned.',
        ),
        querystring: PageQuery,
        response: answers(pageOf(TokenAnswer)),
      },
    },
    async (request) => writePage(await request.admin.listAdminTokens(readPage(request.query)), writeToken),
  )

  app.get(
    '/tokens/:id',
    {
      schema: {
        ...about('Tokens', 'findToken', 'Get a token for a program', 'The token itself is not returned.'),
        params: TokenParams,
        response: answers(TokenAnswer, 'not_found'),
      },
    },
    async (request) => writeToken(await request.admin.findAdminToken(request.params.id)),
  )

  app.delete(
    '/tokens/:id',
    {
      schema: {
        ...about('Tokens', 'revokeToken', 'Revoke a token for a program', 'Permanent. Takes effect immediately on every process.'),
        params: TokenParams,
        response: gone('not_found'),
      },
    },
    async (request, reply) => {
      await request.admin.revokeAdminToken(request.params.id)
      return reply.code(204).send()
    },
  )
}

const writeToken = (token: AdminToken): Static<typeof TokenAnswer.ref> => ({
  id: token.id,
  name: token.name,
  role: token.role,
  permissions: token.permissions,
  owner_id: token.ownerId,
  agent_id: token.agentId,
  created_at: writeTime(token.createdAt),
  expires_at: writeTimeOrNull(token.expiresAt),
  revoked_at: writeTimeOrNull(token.revokedAt),
  last_used_at: writeTimeOrNull(token.lastUsedAt),
})
