/**
 * The admin API, `/admin/v1`. Every path except sign-in requires the admin token or a session, which is checked before anything else.
 */
import type { FastifyPluginAsync } from 'fastify'
import type { Admin, AdminCalls } from '../../admin/admin.ts'
import { ApiError } from '../../errors.ts'
import { actorOf } from '../../operators/principal.ts'
import type { Principal } from '../../operators/principal.ts'
import type { Actor } from '../../store/queries/audit.ts'
import type { Erasure } from '../../turn/erasure.ts'
import { attentionRoutes } from './attention.ts'
import { auditRoutes } from './audit.ts'
import { agentRoutes, versionRoutes } from './agents/agents.ts'
import { createAccessWatch } from './access-watch.ts'
import type { AccessWatchTimes } from './access-watch.ts'
import type { AdminAuth } from './auth.ts'
import { endUserRoutes } from './end-users.ts'
import { erasureRoutes } from './erasure.ts'
import { feedbackRoutes } from './feedback.ts'
import { conversationRoutes } from './history.ts'
import { keyRoutes } from './keys.ts'
import { meRoutes } from './me.ts'
import { operatorRoutes } from './operators.ts'
import { attachNeeds, checkNeeds } from './permissions.ts'
import type { PrincipalLimit } from './principal-limits.ts'
import { tokenRoutes } from './tokens.ts'
import { documentRoutes, uploadRoutes } from './agents/documents.ts'
import { describeAdminApi } from './openapi.ts'
import { ledgerRoutes, ownerRoutes } from './owners.ts'
import { playgroundRoutes } from './agents/playground.ts'
import { previewRoutes } from './agents/previews.ts'
import { providerRoutes, providerTestRoutes } from './providers.ts'
import { serviceRoutes } from './status.ts'
import { modulesOf } from './request-modules.ts'
import type { ModulesOfRoutes, RequestModules } from './request-modules.ts'
import { spendLimitRoutes } from './agents/spend-limits.ts'
import { traceRoutes } from './traces.ts'
import { trialRoutes } from './agents/trials.ts'
import { turnRoutes } from './turns.ts'
import { usageRoutes } from './usage.ts'
import { deliveryRoutes } from './deliveries.ts'
import { webhookRoutes } from './webhooks.ts'
import type { Description } from '../edge/late-description.ts'
import { watchMethods, wrongMethod } from '../edge/allowed-methods.ts'
import type { Turns } from '../public/chat-routes.ts'
import { limitUnread } from '../public/unread-responses.ts'
import { sessionRoutes } from '../console/session.ts'
import { accountRoutes } from '../console/sign-in/account-routes.ts'
import { companySignInRoutes } from '../console/sign-in/company-routes.ts'
import { linkRoutes } from '../console/sign-in/link-routes.ts'
import { passkeySignInRoutes } from '../console/sign-in/passkey-routes.ts'
import type { SessionOptions } from '../console/session.ts'
import type { StreamOptions } from '../public/event-stream.ts'

export type AdminRoutesOptions = {
  admin: Admin
  auth: AdminAuth
  limit: PrincipalLimit
  /** Runs the messages of the playground, and follows and cancels any turn. */
  turns: Turns
  erasure: Erasure
  streams: StreamOptions
  publicUrl: string | undefined
  session: Omit<SessionOptions, 'admin'>
  service: ModulesOfRoutes['service']
  /** For tests. Default: those of production. */
  accessTimes?: AccessWatchTimes | undefined
  /** Receives the function that returns the description of these routes, for the reference page. */
  described?: (describe: () => Promise<Description>) => void
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Who makes this request and what it may do. Only set in the admin API, and not on routes that need no sign-in. */
    principal: Principal
    /**
     * Aborted when this principal may no longer receive the response (`operator.ends-streams`), with an ApiError as its reason. Undefined for
     * the admin token, which does not change while the server runs.
     */
    access: AbortSignal | undefined
    /** Whether the work of this request is lost without its response, as `leftBy` says. Only set in the admin API. */
    isForCallerOnly: boolean
    /** The same, as the audit log names it (`audit`). */
    actor: Actor
    /** The admin operations for this request: with its author, and restricted to what its principal may see. Only set in the admin API. */
    admin: AdminCalls
    /** The other modules that routes use, for this request in the same way. Only set in the admin API. */
    modules: RequestModules
  }
}

// A change there is noticed immediately in this process, and within half a second in the others.
const changesAccess = /^\/admin\/v1\/(operators|tokens|session|me)\b/

const nounRoutes = [
  ownerRoutes,
  ledgerRoutes,
  providerRoutes,
  providerTestRoutes,
  agentRoutes,
  versionRoutes,
  uploadRoutes,
  documentRoutes,
  keyRoutes,
  conversationRoutes,
  feedbackRoutes,
  traceRoutes,
  usageRoutes,
  auditRoutes,
  attentionRoutes,
  webhookRoutes,
  deliveryRoutes,
  endUserRoutes,
  trialRoutes,
  spendLimitRoutes,
]

export const adminRoutes: FastifyPluginAsync<AdminRoutesOptions> = async (app, options) => {
  const { admin, auth, limit, streams, publicUrl } = options
  const watch = createAccessWatch(admin, () => performance.now(), options.accessTimes)
  app.addHook('onRequest', async (request, reply) => {
    const route = request.routeOptions.config.needs
    if (route === 'open') return
    const { principal, session, credential } = await auth(request.raw)
    limit(principal, session !== undefined, request, reply)
    // A path that does not exist has no entry: after the authentication it is a 404.
    if (route) checkNeeds(principal, route)
    if (route && credential) request.access = watch.add({ request, reply, credential, principal, route })
    // No database stores it, so nothing has such an ID.
    if (Object.values(request.params as Record<string, string>).some((given) => given.includes('\0'))) throw new ApiError('not_found')
    request.principal = principal
    request.session = session
    request.actor = actorOf(principal, request.id)
    request.admin = admin.calledBy(request.actor, principal.scope)
    request.isForCallerOnly = false
    request.modules = modulesOf(options, request.admin, request.actor, principal.scope)
  })
  app.addHook('onResponse', async (request, reply) => {
    if (request.method !== 'GET' && reply.statusCode < 400 && changesAccess.test(request.routeOptions.url ?? '')) watch.checkNow()
  })
  limitUnread(app, streams.unread)
  let methodsOf: (url: string) => string[] = () => []
  await app.register(async (known) => {
    methodsOf = watchMethods(known)
    attachNeeds(known)
    const describe = describeAdminApi(known, publicUrl)
    options.described?.(describe)
    for (const routes of nounRoutes) await known.register(routes)
    const signIn = { ...options.session, admin }
    for (const routes of [sessionRoutes, passkeySignInRoutes, linkRoutes, companySignInRoutes]) await known.register(routes, signIn)
    await known.register(accountRoutes, options.session)
    await known.register(operatorRoutes, options.session)
    await known.register(tokenRoutes)
    await known.register(meRoutes)
    await known.register(serviceRoutes)
    await known.register(erasureRoutes)
    await known.register(playgroundRoutes, { streams })
    await known.register(previewRoutes, { streams })
    await known.register(turnRoutes, { streams })
  })
  // All other paths are routes too, so that an unauthenticated request gets 401 and learns nothing about the existing paths and methods.
  await app.register(async (rest) => {
    rest.addHook('onRequest', async (request, reply) => {
      const methods = methodsOf(request.raw.url ?? '')
      if (methods.length === 0) throw new ApiError('not_found')
      reply.header('allow', methods.join(', '))
      throw wrongMethod(methods)
    })
    rest.all('/', () => undefined)
    rest.all('/*', () => undefined)
  })
}
