/**
 * One data folder through several process runs of its server: a process that is killed and restarted, with a model server that keeps
 * running.
 */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import type { TestContext } from 'node:test'
import { ampleAdminLimits } from './admin-limits.ts'
import { verify } from '../../src/store/queries/invariants.ts'
import { readSnapshot } from '../../src/store/sqlite/sqlite.ts'
import { startModelServer } from './model-server.ts'
import type { ModelServer } from './model-server.ts'
import { startServer } from './server-process.ts'
import type { ServerProcess } from './server-process.ts'
import { adminToken, makeFolder, TestClient } from './test-app.ts'
import type { Answer } from './test-app.ts'

export class ProcessRuns {
  readonly folder: string
  readonly model: ModelServer
  readonly client = new TestClient('')
  /** Additional settings of every process run. */
  readonly env: Record<string, string>
  server: ServerProcess | undefined

  constructor(folder: string, model: ModelServer, env: Record<string, string> = {}) {
    this.folder = folder
    this.model = model
    this.env = env
  }

  /** The first process run, with a provider, owner, agent and key; `failpoints` as in TURNKEEP_FAILPOINTS. */
  static async begin(
    t: TestContext,
    failpoints = '',
    { folder, env = {} }: { folder?: string; env?: Record<string, string> } = {},
  ): Promise<ProcessRuns> {
    const processRuns = new ProcessRuns(folder ?? (await makeFolder()), await startModelServer(), env)
    t.after(async () => {
      await processRuns.server?.kill()
      await processRuns.model.close()
      await rm(processRuns.folder, { recursive: true, force: true })
    })
    await processRuns.start(failpoints)
    await processRuns.client.makeProvider(processRuns.model)
    processRuns.client.caller = await processRuns.client.makeCaller()
    return processRuns
  }

  async start(failpoints = ''): Promise<void> {
    this.server = await startServer({
      TURNKEEP_DATA_DIR: this.folder,
      TURNKEEP_DEMO: 'off',
      ...ampleAdminLimits,
      TURNKEEP_ADMIN_TOKEN: adminToken,
      TURNKEEP_FAILPOINTS: failpoints,
      ...this.env,
    })
    this.client.url = this.client.adminUrl = this.server.url
  }

  /** Sends with the same key until the outcome is final. The service says when to retry. */
  async retry(message: string, options: { idempotencyKey: string; user?: string }): Promise<Answer> {
    for (;;) {
      const answer = await this.client.chat(message, options)
      if (answer.status !== 409) return answer
    }
  }

  /**
   * A new process run ends the turn that the previous one left: the model is called once more, the turn is answered, stored and charged
   * once, and nothing is held.
   */
  async startAndAnswer(message: string, reply: string, idempotencyKey: string): Promise<void> {
    await this.start()
    const answer = await this.retry(message, { idempotencyKey })
    assert.deepEqual([answer.status, answer.json.message?.content], [200, reply], answer.text)
    assert.equal(this.model.calls.length, 2)
    assert.equal(await this.charges(), 1)
    assert.deepEqual(
      (await this.client.messages()).map(({ content }) => content),
      [message, reply],
    )
    assert.equal((await this.client.owner()).held_usd, '0.00000000')
    await this.verify()
  }

  async charges(): Promise<number> {
    return (await this.client.ledger()).filter(({ kind }) => kind === 'charge').length
  }

  /** Every invariant holds in the stored rows, whether or not a server is running. */
  async verify(): Promise<void> {
    const broken = (await readSnapshot(this.folder, verify)).filter(({ rows }) => rows.length > 0)
    assert.deepEqual(broken, [])
  }
}
