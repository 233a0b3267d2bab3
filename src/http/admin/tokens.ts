/** The admin routes for tokens for programs. Only the response that creates a token contains it. */
import { adminTokenFields } from '../../resources/admin-token.ts'
import { about, answers, gone, made, pageOf } from './answers.ts'
import { PageQuery, idGiven, readPage, writePage } from './fields.ts'
import { newProperties, readNew, writerOf } from './wire.ts'
import { AdminToken as TokenAnswer, ShownAdminToken } from './operator-answers.ts'
import { Type } from '../edge/schema.ts'
import type { TypedRoutes } from '../edge/typed-routes.ts'

const TokenParams = Type.Object({ id: idGiven('tok', 'Id of the token.') })
const NewToken = Type.Object(newProperties(adminTokenFields), {
  additionalProperties: false,
  examples: [{ name: 'CI', role: 'editor', expires_at: '2027-11-26' }],
})
const writeToken = writerOf(adminTokenFields)

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
      const { text, ...token } = await request.admin.createAdminToken(readNew(adminTokenFields, request.body))
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
