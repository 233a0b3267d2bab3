/**
 * The door: one HTTP server for the public API, the admin API, or both. Owns the wire: routes, envelope, ids, event streams. Knows no SQL,
 * no money and no state of a turn. The order of checks is the order of Fastify's hooks: route → onRequest (who calls) → preParsing (body)
 * → schema → handler. Specification sections 4–9; rulings, Order of checks.
 */
import type { IncomingMessage, Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
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
import { createAdminAuth, createTokenAuth, createTokenCheck } from './admin/auth.ts'
import type { TokenCheck } from './admin/auth.ts'
import { adminRoutes } from './admin/routes.ts'
import type { StatusOptions } from './admin/status.ts'
import { watchMethods, wrongMethod } from './edge/allowed-methods.ts'
import { namedSchemas } from './public/schemas.ts'
import { admitCaller } from './public/caller.ts'
import { chatRoutes } from './public/chat-routes.ts'
import type { Turns } from './public/chat-routes.ts'
import { consoleFiles } from './console/files.ts'
import { conversationRoutes } from './public/conversation-routes.ts'
import type { Conversations } from './public/conversation-routes.ts'
import { docsRoute } from './docs/docs-route.ts'
import { isMultipart } from './admin/agents/document-upload.ts'
import { sendFailure } from './edge/envelope.ts'
import type { StreamOptions } from './public/event-stream.ts'
import { createFailureReader } from './edge/failure-reader.ts'
import { createGuessLimit } from './console/guess-limit.ts'
import { framingFault } from './edge/headers.ts'
import { lateValidators } from './edge/late-validators.ts'
import { metricsRoute } from './edge/metrics-route.ts'
import { describeApi } from './public/openapi.ts'
import { bodyLimitBytes, closeIfUnread, hasBody, isUnread } from './edge/polite-close.ts'
import { createRefusals } from './edge/refusals.ts'
import { receiveJson } from './edge/request-body.ts'
import { statusRoutes } from './edge/status-routes.ts'
import type { Readiness } from './edge/status-routes.ts'

export type HttpLayerOptions = {
  /** The public API; absent where this door serves the admin API alone. */
  public?: { access: Access; turns: Turns; conversations: Conversations }
  /** The admin API and the console; absent where another door serves them. `apiUrl`: base address of the public API; null: this door's own. */
  admin?: { admin: Admin; adminToken: string; turns: Turns; erasure: Erasure; apiUrl: () => string | null; service: StatusOptions }
  log: Logger
  /** The log of every answer; absent: none is written. */
  accessLog?: Logger | undefined
  metrics: Metrics & MetricsPage
  /** A UUID. */
  newRequestId: () => string
  /** Base address shown in /openapi.json and /docs; absent: the address listened on. */
  publicUrl?: string | undefined
  ready: () => Promise<Readiness>
  failpoints?: Failpoints
  /** Where the built console lies; absent: in its package. */
  consoleFolder?: string | undefined
  times?: Partial<HttpTimes>
  /** A schema that cannot be compiled is found before the door is there, for a test; absent: by the route's first request. */
  compilesAtOnce?: boolean
}

export type HttpTimes = typeof defaultTimes
const defaultTimes = {
  // `fault.slow-requests`: no honest caller needs longer for a few hundred bytes of headers, or for 1 MiB.
  headersMs: 10_000,
  requestMs: 30_000,
  // 20 MiB at half a megabit a second: a file on the admin API's one route that takes them.
  uploadMs: 300_000,
  // Above the 60 s after which usual load balancers let go, so that it is they who close.
  keepAliveMs: 75_000,
  // A socket without a byte either way; above a turn's 110 s, during which a waiting caller is silent.
  idleMs: 150_000,
  // Rulings, `stream.established` and `stream.slow-reader`.
  heartbeatMs: 15_000,
  stallMs: 30_000,
}

export type HttpLayer = {
  /** Port 0 takes a free one; `reusePort`: other processes of ours listen there too. Answers the base address. Rejects with the listener's error. */
  listen(port: number, host: string, reusePort?: boolean): Promise<string>
  /** New connections are refused and idle ones closed; resolves when the running responses have ended. */
  close(): Promise<void>
}

export async function createHttpLayer(options: HttpLayerOptions): Promise<HttpLayer> {
  const times = { ...defaultTimes, ...options.times }
  const { metrics, log, failpoints = noFailpoints } = options
  const streams = { times, failpoints, log }
  const accessLog = options.accessLog && createAccessLog(options.accessLog)
  const refusals = createRefusals(options.newRequestId, (refusal, requestId, request) => {
    metrics.refused(refusal.code)
    if (request) note(request, { code: refusal.code, requestId })
    else accessLog?.refused(refusal, requestId)
  })
  const readFailure = createFailureReader(options.log, metrics)
  const app = fastify({
    genReqId: options.newRequestId,
    // The router decodes and compares; what is too long for a header never comes here.
    routerOptions: { maxParamLength: 16_384 },
    ajv: { customOptions: { removeAdditional: false, coerceTypes: false, discriminator: true } },
    schemaController: {
      compilersFactory: {
        buildValidator: lateValidators(options.compilesAtOnce ?? false),
        // One line of JSON for every answer; schemas of answers are for the description alone.
        buildSerializer: () => () => JSON.stringify,
      },
    },
    bodyLimit: bodyLimitBytes,
    requestTimeout: options.admin ? times.uploadMs : times.requestMs,
    keepAliveTimeout: times.keepAliveMs,
    connectionTimeout: times.idleMs,
    http: { headersTimeout: times.headersMs, connectionsCheckingInterval: Math.min(1000, times.headersMs), requireHostHeader: false },
    // While it drains the turn room refuses, with the envelope, and still answers replays.
    return503OnClosing: false,
    clientErrorHandler: refusals.refuseBytes,
    frameworkErrors: (error, request, reply) => void sendFailure(request, reply, readFailure(error, request)),
  })
  app.setErrorHandler((error, request, reply) => {
    const failure = readFailure(error, request)
    // Hooks run before the rest of the packet is parsed: a body that came with it does not cost the connection.
    if (isUnread(request.raw)) setImmediate(() => sendFailure(request, reply, failure))
    else sendFailure(request, reply, failure)
  })
  app.removeAllContentTypeParsers()
  // JSON by its name too: for a type that it knows only as one of all, Fastify reads the header anew at each request.
  for (const type of ['application/json', '*']) app.addContentTypeParser(type, (request, _body, done) => done(null, request.body))
  answerEveryRequest(app)
  if (options.admin) endSlowBodies(app, times.requestMs)

  await app.register(statusRoutes, { ready: options.ready })
  let listenedAt = ''
  const baseUrl = (): string => options.publicUrl ?? listenedAt
  if (options.public) await app.register(publicRoutes, { ...options.public, publicUrl: options.publicUrl, baseUrl, streams })
  if (options.admin) {
    const isAdminToken = createTokenCheck(options.admin.adminToken)
    // The public address tells of this door only where the API comes in here too.
    const byTls = Boolean(options.public && options.publicUrl?.startsWith('https:'))
    await app.register(adminScope, { ...options.admin, isAdminToken, byTls, publicUrl: options.publicUrl, streams, prefix: '/admin/v1' })
    await app.register(metricsRoute, { metrics, auth: options.public && createTokenAuth(isAdminToken) })
    await app.register(consoleFiles, { folder: options.consoleFolder })
  }
  await app.ready()

  refusals.watch(app.server)
  accessLog?.watch(app.server)
  // A caller who sends FIN and goes on reading gets his whole answer. Not in Node's documentation; its own code reads it at every FIN.
  Object.assign(app.server, { httpAllowHalfOpen: true })
  const sockets = watchSockets(app.server)
  return {
    listen: async (port, host, reusePort = false) => (listenedAt = await listen(app.server, { port, host, reusePort })),
    async close() {
      // Fastify would do it a little later.
      app.server.close()
      closeIdle(app.server, sockets)
      const sweep = setInterval(() => closeIdle(app.server, sockets), sweepMs)
      await app.close()
      clearInterval(sweep)
    },
  }
}

/** `order.request-id`, then `order.route`, what comes before any caller is known: 400 for a request that may be read in two ways, 404, 405. */
function answerEveryRequest(app: FastifyInstance): void {
  const methodsOf = watchMethods(app)
  // Their bytes may be cut elsewhere than their sender meant: what comes behind such a request is nobody's.
  const misread = new WeakSet<Socket>()
  app.addHook('onRequest', (request, reply, done) => {
    const { raw } = request
    reply.header('x-request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    note(raw, { requestId: request.id, route: request.routeOptions.url })
    const fault = misread.has(raw.socket) ? 'Nothing is read behind a request that is none.' : framingFault(raw)
    if (fault !== undefined) {
      misread.add(raw.socket)
      reply.raw.shouldKeepAlive = false
      return done(new ApiError('bad_request', fault))
    }
    if (request.is404) {
      const methods = methodsOf(raw.url ?? '')
      if (methods.length === 0) return done(new ApiError('not_found'))
      reply.header('allow', methods.join(', '))
      return done(wrongMethod(methods))
    }
    // Nobody reads a body here.
    if (raw.method === 'GET' || raw.method === 'HEAD') closeIfUnread(raw, reply.raw)
    done()
  })
}

/** The server's deadline is that of a file; every other body ends as by the server itself, only sooner. */
function endSlowBodies(app: FastifyInstance, requestMs: number): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { raw } = request
    // Most bodies come in the packet of their headers, which is parsed to its end first: they need no timer.
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
}

async function publicRoutes(
  app: FastifyInstance,
  { access, turns, conversations, publicUrl, baseUrl, streams }: PublicOptions,
): Promise<void> {
  for (const schema of namedSchemas) app.addSchema(schema)
  await describeApi(app, publicUrl)
  await app.register(docsRoute, { baseUrl })
  await app.register(async (api) => {
    api.addHook('onRequest', admitCaller(access))
    await api.register(chatRoutes, { turns, streams })
    await api.register(conversationRoutes, { conversations })
  })
}

type AdminScopeOptions = Omit<NonNullable<HttpLayerOptions['admin']>, 'adminToken'> & {
  isAdminToken: TokenCheck
  byTls: boolean
  publicUrl: string | undefined
  streams: StreamOptions
}

async function adminScope(app: FastifyInstance, options: AdminScopeOptions): Promise<void> {
  const { admin, isAdminToken, turns, erasure, apiUrl, service, byTls, publicUrl, streams } = options
  app.addHook('preParsing', receiveJson)
  const auth = createAdminAuth(isAdminToken, admin.findSession)
  const guesses = createGuessLimit(() => performance.now())
  const session = { isAdminToken, guesses, byTls, apiUrl }
  await app.register(adminRoutes, { admin, auth, turns, erasure, streams, publicUrl, session, service })
}

function listen(server: Server, at: { port: number; host: string; reusePort: boolean }): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ ...at, backlog }, () => {
      server.off('error', reject)
      resolve(`http://${reachable(at.host)}:${(server.address() as AddressInfo).port}`)
    })
  })
}

// Callers who connect in one moment and are not accepted yet; with Node's 511 a burst of a thousand waits for seconds, or is reset.
// The system lowers it to its own limit (net.core.somaxconn, 4096 on Linux).
const backlog = 4096

/** A host that can be dialled where it stands for all of them. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}

// A response that ends during the drain leaves an idle connection behind; nobody notices a tenth of a second.
const sweepMs = 100

function watchSockets(server: Server): Set<Socket> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return sockets
}

/** Node counts a connection that never sent a byte as busy, until its headers are late. */
function closeIdle(server: Server, sockets: Set<Socket>): void {
  server.closeIdleConnections()
  for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
}
