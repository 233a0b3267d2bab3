/**
 * The real service for a test: a new real store (by TEST_STORE), real HTTP on a free port, a scripted model server, and one owner, agent
 * and key created through the admin API. `await using app = await startTestApp()` stops everything.
 */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import type { Logger } from 'pino'
import { ampleAdminLimits } from './admin-limits.ts'
import { startApp } from '../../src/app.ts'
import type { App } from '../../src/app.ts'
import { readConfig } from '../../src/config/config.ts'
import { createFailpoints } from '../../src/failpoints.ts'
import { createMemoryWindow } from '../../src/access/rate-window.ts'
import { createRedisWindow } from '../../src/access/redis-window.ts'
import { fastifyCompiler } from '../../src/http/edge/late-validators.ts'
import { openStores } from '../../src/process/open-stores.ts'
import type { Stores } from '../../src/process/open-stores.ts'
import type { Store } from '../../src/store/store.ts'
import type { ModelsOptions } from '../../src/agent/models/models.ts'
import type { TurnSettings } from '../../src/turn/turn.ts'
import type { WebhookSettings } from '../../src/webhooks/webhooks.ts'
import { holdEvents, isOurs } from './answer-check-run.ts'
import { startModelServer } from './model-server.ts'
import type { ModelServer } from './model-server.ts'
import { patientMs, takeStore } from './pooled-store.ts'
import { makeStoreUnderTest } from './store-under-test.ts'
import type { Rows, StoreUnderTest } from './store-under-test.ts'

export const adminToken = 'test-admin-token'

export type Json = Record<string, any>
export type Answer = { status: number; headers: Headers; json: Json; text: string }
export type StreamEvent = { event: string; data: Json }

export type TestAppOptions = {
  balanceUsd?: string
  agent?: Json
  key?: Json
  env?: Record<string, string>
  turnSettings?: Partial<TurnSettings>
  modelSettings?: ModelsOptions
  webhookSettings?: Partial<WebhookSettings>
  /** The log of the service; silent by default. */
  log?: Logger
  /** A folder and a database that outlive the app, for restarts. By default new ones that are deleted. */
  folder?: string
  model?: ModelServer
  /** The previous run with this folder: its database, provider, caller and encryption key are used again. */
  seeded?: TestApp
  accessLog?: Logger
  /** Another provider than the default one. */
  token?: string
  /**
   * `turn.durable-first`: whether the model may be called before the admission is durable. By default not, so that a test whose model has been
   * called can read the stored turn.
   */
  earlyRuns?: boolean
  /** A password hash as in production takes a third of a second of CPU. By default it takes some milliseconds. */
  hashesAsInProduction?: boolean
}

export type Caller = { agentId: string; apiKey: string; ownerId: string }

/** A caller and an operator of a running service, over HTTP only. */
export class TestClient {
  url: string
  adminUrl: string
  caller!: Caller

  constructor(url: string, adminUrl = url) {
    this.url = url
    this.adminUrl = adminUrl
  }

  async admin(method: string, path: string, body?: Json, headers: Record<string, string> = {}): Promise<Answer> {
    return read(
      await fetch(`${this.adminUrl}/admin/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${adminToken}`, ...(body ? { 'content-type': 'application/json' } : {}), ...headers },
        ...(body ? { body: JSON.stringify(body) } : {}),
      }),
    )
  }

  /** The JSON of the response. Fails the test if the request did not succeed. */
  async made(method: string, path: string, body?: Json, headers?: Record<string, string>): Promise<Json> {
    const answer = await this.admin(method, path, body, headers)
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`)
    return answer.json
  }

  makeProvider(model: ModelServer): Promise<Json> {
    return this.made('POST', '/providers', { name: 'scripted', kind: 'openai-compatible', base_url: model.baseUrl, api_key: 'model-key' })
  }

  /** Creates an owner with an agent on the scripted model and a key. */
  async makeCaller(options: { balanceUsd?: string; agent?: Json; key?: Json } = {}): Promise<Caller> {
    const owner = await this.made('POST', '/owners', { name: 'Test owner', balance_usd: options.balanceUsd ?? '10' })
    const agent = await this.makeAgent(owner.id, options.agent)
    const key = await this.made('POST', `/agents/${agent.id}/keys`, {
      permission: 'full',
      rate_limit: { limit: 100_000, window_seconds: 60 },
      ...options.key,
    })
    return { agentId: agent.id, apiKey: key.api_key, ownerId: owner.id }
  }

  makeAgent(ownerId: string, fields: Json = {}): Promise<Json> {
    return this.made('POST', '/agents', {
      owner_id: ownerId,
      name: 'Test agent',
      system_prompt: 'You are a test.',
      model: 'scripted/test-model',
      price: { prompt_usd_per_million: '0.15', completion_usd_per_million: '0.60' },
      ...fields,
    })
  }

  chatRequest(body: unknown, options: RequestOptions = {}): Promise<Response> {
    const caller = options.caller ?? this.caller
    const key = options.idempotencyKey ?? randomUUID()
    return fetch(`${this.url}/v1/agents/${options.agentId ?? caller.agentId}/${options.path ?? 'chat'}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${options.apiKey ?? caller.apiKey}`,
        'idempotency-key': key,
        'content-type': 'application/json',
        ...options.headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...(options.signal ? { signal: options.signal } : {}),
    })
  }

  async chat(message: string, options: RequestOptions & { user?: string } = {}): Promise<Answer> {
    return read(await this.chatRequest({ external_user_id: options.user ?? 'user-1', message }, options))
  }

  /** The events of a whole stream. If the response is not a stream, `events` is empty and `json` is the envelope. */
  async stream(message: string, options: RequestOptions & { user?: string } = {}): Promise<Answer & { events: StreamEvent[] }> {
    const answer = await read(
      await this.chatRequest({ external_user_id: options.user ?? 'user-1', message }, { ...options, path: 'chat/stream' }),
    )
    return { ...answer, events: answer.headers.get('content-type')?.startsWith('text/event-stream') ? parseEvents(answer.text) : [] }
  }

  async owner(): Promise<Json> {
    return this.made('GET', `/owners/${this.caller.ownerId}`)
  }

  async ledger(): Promise<Json[]> {
    return (await this.made('GET', `/owners/${this.caller.ownerId}/ledger?limit=100`)).data
  }

  /** The conversation of a user of the caller's key, oldest message first, from the public list. */
  async messages(user = 'user-1', caller = this.caller): Promise<Json[]> {
    const headers = { authorization: `Bearer ${caller.apiKey}` }
    const base = `${this.url}/v1/agents/${caller.agentId}/conversations`
    const list = await read(await fetch(`${base}?external_user_id=${encodeURIComponent(user)}`, { headers }))
    const conversation = list.json.data[0]
    if (!conversation) return []
    const newestFirst: Json[] = []
    for (let cursor = ''; ;) {
      const page = await read(await fetch(`${base}/${conversation.conversation_id}/messages?limit=100${cursor}`, { headers }))
      newestFirst.push(...page.json.data)
      if (page.json.next_cursor === null) return newestFirst.toReversed()
      cursor = `&cursor=${page.json.next_cursor}`
    }
  }
}

export class TestApp extends TestClient {
  readonly app: App
  readonly model: ModelServer
  readonly folder: string
  readonly encryptionKey: Uint8Array
  readonly data: StoreUnderTest
  readonly #ownsFolder: boolean
  readonly #ownsModel: boolean
  #closed = false

  constructor(
    app: App,
    parts: { model: ModelServer; folder: string; encryptionKey: Uint8Array; data: StoreUnderTest },
    options: TestAppOptions & { isPooled: boolean },
  ) {
    super(app.url, app.adminUrl)
    for (const url of [app.url, app.adminUrl]) isOurs(url)
    this.app = app
    this.model = parts.model
    this.folder = parts.folder
    this.encryptionKey = parts.encryptionKey
    this.data = parts.data
    this.#ownsFolder = options.folder === undefined && !options.isPooled
    this.#ownsModel = options.model === undefined
  }

  /** Asserts that every invariant holds. */
  async verify(): Promise<void> {
    const results = await this.app.store.read.verify()
    const broken = results.filter((result) => result.rows.length > 0)
    assert.deepEqual(broken, [], 'an invariant is broken')
  }

  /** Moves the store's clock forward. */
  moveClock(milliseconds: number): Promise<void> {
    return this.data.moveClock(this.app.store, milliseconds)
  }

  /** Rows as they are stored. */
  query(text: string): Promise<Rows> {
    return this.data.query(text)
  }

  /** How often the text occurs in the stored data. */
  occurrences(text: string): Promise<number> {
    return this.data.occurrences(text)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.app.drain()
    if (this.#ownsModel) await this.model.close()
    if (!this.#ownsFolder) return
    await this.data.drop()
    await rm(this.folder, { recursive: true, force: true })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

export type RequestOptions = {
  caller?: Caller
  apiKey?: string
  agentId?: string
  idempotencyKey?: string
  path?: string
  headers?: Record<string, string>
  signal?: AbortSignal
}

export async function startTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  const pooled = mayShareStore(options) ? await takeStore() : undefined
  const folder = options.folder ?? pooled?.folder ?? (await makeFolder())
  const model = options.model ?? (await startModelServer())
  const data = options.seeded?.data ?? pooled?.data ?? (await makeStoreUnderTest(folder))
  const encryptionKey = options.seeded?.encryptionKey ?? randomBytes(32)
  const outcome = readConfig({
    NODE_ENV: 'test',
    PORT: '0',
    TURNKEEP_DATA_DIR: folder,
    TURNKEEP_DEMO: 'off',
    TURNKEEP_DRAIN_SECONDS: '5',
    ...ampleAdminLimits,
    TURNKEEP_ADMIN_TOKEN: options.token ?? adminToken,
    TURNKEEP_ENCRYPTION_KEY: Buffer.from(encryptionKey).toString('base64'),
    ...data.env,
    ...options.env,
  })
  if (outcome.kind !== 'config') throw new Error(outcome.problems.join('\n'))
  const { config } = outcome
  const log = options.log ?? pino({ level: process.env['TEST_LOG'] ?? 'silent' })
  const failpoints = createFailpoints(config.failpoints)
  const monotonicMs = (): number => performance.now()
  const openPooled = async (store: Store): Promise<Stores> => {
    if (!config.redisUrl) return { store, window: createMemoryWindow({ monotonicMs, wallMs: Date.now }) }
    return { store, window: await createRedisWindow({ url: config.redisUrl, log, deadlineMs: patientMs }) }
  }
  const opened = pooled ? openPooled(pooled.store) : openStores(config, { monotonicMs, failpoints, log })
  const app = await startApp(config, {
    adminToken: options.token ?? adminToken,
    encryptionKeys: [encryptionKey],
    log,
    failpoints,
    compiler,
    ...(options.hashesAsInProduction ? {} : { passwordCost: { logN: 10, r: 8, p: 1 } }),
    ...(pooled ? { windowDeadlineMs: patientMs } : {}),
    stores: options.earlyRuns ? opened : opened.then((stores) => ({ ...stores, store: withLateReports(stores.store) })),
    ...(options.accessLog ? { accessLog: options.accessLog } : {}),
    ...(options.turnSettings ? { turnSettings: options.turnSettings } : {}),
    ...(options.modelSettings ? { modelSettings: options.modelSettings } : {}),
    ...(options.webhookSettings ? { webhookSettings: options.webhookSettings } : {}),
  })
  const test = new TestApp(app, { model, folder, encryptionKey, data }, { ...options, isPooled: pooled !== undefined })
  if (!options.seeded) await test.makeProvider(model)
  test.caller = options.seeded?.caller ?? (await test.makeCaller(options))
  return test
}

/** A folder or a database of the test's own outlives the app, failpoints are in the store, and some of its log lines are the store's. */
function mayShareStore({ folder, seeded, log, env = {} }: TestAppOptions): boolean {
  const own = ['TURNKEEP_FAILPOINTS', 'DATABASE_URL', 'REDIS_URL']
  return folder === undefined && seeded === undefined && log === undefined && !own.some((name) => name in env)
}

/** Compiling the schemas of the routes once per process: their number is large, and every app has the same. */
const compiler = fastifyCompiler()

/** The store, except that it reports an admission early only when it is durable. */
function withLateReports(store: Store): Store {
  const admitMany: Store['admitMany'] = async (items, onEarly) => {
    const reported: Parameters<NonNullable<typeof onEarly>>[] = []
    const outcomes = await store.admitMany(items, (...report) => void reported.push(report))
    for (const report of reported) onEarly?.(...report)
    return outcomes
  }
  return new Proxy(store, {
    get(_, name) {
      if (name === 'admitMany') return admitMany
      const value: unknown = Reflect.get(store, name)
      return typeof value === 'function' ? value.bind(store) : value
    },
  })
}

export const makeFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'turnkeep-test-'))

export async function read(response: Response): Promise<Answer> {
  const text = await response.text()
  const json = response.headers.get('content-type')?.includes('/json') ? JSON.parse(text) : {}
  return { status: response.status, headers: response.headers, json, text }
}

/** Parses a complete event stream, without comments. In a run of test/run.ts, throws if it does not match its description. */
export function parseEvents(text: string): StreamEvent[] {
  const events = splitEvents(text)
  holdEvents(events)
  return events
}

/** A part of a stream. */
export function splitEvents(text: string): StreamEvent[] {
  return text
    .split('\n\n')
    .filter((block) => block.length > 0 && !block.startsWith(':'))
    .map((block) => {
      const field = (name: string): string =>
        block
          .split('\n')
          .find((line) => line.startsWith(`${name}: `))!
          .slice(name.length + 2)
      return { event: field('event'), data: JSON.parse(field('data')) }
    })
}
