/**
 * An agent with tools through several process runs of its server, on either store: real processes that are killed and restarted, with a
 * model server and a tool server that keep running. Its tools are `book` and `cancel`, with side effects, and `look`, without. A call of each
 * costs a cent.
 *
 *     const lives = await ToolProcessRuns.begin(t, { store: 'postgres', failpoints: 'tool.after-call=kill' })
 *     lives.model.script([call('book', { day: 'Monday' })], 'Booked.')
 *     await lives.send('book it', key)             // undefined if the server died
 *     await lives.restart()
 *     const answer = await lives.retry('book it', key)
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import type { TestContext } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { ampleAdminLimits } from './admin-limits.ts'
import { verify } from '../../src/store/queries/invariants.ts'
import { readPostgresSnapshot } from '../../src/store/postgres/postgres.ts'
import { readSnapshot } from '../../src/store/sqlite/sqlite.ts'
import { startModelServer } from './model-server.ts'
import type { ModelServer, Part } from './model-server.ts'
import { clockOf } from './own-postgres.ts'
import { makeDatabase, noPostgres } from './postgres-server.ts'
import { startServer } from './server-process.ts'
import type { ServerProcess } from './server-process.ts'
import { adminToken, makeFolder, TestClient } from './test-app.ts'
import type { Answer, Json } from './test-app.ts'
import { startToolServer } from './tool-server.ts'
import type { ToolServer } from './tool-server.ts'

export type StoreKind = 'sqlite' | 'postgres'

/** For the `skip` option of a test. */
export const missing = (store: StoreKind): string | false => (store === 'postgres' ? noPostgres() : false)

/** A tool call as a part of a scripted answer. */
export const call = (name: string, given: object | string, id = 'call-1'): Part => ({
  toolCall: { id, name, arguments: typeof given === 'string' ? given : JSON.stringify(given) },
})

/** The fields of an HTTP tool that takes one text, `day`. */
export const dayTool = (server: ToolServer, name: string, fields: Json = {}): Json => ({
  type: 'http',
  name,
  description: `Use it to ${name}.`,
  parameters: { type: 'object', properties: { day: { type: 'string' } }, required: ['day'], additionalProperties: false },
  method: 'POST',
  url: `${server.baseUrl}/${name}`,
  ...fields,
})

export const threeTools = (server: ToolServer): Json[] => [
  dayTool(server, 'book'),
  dayTool(server, 'look', { side_effects: false }),
  dayTool(server, 'cancel'),
]

// A busy machine refuses requests that it cannot serve in time.
const comeBack = new Set<unknown>(['idempotency_in_progress', 'service_unavailable', 'api_rate_limit_unavailable'])
// A start, or the recovery of a turn, takes less than this on any machine.
const limitMs = 90_000

export class ToolProcessRuns {
  readonly model: ModelServer
  readonly tools: ToolServer
  readonly client = new TestClient('')
  readonly #folder: string
  readonly #databaseUrl: string | undefined
  readonly #encryptionKey = randomBytes(32).toString('base64')
  server: ServerProcess | undefined

  private constructor(parts: { model: ModelServer; tools: ToolServer; folder: string; databaseUrl: string | undefined }) {
    this.model = parts.model
    this.tools = parts.tools
    this.#folder = parts.folder
    this.#databaseUrl = parts.databaseUrl
  }

  static async begin(
    t: TestContext,
    { store, failpoints = '', env = {}, agent = {} }: { store: StoreKind; failpoints?: string; env?: Record<string, string>; agent?: Json },
  ): Promise<ToolProcessRuns> {
    const database = store === 'postgres' ? await makeDatabase() : undefined
    const [model, tools, folder] = [await startModelServer(), await startToolServer(), await makeFolder()]
    const processRuns = new ToolProcessRuns({ model, tools, folder, databaseUrl: database?.url })
    t.after(async () => {
      await processRuns.server?.kill()
      await Promise.all([model.close(), tools.close(), database?.drop(), rm(folder, { recursive: true, force: true })])
    })
    await processRuns.start(failpoints, env)
    await processRuns.client.makeProvider(model)
    processRuns.client.caller = await processRuns.client.makeCaller({
      agent: { tools: threeTools(tools).map((tool) => ({ ...tool, price_usd: '0.01' })), ...agent },
    })
    return processRuns
  }

  async start(failpoints = '', env: Record<string, string> = {}): Promise<void> {
    this.server = await startServer({
      ...(this.#databaseUrl === undefined ? { TURNKEEP_DATA_DIR: this.#folder } : { DATABASE_URL: this.#databaseUrl }),
      TURNKEEP_DEMO: 'off',
      ...ampleAdminLimits,
      TURNKEEP_ADMIN_TOKEN: adminToken,
      TURNKEEP_ENCRYPTION_KEY: this.#encryptionKey,
      TURNKEEP_ALLOW_PRIVATE_HOSTS: this.tools.address,
      TURNKEEP_FAILPOINTS: failpoints,
      ...env,
    })
    this.client.url = this.client.adminUrl = this.server.url
  }

  /**
   * The next process run, after the previous one has ended. The leases of the dead process are over: on PostgreSQL its clock is moved
   * instead of waiting.
   */
  async restart(failpoints = ''): Promise<void> {
    await this.server!.exited
    if (this.#databaseUrl !== undefined) await clockOf(this.#databaseUrl)(60_000)
    await this.start(failpoints)
  }

  /** Retries with the same key, as callers should, until the outcome is final; undefined if a response was cut off. */
  async send(message: string, idempotencyKey: string): Promise<Answer | undefined> {
    const until = performance.now() + limitMs
    for (;;) {
      const answer = await this.client.chat(message, { idempotencyKey }).catch(() => undefined)
      if (answer === undefined || !comeBack.has(answer.json.error?.code)) return answer
      assert.ok(performance.now() < until, `no final answer within ${limitMs} ms, but ${answer.text}`)
      await pass(50)
    }
  }

  /** Like `send`, for a server that must not end. */
  async retry(message: string, idempotencyKey: string): Promise<Answer> {
    const answer = await this.send(message, idempotencyKey)
    assert.ok(answer, 'the answer broke off')
    return answer
  }

  async charges(): Promise<number> {
    return (await this.client.ledger()).filter(({ kind }) => kind === 'charge').length
  }

  /** Nothing is held, and every invariant holds. */
  async verify(): Promise<void> {
    assert.equal((await this.client.owner()).held_usd, '0.00000000')
    const results = this.#databaseUrl === undefined ? readSnapshot(this.#folder, verify) : readPostgresSnapshot(this.#databaseUrl, verify)
    assert.deepEqual(
      (await results).filter(({ rows }) => rows.length > 0),
      [],
    )
  }
}
