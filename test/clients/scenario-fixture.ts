/**
 * The service behind the scenarios: `turnkeep serve` in separate processes, on SQLite, with one scripted model. Most scenarios share a
 * process. One that kills it has one to itself for as long as it runs, and one that disables its limiter has a separate one. Creates owner,
 * agent and key of each, and returns what is stored at the end.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pass } from 'node:timers/promises'
import { ampleAdminLimits } from '../support/admin-limits.ts'
import { runCommand } from '../support/run-command.ts'
import { startServer } from '../support/server-process.ts'
import type { ServerProcess } from '../support/server-process.ts'
import { adminToken, TestClient } from '../support/test-app.ts'
import type { Caller } from '../support/test-app.ts'
import type { Stored } from './scenario-file.ts'
import { startScenarioModel } from './scenario-model.ts'
import type { ScenarioModel } from './scenario-model.ts'

export type StoredMessage = { id: string; role: string; content: string; requestId: string }
/** Of one agent. `messages` are all of its conversations, oldest first. */
export type Found = Stored & { chargesUsd: string[]; texts: StoredMessage[] }

/** One process with its data, its admin token and its log. */
/** What the fixture reads of the items of any list. */
type Listed = StoredMessage & { kind: string; amount_usd: string; request_id: string }

export class Service {
  readonly admin: TestClient
  readonly #folder: string
  readonly #env: Record<string, string>
  #process: ServerProcess

  private constructor(process: ServerProcess, folder: string, env: Record<string, string>) {
    this.#process = process
    this.#folder = folder
    this.#env = env
    this.admin = new TestClient(process.url)
  }

  /** `limiterFailsAt`: the request of this process, counted from 1, whose window is unavailable. */
  static async start(model: ScenarioModel, limiterFailsAt?: number): Promise<Service> {
    const folder = await mkdtemp(join(tmpdir(), 'turnkeep-scenarios-'))
    const env = {
      TURNKEEP_DATA_DIR: folder,
      TURNKEEP_DEMO: 'off',
      ...ampleAdminLimits,
      TURNKEEP_ADMIN_TOKEN: adminToken,
      TURNKEEP_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    }
    const failpoints = limiterFailsAt === undefined ? '' : `limiter.before-spend=throw@${limiterFailsAt}`
    const service = new Service(await startServer({ ...env, TURNKEEP_FAILPOINTS: failpoints }), folder, env)
    const provider = { name: 'scripted', kind: 'openai-compatible', base_url: model.baseUrl, api_key: 'model-key' }
    await service.admin.made('POST', '/providers', provider)
    return service
  }

  get url(): string {
    return this.#process.url
  }

  kill(): Promise<void> {
    return this.#process.kill()
  }

  async restart(): Promise<void> {
    this.#process = await startServer(this.#env)
    this.admin.url = this.#process.url
    this.admin.adminUrl = this.#process.url
  }

  /** Resolves when no turn of the agent is running. */
  async turnsEnded(agentId: string): Promise<void> {
    for (;;) {
      const running = await this.admin.made('GET', `/turns?agent_id=${agentId}&status=running`)
      if (running['data'].length === 0) return
      await pass(20)
    }
  }

  async find({ agentId, ownerId }: Caller): Promise<Found> {
    // A page of large messages may hold only one of them.
    const list = async (path: string, cursor = ''): Promise<Listed[]> => {
      const { data, next_cursor: next } = await this.admin.made('GET', `${path}limit=100${cursor}`)
      return next === null ? data : [...data, ...(await list(path, `&cursor=${encodeURIComponent(next)}`))]
    }
    const turns = await list(`/turns?agent_id=${agentId}&`)
    const charges = (await list(`/owners/${ownerId}/ledger?`)).filter(({ kind }: { kind: string }) => kind === 'charge')
    const texts: StoredMessage[] = []
    for (const { id } of await list(`/conversations?agent_id=${agentId}&`))
      for (const message of await list(`/conversations/${id}/messages?`)) texts.unshift({ ...message, requestId: message.request_id })
    const chargesUsd = charges.map((charge: { amount_usd: string }) => charge.amount_usd.replace('-', ''))
    return { turns: turns.length, charges: charges.length, messages: texts.length, chargesUsd, texts }
  }

  /** Ends the process; throws if `turnkeep verify` finds a violated invariant. */
  async end(): Promise<void> {
    await this.#process.stop()
    try {
      const { code, stdout, stderr } = await runCommand(['verify'], { TURNKEEP_DATA_DIR: this.#folder })
      assert.equal(code, 0, `turnkeep verify: ${stdout}${stderr}`)
    } finally {
      await rm(this.#folder, { recursive: true, force: true })
    }
  }
}

// Scenarios that kill a server wait for each other rather than start more servers, which is most of what they cost. With fewer, too many
// of those that run at once would wait.
const maxKilled = 4

/** The shared process, those that are killed, the model, and an address that no key may ever be sent to. */
export class ScenarioFixture {
  readonly model: ScenarioModel
  readonly #killed: Service[] = []
  #starting = 0
  readonly #idle: Service[] = []
  readonly #waiting: ((service: Service) => void)[] = []
  readonly shared: Service
  /** Of the target of redirects. */
  readonly elsewhere: string
  /** Requests that it received; there must be none. */
  readonly strayed: string[]
  readonly #closeElsewhere: () => void

  private constructor(model: ScenarioModel, shared: Service, elsewhere: { url: string; strayed: string[]; close: () => void }) {
    this.model = model
    this.shared = shared
    this.elsewhere = elsewhere.url
    this.strayed = elsewhere.strayed
    this.#closeElsewhere = elsewhere.close
  }

  static async open(): Promise<ScenarioFixture> {
    const [model, elsewhere] = await Promise.all([startScenarioModel(), startElsewhere()])
    return new ScenarioFixture(model, await Service.start(model), elsewhere)
  }

  /** A service that no other scenario uses until `release`, with the data of those that used it earlier. */
  async take(): Promise<Service> {
    const idle = this.#idle.pop()
    if (idle) return idle
    if (this.#killed.length + this.#starting >= maxKilled) return new Promise((resolve) => this.#waiting.push(resolve))
    this.#starting++
    try {
      const service = await Service.start(this.model)
      this.#killed.push(service)
      return service
    } finally {
      this.#starting--
    }
  }

  release(service: Service): void {
    const next = this.#waiting.shift()
    if (next) next(service)
    else this.#idle.push(service)
  }

  /** Throws if the data of a shared process violate an invariant. */
  async close(): Promise<void> {
    try {
      for (const service of [this.shared, ...this.#killed]) await service.end()
    } finally {
      this.#closeElsewhere()
      await this.model.close()
    }
  }
}

async function startElsewhere(): Promise<{ url: string; strayed: string[]; close: () => void }> {
  const strayed: string[] = []
  const server = createServer((request, response) => {
    strayed.push(`${request.method} ${request.url}`)
    response.writeHead(200, { 'content-type': 'text/html' }).end('Elsewhere')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, strayed, close: () => server.close().closeAllConnections() }
}
