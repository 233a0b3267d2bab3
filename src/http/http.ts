/**
 * The HTTP layer: one server for the public API, the admin API, or both. It owns routes, the error envelope, request IDs and event streams,
 * and contains no SQL, billing or turn state. Checks run in the order of Fastify's hooks: route, onRequest (authentication), preParsing
 * (body), schema, handler. docs/spec.md, "Endpoints and the order of checks", defines that order.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { fastify } from 'fastify'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Access } from '../access/outcome.ts'
import type { Admin } from '../admin/admin.ts'
import { ApiError } from '../errors.ts'
import { noFailpoints } from '../failpoints.ts'
import type { Failpoints } from '../failpoints.ts'
import type { Metrics, MetricsPage } from '../observability/metrics.ts'
import type { Erasure } from '../turn/erasure.ts'
import { createAccessLog, note } from './edge/access-log.ts'
import { createAdminAuth, createBrake, createTokenAuth, createTokenCheck } from './admin/auth.ts'
import type { Brake, TokenCheck } from './admin/auth.ts'
import { createPrincipalLimit } from './admin/principal-limits.ts'
import type { PrincipalLimit, PrincipalLimits } from './admin/principal-limits.ts'
import { adminRoutes } from './admin/routes.ts'
import type { ModulesOfRoutes } from './admin/request-modules.ts'
import { isOfRoute, watchMethods, wrongMethod } from './edge/allowed-methods.ts'
import { namedSchemas } from './public/schemas.ts'
import { admitCaller, agentInPath } from './public/caller.ts'
import { chatRoutes } from './public/chat-routes.ts'
import type { Turns } from './public/chat-routes.ts'
import { originAskedFor } from './console/cookie.ts'
import { consoleFiles } from './console/files.ts'
import { conversationRoutes } from './public/conversation-routes.ts'
import { turnRoutes } from './public/turn-routes.ts'
import { conversationSchemas } from './public/conversation-schemas.ts'
import { turnSchemas } from './public/turn-schemas.ts'
import type { Conversations } from './public/conversation-routes.ts'
import { mcpRoutes } from './mcp/mcp-routes.ts'
import { adminDocsRoute, docsRoute } from './docs/docs-route.ts'
import { isMultipart } from './admin/agents/document-upload.ts'
import { sendFailure } from './edge/envelope.ts'
import type { StreamOptions } from './public/event-stream.ts'
import { createFailureReader } from './edge/failure-reader.ts'
import { createGuessLimit } from './console/guess-limit.ts'
import { createPasswordLimit } from './console/sign-in/password-limit.ts'
import { malformed, messageFault } from './edge/headers.ts'
import type { Description } from './edge/late-description.ts'
import { lateValidators } from './edge/late-validators.ts'
import type { Build } from './edge/late-validators.ts'
import { describeApi } from './public/openapi.ts'
import { defaultTimes } from './edge/http-times.ts'
import type { HttpTimes } from './edge/http-times.ts'
import { listen, stopListening, watchSockets } from './edge/listening.ts'
import { limitPipelining } from './edge/pipelining.ts'
import { bodyLimitBytes, closeIfUnread, hasBody, isUnread } from './edge/polite-close.ts'
import { createRefusals } from './edge/refusals.ts'
import { receiveJson } from './edge/request-body.ts'
import { limitUnfinishedBodies } from './edge/unfinished-bodies.ts'
import { unsupportedEndpoint } from './openai/openai-error.ts'
import { openAiRoutes } from './openai/openai-routes.ts'
import { startPage } from './edge/start-page.ts'
import { createUnreadResponses, limitUnread, watchReaders } from './public/unread-responses.ts'
import { metricsRoute, statusRoutes } from './edge/status-routes.ts'
import type { Readiness } from './edge/status-routes.ts'

export type HttpLayerOptions = {
  /** The public API; undefined if this server has only the admin API. */
  public?: { access: Access; turns: Turns; conversations: Conversations }
  /** The admin API and the console; undefined if another server has them. */
  admin?: AdminOptions
  log: Logger
  /** The access log; undefined to write none. */
  accessLog?: Logger | undefined
  metrics: Metrics & MetricsPage
  /** Returns a UUID. */
  newRequestId: () => string
  /** Base URL shown in /openapi.json and /docs. Default: the address that the server listens on. */
  publicUrl?: string | undefined
  ready: () => Promise<Readiness>
  failpoints?: Failpoints
  /** Folder of the built console. Default: the folder in its package. */
  consoleFolder?: string | undefined
  times?: Partial<HttpTimes>
  /** For tests: the clock of the access log's sample and of the limit on guesses. */
  monotonicMs?: () => number
  /** For tests: compiles all schemas at startup. Default: at the first request of each route. */
  compilesAtOnce?: boolean
  /** For tests: the compiler of the request schemas, shared by several servers. Default: one of its own. */
  compiler?: Build | undefined
}

type AdminOptions = {
  admin: Admin
  /** Undefined if it is switched off. */
  adminToken: string | undefined
  limits: PrincipalLimits
  turns: Turns
  erasure: Erasure
  /** Returns the base URL of the public API, null if this server has it. */
  apiUrl: () => string | null
  service: ModulesOfRoutes['service']
  /** Base URL of the console, if the settings say it. Default: the address of each request. */
  consoleUrl: string | undefined
  /** Whether the metrics need no token of a request that names this machine, because only this machine can connect. */
  openMetrics: boolean
}

export type HttpLayer = {
  /** Port 0 picks a free port. `reusePort` lets other worker processes share it. Returns the base URL. Rejects with the error of the listener. */
  listen(port: number, host: string, reusePort?: boolean): Promise<string>
  /** Refuses new connections and closes idle ones. Resolves when all running responses have ended, or are broken off by the signal. */
  close(breakOff?: AbortSignal): Promise<void>
}

export async function createHttpLayer(options: HttpLayerOptions): Promise<HttpLayer> {
  const times = { ...defaultTimes, ...options.times }
  const { metrics, log, failpoints = noFailpoints, monotonicMs = () => performance.now() } = options
  const streams: StreamOptions = { times, failpoints, log, unread: createUnreadResponses(), caching: 'no-cache' }
  const accessLog = options.accessLog && createAccessLog(options.accessLog, monotonicMs)
  const refusals = createRefusals(options.newRequestId, (refusal, requestId, request) => {
    metrics.refused(refusal.code)
    if (request) note(request, { code: refusal.code, requestId })
    else accessLog?.refused(refusal, requestId)
  })
  const readFailure = createFailureReader(options.log, metrics)
  const app = fastify({
    genReqId: options.newRequestId,
    // Longer than any URL that fits in the request headers, so a request with a very long agent ID gets 403 and not 404.
    routerOptions: { maxParamLength: 16_384 },
    ajv: { customOptions: { removeAdditional: false, coerceTypes: false, discriminator: true } },
    schemaController: {
      compilersFactory: {
        buildValidator: lateValidators(options.compilesAtOnce ?? false, options.compiler),
        // Every response is plain JSON.stringify; response schemas are for the description only.
        buildSerializer: () => () => JSON.stringify,
      },
    },
    bodyLimit: bodyLimitBytes,
    requestTimeout: options.admin ? times.uploadMs : times.requestMs,
    keepAliveTimeout: times.keepAliveMs,
    connectionTimeout: times.idleMs,
    http: { headersTimeout: times.headersMs, connectionsCheckingInterval: Math.min(1000, times.headersMs), requireHostHeader: false },
    // During a drain the turn module rejects new turns with the error envelope, and replays still work.
    return503OnClosing: false,
    clientErrorHandler: refusals.refuseBytes,
    frameworkErrors: (error, request, reply) => void sendFailure(request, reply, readFailure(error, request)),
  })
  app.setErrorHandler((error, request, reply) => {
    const failure = readFailure(error, request)
    // Hooks run before the rest of the packet is parsed. Waiting keeps the connection alive if the body came in the same packet.
    if (isUnread(request.raw)) setImmediate(() => sendFailure(request, reply, failure))
    else sendFailure(request, reply, failure)
  })
  app.removeAllContentTypeParsers()
  // JSON is registered by name as well: for a type that only matches '*', Fastify parses the header again on every request.
  for (const type of ['application/json', '*']) app.addContentTypeParser(type, (request, _body, done) => done(null, request.body))
  answerEveryRequest(app)
  watchReaders(app, times)
  limitUnfinishedBodies(app)
  if (options.admin) endSlowBodies(app, times.requestMs)

  await app.register(statusRoutes, { ready: options.ready })
  await app.register(startPage, { docs: Boolean(options.public), console: Boolean(options.admin) })
  let listenedAt = ''
  const baseUrl = (): string => options.publicUrl ?? listenedAt
  if (options.public) {
    const shared = { ...options.public, publicUrl: options.publicUrl, streams }
    await app.register(publicRoutes, { ...shared, baseUrl, metrics, progressMs: times.progressMs })
    await app.register(openAiRoutes, shared)
  }
  if (options.admin) {
    const isAdminToken = createTokenCheck(options.admin.adminToken)
    const brake = createBrake(createGuessLimit(monotonicMs))
    let describeAdmin!: () => Promise<Description>
    const described = (describe: () => Promise<Description>): void => void (describeAdmin = describe)
    const adminStreams: StreamOptions = { ...streams, caching: 'no-store' }
    const limit = createPrincipalLimit(options.admin.limits, monotonicMs)
    const scope = { ...options.admin, isAdminToken, brake, limit, publicUrl: options.publicUrl, streams: adminStreams, described }
    await app.register(adminScope, { ...scope, prefix: '/admin/v1' })
    const auth = createTokenAuth(isAdminToken, options.admin.admin, brake)
    await app.register(metricsRoute, { metrics, auth, limit, needsNoToken: options.admin.openMetrics })
    await app.register(consoleFiles, { folder: options.consoleFolder })
    await app.register(adminDocsRoute, { baseUrl, describe: () => describeAdmin() })
  }
  await app.ready()

  limitPipelining(app.server)
  refusals.watch(app.server)
  accessLog?.watch(app.server)
  // A caller that sends FIN but keeps reading gets its complete response. Undocumented, but Node's own code checks it at every FIN.
  Object.assign(app.server, { httpAllowHalfOpen: true })
  const sockets = watchSockets(app.server)
  return {
    listen: async (port, host, reusePort = false) => (listenedAt = await listen(app.server, { port, host, reusePort })),
    async close(breakOff) {
      // Immediately; Fastify would do so a little later.
      const endSweep = stopListening(app.server, sockets, breakOff)
      await app.close()
      endSweep()
    },
  }
}

/**
 * Runs before authentication: sets the request ID (`order.request-id`), then responds to ambiguous framing with 400, to an unknown expectation
 * with 417, to unknown paths with 404 and to wrong methods with 405 (`order.route`, `order.spelling`).
 */
function answerEveryRequest(app: FastifyInstance): void {
  const methodsOf = watchMethods(app)
  // Sockets on which a request had a fault. It is unclear where that request ends, so later requests on them are not trusted.
  const misread = new WeakSet<Socket>()
  app.addHook('onRequest', (request, reply, done) => {
    const { raw } = request
    reply.header('x-request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    // Responses contain conversations and secrets. Pages and files that may be cached replace it.
    reply.header('cache-control', 'no-store')
    note(raw, { requestId: request.id, route: request.routeOptions.url })
    const fault = misread.has(raw.socket) ? malformed('An earlier request on this connection was malformed.') : messageFault(raw)
    if (fault) {
      misread.add(raw.socket)
      reply.raw.shouldKeepAlive = false
      return done(fault)
    }
    if (!isOfRoute(request)) {
      // The router has found a route for another spelling of its path.
      const methods = request.is404 ? methodsOf(raw.url ?? '') : []
      // mutant: order.route
      if (methods.length === 0) return done(unsupportedEndpoint(raw.url) ?? new ApiError('not_found'))
      reply.header('allow', methods.join(', '))
      return done(wrongMethod(methods))
    }
    // GET and HEAD routes do not read a body.
    if (raw.method === 'GET' || raw.method === 'HEAD') closeIfUnread(raw, reply.raw)
    done()
  })
}

/** The request timeout of the server leaves time for file uploads. This ends every other slow request sooner, in the same way. */
function endSlowBodies(app: FastifyInstance, requestMs: number): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { raw } = request
    // Most bodies arrive in the same packet as the headers and are complete by the next turn of the event loop: they need no timer.
    if (hasBody(raw) && !(request.routeOptions.config.takesFile && isMultipart(request))) setImmediate(watch, raw)
    done()
  })

  function watch(raw: IncomingMessage): void {
    if (raw.complete || raw.destroyed) return
    const timer = setTimeout(() => {
      const late = Object.assign(new Error('request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
      if (!raw.complete) app.server.emit('clientError', late, raw.socket)
    }, requestMs)
    raw.once('close', () => clearTimeout(timer))
  }
}

type PublicOptions = NonNullable<HttpLayerOptions['public']> & {
  publicUrl: string | undefined
  baseUrl: () => string
  streams: StreamOptions
  metrics: Metrics
  progressMs: number
}

async function publicRoutes(app: FastifyInstance, options: PublicOptions): Promise<void> {
  const { access, turns, conversations, publicUrl, baseUrl, streams } = options
  for (const schema of [...namedSchemas, ...turnSchemas, ...conversationSchemas]) app.addSchema(schema)
  await app.register(docsRoute, { baseUrl, describe: describeApi(app, publicUrl) })
  await app.register(async (api) => {
    api.addHook('onRequest', admitCaller(access, agentInPath))
    limitUnread(api, streams.unread)
    await api.register(chatRoutes, { turns, streams })
    await api.register(turnRoutes, { turns, streams })
    await api.register(conversationRoutes, { conversations, unread: streams.unread })
  })
  await app.register(mcpRoutes, options)
}

type AdminScopeOptions = Omit<AdminOptions, 'openMetrics'> & {
  isAdminToken: TokenCheck
  brake: Brake
  limit: PrincipalLimit
  publicUrl: string | undefined
  streams: StreamOptions
  described: (describe: () => Promise<Description>) => void
}

async function adminScope(app: FastifyInstance, options: AdminScopeOptions): Promise<void> {
  const { admin, adminToken, isAdminToken, brake, limit, turns, erasure, apiUrl, service, publicUrl, streams, described } = options
  app.addHook('preParsing', receiveJson)
  const auth = createAdminAuth(isAdminToken, admin, brake)
  const now = (): number => performance.now()
  const guesses = createGuessLimit(now)
  const passwords = createPasswordLimit(now)
  const byTls = options.consoleUrl?.startsWith('https:') ?? false
  const consoleUrl = (request: IncomingMessage): string => options.consoleUrl ?? originAskedFor(request, byTls)
  const session = { isAdminToken, hasAdminToken: adminToken !== undefined, guesses, limit: passwords, byTls, apiUrl, consoleUrl }
  await app.register(adminRoutes, { admin, auth, limit, turns, erasure, streams, publicUrl, session, service, described })
}
