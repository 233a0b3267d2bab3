/**
 * Builds the whole service. This is the only file that knows every module, and it contains no rule itself. A request passes through http →
 * access → turn (admit → agent → settle) → http. Read src/turn/turn.ts next.
 */
import { randomBytes } from 'node:crypto'
import type { Logger } from 'pino'
import { createAccess } from './access/access.ts'
import { createLastUse } from './access/last-use.ts'
import { createAdmin } from './admin/admin.ts'
import type { Admin } from './admin/admin.ts'
import { createSignInMethods } from './admin/sign-in/sign-in.ts'
import { createVerification } from './admin/verification.ts'
import { createAgents } from './agent/agent.ts'
import { createIndexer } from './agent/documents/documents.ts'
import { createEmbeddings } from './agent/models/embeddings.ts'
import { createGuard } from './agent/guard/guard.ts'
import { createKnowledge } from './agent/knowledge/knowledge.ts'
import type { Knowledge } from './agent/knowledge/knowledge.ts'
import { createModels } from './agent/models/models.ts'
import type { ModelsOptions } from './agent/models/models.ts'
import { createTools } from './agent/tools/tools.ts'
import { storeEnvironment } from './config/config.ts'
import { identityProvider } from './config/sign-in-settings.ts'
import type { Config, Environment } from './config/config.ts'
import { ApiError } from './errors.ts'
import type { Failpoints } from './failpoints.ts'
import { createHttpLayer } from './http/http.ts'
import type { HttpLayerOptions } from './http/http.ts'
import { createIds } from './ids.ts'
import { createMetrics, ownVersion } from './observability/metrics.ts'
import type { Figures } from './observability/metrics.ts'
import { createSealer } from './config/secrets.ts'
import { createStatus } from './observability/status.ts'
import { StoreUnavailable } from './store/store.ts'
import type { Store } from './store/store.ts'
import type { PasswordCost } from './operators/passwords.ts'
import { openStores } from './process/open-stores.ts'
import type { Stores } from './process/open-stores.ts'
import { createConversations } from './turn/conversations.ts'
import { createErasure } from './turn/erasure.ts'
import { watchOverload } from './turn/overload-watch.ts'
import { createTurns, turnDefaults } from './turn/turn.ts'
import type { Turns, TurnSettings } from './turn/turn.ts'
import { within } from './deadline.ts'
import { createWebhooks } from './webhooks/webhooks.ts'
import type { WebhookSettings } from './webhooks/webhooks.ts'

export type AppOptions = {
  /** The bearer token of the admin API and the encryption keys, either set by the operator or generated (data-folder.ts). */
  adminToken: string
  encryptionKeys: Uint8Array[]
  log: Logger
  /** Where to write one line per request. Without it there is no access log. */
  accessLog?: Logger
  failpoints: Failpoints
  /** The environment of the commands that this process starts: what Node and the drivers read. Default: none of it. */
  environment?: Environment
  /** Stores that are already being opened. By default `startApp` opens them. */
  stores?: Promise<Stores>
  /** Called when every module exists and before the server accepts connections. */
  beforeListening?(modules: Modules): Promise<void>
  /** Set if this process is one of several workers: the ports they share, and the metrics page of all workers. */
  among?: { port: number; adminPort: number | undefined; scrape(): Promise<string> } | undefined
  /** Deadlines and leases that differ from the defaults, for tests. */
  turnSettings?: Partial<TurnSettings>
  modelSettings?: ModelsOptions
  webhookSettings?: Partial<WebhookSettings>
  windowDeadlineMs?: number
  passwordCost?: PasswordCost
  /** For tests: shared by the services of a process. */
  compiler?: HttpLayerOptions['compiler']
}

/** What the first start and tests use directly, without HTTP. */
export type Modules = { admin: Admin; knowledge: Knowledge; store: Store; turns: Turns }

export type App = Modules & {
  /** The base URL of the API. */
  url: string
  /** The base URL of the admin API and the console: the same as `url` unless `TURNKEEP_ADMIN_PORT` is set. */
  adminUrl: string
  /** Whether the rate limiter responded at the start. Without it, all messages are answered with 503. */
  limiter: Awaited<ReturnType<HttpLayerOptions['ready']>>['limiter']
  /** The metrics of this process, for the page of all workers. */
  figures(): Promise<Figures>
  /**
   * Turns readiness off, accepts no new connections, lets running turns finish up to the drain limit, releases the rest, gives open
   * responses a few seconds more, and closes everything.
   */
  drain(): Promise<void>
}

// A health check usually has a deadline of one second. A slow store must not remove this process from a load balancer.
const storeDeadlineMs = 500
// `rate.fail-closed`: a rate limiter that takes longer counts as unavailable.
const limiterDeadlineMs = 250
// Enough for the responses of the last turns. A download or an upload may take as long as its caller wants.
const lastResponsesMs = 3_000

/**
 * Opens the store, recovers the turns of processes that have died, and listens. Throws FolderInUse, SchemaRefused, StoreUnavailable, or the
 * error of the listener.
 */
export async function startApp(config: Config, options: AppOptions): Promise<App> {
  const { adminToken, encryptionKeys, log, accessLog, failpoints, beforeListening, among, turnSettings, modelSettings, webhookSettings } =
    options
  const monotonicMs = (): number => performance.now()
  const { store, window } = await (options.stores ?? openStores(config, { monotonicMs, failpoints, log }))
  const { newId, newRequestId } = createIds()

  const sealer = createSealer(encryptionKeys)
  const models = createModels(modelSettings)
  const metrics = createMetrics()
  const guard = createGuard({ allowPrivateHosts: config.allowedPrivateHosts })
  const embeddings = createEmbeddings({ store, sealer, models, failpoints })
  const knowledge = createKnowledge({ store, embeddings, log })
  const tools = createTools({ guard, sealer, knowledge, log, now: () => new Date() })
  const documentLimits = { maxQueued: config.maxQueuedDocuments, cpuMs: config.documentCpuMinutes * 60_000 }
  const indexer = createIndexer({ store, guard, embeddings, log, settings: { cpuMs: documentLimits.cpuMs } })
  const lastUse = createLastUse({ store, monotonicMs, log })
  const access = createAccess({
    store,
    window,
    monotonicMs,
    onUse: lastUse.saw,
    failpoints,
    log,
    windowDeadlineMs: options.windowDeadlineMs ?? limiterDeadlineMs,
  })
  const agents = createAgents({ store, sealer, models, knowledge, tools, failpoints, log, metrics })
  const settings = { maxTurns: config.maxTurns, traces: config.traceDays > 0, ...turnSettings }
  const webhooks = createWebhooks({ store, guard, sealer, failpoints, log, metrics, newId, settings: webhookSettings ?? {} })
  const turns = createTurns({ store, agents, failpoints, log, metrics, newRequestId, newId, settings, onEnd: webhooks.wake })
  const overload = watchOverload({ log, turns })
  const conversations = createConversations({ store })
  const erasure = createErasure({ store, retentionDays: config.retentionDays, traceDays: config.traceDays, failpoints, log, newId })
  const shared = config.adminPort === undefined
  const consoleUrl = config.consoleUrl ?? (shared ? config.publicUrl : undefined)
  let adminAt = ''
  const provider = identityProvider(config)
  const oidc = provider && { ...provider, redirectUri: () => `${consoleUrl ?? adminAt}/admin/v1/session/oidc/callback` }
  const signIn = createSignInMethods({ encryptionKeys, oidc, log, monotonicMs, passwordCost: options.passwordCost })
  const usableToken = config.adminTokenEnabled ? adminToken : undefined
  const closing = new AbortController()
  const explained = { agents, turnMs: turnSettings?.turnMs ?? turnDefaults.turnMs, liveTrace: turns.traceOf }
  const admin = createAdmin({
    store,
    sealer,
    models,
    tools,
    knowledge,
    guard,
    webhooks,
    newId,
    randomBytes,
    documentLimits,
    adminToken: usableToken ?? randomBytes(32).toString('hex'),
    signIn,
    closing: closing.signal,
    ...explained,
  })

  const modules = { admin, knowledge, store, turns }
  let draining = false
  const ready = async () => {
    const [storeState, limiter] = await Promise.all([stateOf(store, storeDeadlineMs), stateOf(window, limiterDeadlineMs)])
    return { draining, store: storeState, limiter }
  }
  const watched = {
    running: () => turns.running,
    maxRunning: settings.maxTurns,
    waiting: turns.waiting,
    ready,
    webhookBacklog: () => ifAvailable(store.read.deliveryBacklog()),
    documentBacklog: () => ifAvailable(store.read.documentBacklog()),
  }
  metrics.watch(watched)
  const { totals } = metrics
  const service = {
    status: createStatus(config, { ...watched, version: ownVersion(), eventLoopP99Ms: overload.loopDelayP99Ms, totals }),
    verify: createVerification({
      environment: storeEnvironment(config, options.environment ?? {}),
      closing: closing.signal,
      log,
      now: Date.now,
    }),
  }
  const reported = among ? { ...metrics, scrape: among.scrape } : metrics
  const common = {
    log,
    accessLog,
    metrics: reported,
    newRequestId,
    publicUrl: config.publicUrl,
    ready,
    failpoints,
    compiler: options.compiler,
  }
  const publicModules = { access, turns, conversations }
  let publicAt: string | null = null
  const apiUrl = (): string | null => config.publicUrl ?? (shared ? null : publicAt)
  const openMetrics = !shared && isLoopback(config.adminHost)
  const limits = { rate: config.adminRateLimit, parallel: config.adminMaxParallel }
  const adminModules = { admin, adminToken: usableToken, limits, turns, erasure, apiUrl, consoleUrl, service, openMetrics }
  const layers = shared
    ? [await createHttpLayer({ ...common, public: publicModules, admin: adminModules })]
    : [await createHttpLayer({ ...common, public: publicModules }), await createHttpLayer({ ...common, admin: adminModules })]

  try {
    await beforeListening?.(modules)
    const { port, adminPort } = among ?? config
    const url = await layers[0]!.listen(port, config.host, Boolean(among))
    publicAt = url
    const adminUrl = shared ? url : await layers[1]!.listen(adminPort!, config.adminHost, Boolean(among))
    adminAt = adminUrl
    turns.start()
    overload.start()
    erasure.start()
    indexer.start()
    webhooks.start()
    lastUse.start()
    return { url, adminUrl, ...modules, limiter: (await ready()).limiter, figures: metrics.figures, drain }
  } catch (error) {
    await window.close()
    await store.close()
    throw error
  }

  async function drain(): Promise<void> {
    draining = true
    const breakOff = new AbortController()
    const closed = Promise.all(layers.map((layer) => layer.close(breakOff.signal)))
    await Promise.all([turns.drain(config.drainSeconds * 1000), indexer.stop(), webhooks.stop()])
    closing.abort(new ApiError('service_unavailable'))
    await within<unknown>(lastResponsesMs, closed, () => breakOff.abort())
    await closed
    overload.stop()
    await erasure.stop()
    await lastUse.stop()
    await tools.close()
    await guard.close()
    await knowledge.close()
    await models.close()
    await window.close()
    await store.close()
  }
}

/** Undefined if the store is unavailable, which another metric reports. */
const ifAvailable = <Read>(reading: Promise<Read>): Promise<Read | undefined> =>
  reading.catch((error: unknown) => {
    if (error instanceof StoreUnavailable) return undefined
    throw error
  })

const isLoopback = (host: string): boolean => /^(localhost|127(\.\d+){3}|::1)$/i.test(host)

async function stateOf(asked: { ping(): Promise<void> }, deadlineMs: number): Promise<'ok' | 'unavailable'> {
  const answer = asked.ping().then(
    () => 'ok' as const,
    () => 'unavailable' as const,
  )
  return within<'ok' | 'unavailable'>(deadlineMs, answer, () => 'unavailable')
}
