/**
 * Our server as a user starts it, on its own store, with an owner, an agent and a key created through the admin API. Rate limits and
 * balances are high enough for everything, and every guarantee is on.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ampleAdminLimits } from '../test/support/admin-limits.ts'
import { freePort } from '../test/support/guarded-process.ts'
import { startPostgres } from '../test/support/postgres-server.ts'
import type { PostgresServer } from '../test/support/postgres-server.ts'
import { startRedis } from '../test/support/redis-server.ts'
import { lastToken, marks } from './call.ts'
import type { Call, Mode, Server, ServerOptions, Tenant } from './scenario.ts'
import { spawnServer } from './spawned.ts'

const program = fileURLToPath(new URL('../bin/turnkeep.js', import.meta.url))
const adminToken = 'bench-5e81c07f2ab94d63'
// With a log line per request, which a peer here does not write, a turn costs some 10 µs more.
const logLevel = 'warn'
const balanceUsd = '1000000'
const rateLimit = { limit: 1_000_000, window_seconds: 60 }
const price = { prompt_usd_per_million: '0.15', completion_usd_per_million: '0.6' }

export type Preload = { library: string; environment: Record<string, string> }

/**
 * `folder` is an empty one for logs and data; `modelUrl` is the provider's base_url; `preload` slows the flushes of the process that writes
 * the store.
 */
export type Place = { folder: string; modelUrl: string; preload: Preload | undefined }

export async function startTurnkeep(options: ServerOptions, { folder, modelUrl, preload }: Place): Promise<Server> {
  const slowed = preload ? { LD_PRELOAD: preload.library, ...preload.environment } : {}
  const backends = options.store === 'postgres' ? await startBackends(slowed) : undefined
  const data = options.folder ?? join(folder, 'data')
  mkdirSync(data, { recursive: true })
  const port = await freePort()
  const base = `http://127.0.0.1:${port}`
  const spawned = await spawnServer({
    command: process.execPath,
    args: [...(options.nodeArguments ?? []), program, 'serve'],
    env: {
      NODE_ENV: 'production',
      PORT: String(port),
      TURNKEEP_DATA_DIR: data,
      TURNKEEP_ADMIN_TOKEN: adminToken,
      TURNKEEP_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
      TURNKEEP_DEMO: 'off',
      ...ampleAdminLimits,
      TURNKEEP_LOG_LEVEL: logLevel,
      ...(backends ? { DATABASE_URL: backends.postgres.url, REDIS_URL: backends.redis.url } : slowed),
      ...options.env,
    },
    ready: `${base}/readyz`,
    readyIs200: true,
    folder,
    ...(options.openFiles === undefined ? {} : { openFiles: options.openFiles }),
  }).catch(async (error: unknown) => {
    await backends?.stop()
    throw error
  })
  const from = new Date().toISOString()

  const admin: Server['admin'] = async (method, path, body) => {
    const response = await fetch(`${base}/admin/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const answer = (await response.json()) as Record<string, unknown>
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`)
    return answer
  }

  async function makeTenant(changes: Record<string, unknown> = {}): Promise<Tenant> {
    const owner = await admin('POST', '/owners', { name: 'bench', balance_usd: balanceUsd })
    const agent = { name: 'bench', system_prompt: 'You are a helpful assistant.', model: 'bench/model', price, ...changes }
    const { id } = await admin('POST', '/agents', { owner_id: owner['id'], ...agent })
    const key = await admin('POST', `/agents/${String(id)}/keys`, { permission: 'full', rate_limit: rateLimit })
    return tenantOf({ ownerId: String(owner['id']), agentId: String(id), apiKey: String(key['api_key']) })
  }

  // An existing folder already has it.
  const { data: providers } = (await admin('GET', '/providers')) as { data: { name: string }[] }
  if (!providers.some(({ name }) => name === 'bench')) {
    await admin('POST', '/providers', { name: 'bench', kind: 'openai-compatible', base_url: modelUrl, api_key: 'none' })
  }
  const tenant = await makeTenant()
  return {
    name: 'turnkeep',
    base,
    pid: spawned.pid,
    folder: data,
    startMs: spawned.startMs,
    tenant,
    call: tenant.call,
    makeTenant,
    admin,
    async usage() {
      const { totals } = (await admin('GET', `/usage?from=${from}`)) as { totals: Record<'completed' | 'failed' | 'released', number> }
      return { completed: totals.completed, failed: totals.failed, released: totals.released }
    },
    ...(backends ? { databaseUrl: backends.postgres.url, databasePids: [backends.postgres.pid, backends.redis.pid] } : {}),
    async stop() {
      await spawned.stop()
      await backends?.stop()
    },
  }
}

function tenantOf(made: { ownerId: string; agentId: string; apiKey: string }): Tenant {
  return {
    ...made,
    call: (mode: Mode, label): Call => ({
      path: `/v1/agents/${made.agentId}/${mode === 'sync' ? 'chat' : 'chat/stream'}`,
      headers: { authorization: `Bearer ${made.apiKey}`, 'idempotency-key': marks.key },
      body: JSON.stringify({ external_user_id: marks.user, message: marks.text }),
      // The last token, and the last event of a stream.
      whole: mode === 'sync' ? [lastToken] : [lastToken, 'event: response.completed'],
      ...(label === undefined ? {} : { label }),
    }),
  }
}

// The settings of tests save memory; a measured server has those of a small server in production.
const postgresLines = ['shared_buffers = 256MB', 'max_wal_size = 2GB', 'autovacuum_naptime = 1min']

async function startBackends(slowed: Record<string, string>) {
  // PostgreSQL inherits the environment of this process, and nothing else is started meanwhile.
  Object.assign(process.env, slowed)
  let postgres: PostgresServer
  try {
    postgres = await startPostgres({ durable: true, lines: postgresLines })
  } finally {
    for (const name of Object.keys(slowed)) delete process.env[name]
  }
  const redis = await startRedis()
  return {
    postgres,
    redis,
    async stop() {
      await postgres.stop('fast')
      await redis.stop()
    },
  }
}
