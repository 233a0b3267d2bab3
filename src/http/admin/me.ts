/** The admin routes for whoever is signed in: who it is, what it may do, and its name. */
import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { about, answers } from './answers.ts'
import { Name } from './fields.ts'
import { Me } from './operator-answers.ts'
import { Type } from '../edge/schema.ts'
import type { TypedRoutes } from '../edge/typed-routes.ts'

const NameChange = Type.Object({ name: Name }, { additionalProperties: false, examples: [{ name: 'Ada Lovelace' }] })

export const meRoutes: TypedRoutes = async (app) => {
  app.get(
    '/me',
    {
      schema: {
        ...about('Session', 'showMe', 'Get who is signed in', 'The operator or token of this request, with everything that it may do.'),
        response: answers(Me),
      },
    },
    writeMe,
  )

  app.patch(
    '/me',
    {
      schema: {
        ...about('Session', 'changeMe', 'Change your own name', 'For operators. Returns 404 `not_found` for a token.'),
        body: NameChange,
        response: answers(Me, 'not_found'),
      },
    },
    async (request) => {
      await request.admin.renameAccount(request.body.name)
      return writeMe(request)
    },
  )
}

async function writeMe({ principal, session, admin }: FastifyRequest): Promise<Static<typeof Me.ref>> {
  const { who, role, permissions, scope } = principal
  const account = who === 'operator' ? await admin.findAccount() : undefined
  return {
    who,
    id: who === 'admin_token' ? null : principal.id,
    name: account?.name ?? (who === 'admin_token' ? null : principal.name),
    email: account?.email ?? null,
    role,
    permissions: [...permissions],
    owner_id: scope?.ownerId ?? null,
    agent_id: scope?.agentId ?? null,
    has_password: account?.hasPassword ?? false,
    has_company_account: account?.hasCompanyAccount ?? false,
    method: session?.method ?? null,
  }
}
