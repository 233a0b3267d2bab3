/**
 * Both API descriptions as a server returns them at /openapi.json and /admin/v1/openapi.json, generated from the source's schemas by an
 * HTTP layer that never listens, so no rate window or metric changes. test/contract/answer-check.test.ts compares them with those of a real
 * server.
 */
import { adminTokenPrincipal } from '../../src/operators/principal.ts'
import { fastify } from 'fastify'
import { createUnreadResponses } from '../../src/http/public/unread-responses.ts'
import { adminRoutes } from '../../src/http/admin/routes.ts'
import { namedSchemas } from '../../src/http/public/schemas.ts'
import { chatRoutes } from '../../src/http/public/chat-routes.ts'
import { conversationRoutes } from '../../src/http/public/conversation-routes.ts'
import { turnRoutes } from '../../src/http/public/turn-routes.ts'
import { conversationSchemas } from '../../src/http/public/conversation-schemas.ts'
import { turnSchemas } from '../../src/http/public/turn-schemas.ts'
import { lateValidators } from '../../src/http/edge/late-validators.ts'
import { describeApi } from '../../src/http/public/openapi.ts'
import type { Descriptions } from './answer-check.ts'

/** An HTTP layer that compiles nothing. */
export const idleLayer = () =>
  fastify({
    schemaController: { compilersFactory: { buildValidator: lateValidators(false), buildSerializer: () => () => JSON.stringify } },
  })

/** No request reaches a module. */
export const adminRoutesOptions = {
  prefix: '/admin/v1',
  admin: { calledBy: () => undefined },
  auth: async () => ({ principal: adminTokenPrincipal }),
  limit: () => undefined,
  streams: { unread: createUnreadResponses() },
} as never

/** Both as they are served. */
export async function describeBoth(): Promise<Descriptions> {
  const layer = idleLayer()
  await layer.register(async (api) => {
    for (const schema of [...namedSchemas, ...turnSchemas, ...conversationSchemas]) api.addSchema(schema)
    await describeApi(api, undefined)
    // No request reaches a module.
    await api.register(chatRoutes, {} as never)
    await api.register(turnRoutes, { turns: {} } as never)
    await api.register(conversationRoutes, {} as never)
  })
  await layer.register(adminRoutes, adminRoutesOptions)
  await layer.ready()
  const read = async (url: string): Promise<Descriptions['public']> => (await layer.inject(url)).json()
  const both = { public: await read('/openapi.json'), admin: await read('/admin/v1/openapi.json') }
  await layer.close()
  return both
}
