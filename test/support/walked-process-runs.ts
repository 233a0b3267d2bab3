/**
 * One store through many process runs of its server, each with its own failpoints and a load that reaches all of them: turns on both
 * transports, with and without tools, a model that refuses, a turn that takes longer than the process run, a document, an owner, a cancel,
 * an erasure, a webhook, and every key of earlier process runs without a final outcome. It keeps the outcome of each key and checks that it never
 * changes.
 *
 *     const walk = await walkProcessRuns(t, 'sqlite')
 *     const { acted, signal } = await walk.live('settle.before-commit=kill')
 *     await walk.end()                            // every key has its outcome, twice the same, and the money is right
 */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import type { TestContext } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { ampleAdminLimits } from './admin-limits.ts'
import { verify } from '../../src/store/queries/invariants.ts'
import { readPostgresSnapshot } from '../../src/store/postgres/postgres.ts'
import { readSnapshot } from '../../src/store/sqlite/sqlite.ts'
import { gate, startModelServer } from './model-server.ts'
import type { Gate, ModelServer, Reply } from './model-server.ts'
import { clockOf } from './own-postgres.ts'
import type { Sql } from '../../src/store/sql.ts'
import { makeDatabase } from './postgres-server.ts'
import { showServer } from './shown-server.ts'
import type { ShownServer } from './shown-server.ts'
import { adminToken, makeFolder, TestClient } from './test-app.ts'
import type { Json } from './test-app.ts'
import { call, threeTools } from './tool-process-runs.ts'
import type { StoreKind } from './tool-process-runs.ts'
import { startToolServer } from './tool-server.ts'
import { startReceiver } from './webhook-receiver.ts'

/** What a failpoint prints before it acts. */
export type Acted = { failpoint: string; action: string; hit: number; pid: number }
export type ProcessRun = { acted: Acted[]; pid: number; code: number | null; signal: NodeJS.Signals | null; shown: string }

export type Walk = {
  /**
   * Starts a server with these failpoints, puts it under load, and ends it with SIGTERM if nothing has ended it before. Then every
   * invariant must hold.
   */
  live(failpoints: string): Promise<ProcessRun>
  /** A last process run without failpoints. */
  end(): Promise<void>
}

type Sent = { message: string; key: string; user: string; transport: 'chat' | 'stream' }
type Final = { status: number; requestId: string; content: string | undefined }

// It takes 13 s until an expired lease is found, and longer on a busy machine.
const limitMs = 90_000
// Callers wait as instructed: a few keys at a time, on a machine that runs other servers too.
const againMs = 250
const maxAttempts = 3
// One round reaches all points except those that an earlier point prevented.
const maxRounds = 5
const ofSender = /^(claim-deliveries|webhook|end-attempts)\./
const inDrain = /^(drain|give-up|touch-keys)\./

export async function walkProcessRuns(t: TestContext, store: StoreKind): Promise<Walk> {
  const database = store === 'postgres' ? await makeDatabase() : undefined
  const [model, tools, folder, receiver] = [await startModelServer(), await startToolServer(), await makeFolder(), await startReceiver()]
  const encryptionKey = randomBytes(32).toString('base64')
  const passLeases = database && clockOf(database.url)
  const client = new TestClient('')
  const finals = new Map<Sent, Final>()
  let open: Sent[] = []
  let server: ShownServer | undefined
  let processRuns = 0
  let sends = 0
  let held = gate()
  let holding = false
  scriptModel(model, () => held)

  t.after(async () => {
    server?.child.kill('SIGKILL')
    await server?.ended
    await Promise.all([
      model.close(),
      tools.close(),
      receiver[Symbol.asyncDispose](),
      database?.drop(),
      rm(folder, { recursive: true, force: true }),
    ])
  })

  async function start(failpoints: string): Promise<ShownServer> {
    // SQLite's leases end with the lock of the folder; the clock of PostgreSQL continues without a server.
    if (processRuns++ > 0) await passLeases?.(60_000)
    server = showServer({
      ...(database ? { DATABASE_URL: database.url } : { TURNKEEP_DATA_DIR: folder }),
      TURNKEEP_DEMO: 'off',
      ...ampleAdminLimits,
      TURNKEEP_ADMIN_TOKEN: adminToken,
      TURNKEEP_ENCRYPTION_KEY: encryptionKey,
      TURNKEEP_ALLOW_PRIVATE_HOSTS: `${tools.address},${receiver.host}`,
      TURNKEEP_DRAIN_SECONDS: '0',
      TURNKEEP_FAILPOINTS: failpoints,
    })
    return server
  }

  /** Returns whether there is a server now, because a failpoint may have ended it. */
  async function ready({ shows, shown }: ShownServer): Promise<boolean> {
    const isReady = await shows('stderr', /"msg":"listening"\}\n/).then(
      () => true,
      () => false,
    )
    if (isReady) client.url = client.adminUrl = String(linesOf(shown.stderr).find(({ msg }) => msg === 'listening')!['url'])
    return isReady
  }

  const send = (message: string, transport: Sent['transport'] = 'chat'): Sent => {
    const own = `${message} ${sends++}`
    const sent = { message: own, key: randomUUID(), user: own, transport }
    open.push(sent)
    return sent
  }

  const isAlive = (): boolean => server!.child.exitCode === null && server!.child.signalCode === null

  /** Repeats it until it succeeds or the server has ended. */
  async function insist<Result>(what: string, attempt: () => Promise<Result | undefined>): Promise<Result | undefined> {
    const until = performance.now() + limitMs
    while (isAlive()) {
      // Broken connections are expected here; whether one matters is checked at the end of the walk.
      const result = await attempt().catch(() => undefined)
      if (result !== undefined) return result
      assert.ok(performance.now() < until, `${what}: nothing final within ${limitMs} ms\n${tailOf(server!.shown.stderr)}`)
      await pass(againMs)
    }
    return undefined
  }

  /** Sends it once; undefined if the outcome is not final. */
  async function ask({ message, key, user, transport }: Sent): Promise<Final | undefined> {
    const answer = await client[transport](message, { idempotencyKey: key, user })
    if (answer.status === 200 && transport === 'chat')
      return { status: 200, requestId: answer.json.request_id, content: answer.json.message.content }
    if ('events' in answer && answer.status === 200) {
      const events = answer.events as { event: string; data: Json }[]
      const last = events.at(-1)
      if (last?.event !== 'response.completed') return undefined
      const { content } = last.data.message
      const deltas = events.filter(({ event }) => event === 'response.output_text.delta').map(({ data }) => data.delta)
      assert.ok(deltas.length === 0 || deltas.join('') === content, `the deltas of "${message}" add up to its reply`)
      return { status: 200, requestId: last.data.request_id, content }
    }
    if (answer.json.error?.code !== 'internal_error') return undefined
    const { json: turn } = await client.admin('GET', `/turns/${answer.json.error.request_id}`)
    return turn.state === 'failed' ? { status: 500, requestId: answer.json.error.request_id, content: turn.failure.cause } : undefined
  }

  async function answer(sent: Sent): Promise<void> {
    const final = await insist(sent.message, () => ask(sent))
    if (!final) return
    finals.set(sent, final)
    open = open.filter((one) => one !== sent)
  }

  const made = (method: string, path: string, body?: Json) =>
    insist(`${method} ${path}`, async () => {
      const { status, json } = await client.admin(method, path, body)
      return status < 300 ? json : undefined
    })

  async function putDocument(): Promise<void> {
    const path = `/agents/${client.caller.agentId}/documents`
    const document = await made('POST', path, {
      title: `Life ${processRuns}`,
      text: `# Life ${processRuns}\n\nPut in while much else is done.\n`,
    })
    if (!document) return
    await insist('a document', async () => {
      const { json } = await client.admin('GET', `${path}/${document.id}`)
      return ['ready', 'failed'].includes(json.status) ? json : undefined
    })
  }

  /** A separate conversation, which is not requested afterwards. */
  async function erase(): Promise<void> {
    const message = `forget ${processRuns}`
    const key = randomUUID()
    const final = await insist(message, async () => {
      const { status, json } = await client.chat(message, { idempotencyKey: key, user: message })
      return status === 200 ? json : undefined
    })
    if (final) await made('DELETE', `/conversations/${final.conversation_id}`)
  }

  /** A turn whose model never answers, in the background; its key has its outcome when it is cancelled. */
  async function cancel(): Promise<void> {
    const message = `cancel ${processRuns}`
    const key = randomUUID()
    const { agentId, apiKey } = client.caller
    let requestId: string | undefined
    await insist(message, async () => {
      const { json } = await client.chat(message, { idempotencyKey: key, user: message, headers: { prefer: 'respond-async' } })
      requestId ??= json['request_id']
      if (requestId === undefined) return undefined
      const url = `${client.url}/v1/agents/${agentId}/turns/${requestId}/cancel`
      const answer = await fetch(url, { method: 'POST', headers: { authorization: `Bearer ${apiKey}` } })
      const turn = (await answer.json()) as Json
      return turn['status'] === 'cancelled' || turn['status'] === 'completed' || turn['status'] === 'failed' ? turn : undefined
    })
  }

  /** A turn that runs until the process ends; resolves when its model has been called. */
  async function hold(): Promise<void> {
    // A turn that an earlier round has stopped continues.
    held.open()
    held = gate()
    const sent = send('hold')
    holding = true
    const over = client
      .chat(sent.message, { idempotencyKey: sent.key, user: sent.user })
      .catch(() => undefined)
      .finally(() => (holding = false))
    await Promise.race([held.reached, over])
  }

  /** Until each of these points has acted, or the server has ended. One may block the load for others, so it may take another round. */
  async function load(names: string[]): Promise<void> {
    const left = (): string[] => names.filter((name) => !server!.shown.stderr.includes(`"failpoint":"${name}"`))
    for (let round = 0; isAlive() && (round === 0 || left().length > 0); round++) {
      assert.ok(round < maxRounds, `never come to: ${left().join(', ')}\n${tailOf(server!.shown.stderr)}`)
      const before = [...open]
      await hold()
      const turns = [send('look'), send('speak', 'stream'), send('refuse'), send('book')]
      const owner = made('POST', '/owners', { name: 'An owner', balance_usd: '1' })
      await Promise.all([...before.map(answer), ...turns.map(answer), owner, putDocument(), cancel(), erase()])
      // A point may have ended the turn that should continue.
      for (let more = 0; !holding && isAlive() && more < 3; more++) await hold()
      // Only a turn that runs for several seconds has its lease renewed.
      await insist('a renewal', async () => !left().some((name) => name.startsWith('renew.')) || undefined)
      // A throw in front of them costs the sender a moment.
      for (let more = 0; isAlive() && more < 20 && left().some((name) => ofSender.test(name)); more++) await pass(againMs)
    }
  }

  async function live(failpoints: string): Promise<ProcessRun> {
    const started = await start(failpoints)
    if (await ready(started)) {
      await load(namesIn(failpoints).filter((name) => !inDrain.test(name)))
      started.child.kill('SIGTERM')
    }
    const { code, signal } = await started.ended
    held.open()
    await checkRows()
    const { stderr } = started.shown
    return { acted: linesOf(stderr).filter(isActed), pid: started.child.pid!, code, signal, shown: tailOf(stderr) }
  }

  async function checkRows(): Promise<void> {
    const results = await (database ? readPostgresSnapshot(database.url, verify) : readSnapshot(folder, verify))
    for (const { sentence, rows } of results) assert.deepEqual(rows, [], sentence)
  }

  /** Every event that is stored was received, under its own ID, and nothing else was. */
  async function checkWebhook(): Promise<void> {
    const stored = async () => {
      const read = (sql: Sql) => sql.all('select e.id, d.state from events e join deliveries d on d.event_id = e.id')
      return database ? readPostgresSnapshot(database.url, read) : readSnapshot(folder, read)
    }
    await insist('the deliveries', async () => (await stored()).every(({ state }) => state === 'delivered') || undefined)
    const ids = (await stored()).map(({ id }) => String(id))
    assert.deepEqual([...new Set(receiver.received.map(({ id }) => id))].toSorted(), ids.toSorted())
  }

  async function end(): Promise<void> {
    const last = await start('')
    assert.ok(await ready(last), tailOf(last.shown.stderr))
    await Promise.all(open.map(answer))
    for (const [sent, final] of finals) {
      const { message } = sent
      assert.deepEqual(await insist(message, () => ask(sent)), final, `the answer of "${message}" stands`)
      const { state, attempts, failure } = await client.made('GET', `/turns/${final.requestId}`)
      assert.equal(state, final.status === 200 ? 'completed' : 'failed', message)
      if (final.status === 200) continue
      // As specified: what a tool with side effects did is unknown, and a turn is not run again after three deaths.
      const unknownCall = message.startsWith('book') && /side effects/.test(failure.cause)
      assert.ok(unknownCall || attempts === maxAttempts, `"${message}" failed in attempt ${attempts}: ${failure.cause}`)
    }
    const booked = tools.callsOf('/book').map(({ idempotencyKey }) => idempotencyKey)
    assert.equal(new Set(booked).size, booked.length, 'a call with side effects is made once')
    assert.equal((await client.owner()).held_usd, '0.00000000')
    await checkWebhook()
    assert.equal(await last.stop(), 0, tailOf(last.shown.stderr))
    await checkRows()
  }

  const first = await start('')
  assert.ok(await ready(first), tailOf(first.shown.stderr))
  await client.makeProvider(model)
  await client.made('POST', '/webhooks', { url: receiver.url('/'), events: ['*'] })
  const knowledge = { embedding_model: 'scripted/vectors' }
  client.caller = await client.makeCaller({ agent: { tools: threeTools(tools), knowledge } })
  await putDocument()
  // The first process run of the walk recovers an orphan, too.
  await hold()
  first.child.kill('SIGKILL')
  await first.ended
  return { live, end }
}

/** The first outcome of each message, by its text. Later ones must be equal, whatever the first one was. */
function scriptModel(model: ModelServer, held: () => Gate): void {
  const asked = new Set<string>()
  const first = (word: string, reply: () => Reply): void =>
    model.when(
      ({ lastUserMessage }) => lastUserMessage.startsWith(word) && !asked.has(lastUserMessage),
      ({ lastUserMessage }) => {
        asked.add(lastUserMessage)
        return reply()
      },
    )
  model.when(/./, ({ lastUserMessage }) => ['This ', 'is ', 'about ', lastUserMessage])
  first('refuse', () => ({ status: 400 }))
  first('hold', () => [held(), 'This was held.'])
  first('cancel', () => [held(), 'This was not cancelled.'])
  for (const tool of ['look', 'book']) model.when(new RegExp(`^${tool}`), [call(tool, { day: 'Monday' })])
  model.when(({ messages }) => messages.some(({ role }) => role === 'tool'), ['It ', 'is ', 'done.'])
  model.when(
    ({ path }) => path.endsWith('/embeddings'),
    ({ body }) => ({ json: { data: (body['input'] as string[]).map((_, index) => ({ index, embedding: [1, index] })) } }),
  )
}

const namesIn = (failpoints: string): string[] => [...failpoints.matchAll(/([a-z.-]+)=/g)].map(([, name]) => name!)

/** The lines that are complete JSON. The last line of a killed process may not be. */
const linesOf = (stderr: string): Json[] =>
  stderr.split('\n').flatMap((line) => {
    try {
      return [JSON.parse(line) as Json]
    } catch {
      return []
    }
  })

/** What a failing test prints of a log, without the lines of requests. */
const tailOf = (stderr: string): string =>
  stderr
    .split('\n')
    .filter((line) => !line.includes('"msg":"request"'))
    .slice(-40)
    .join('\n')

const isActed = (line: Json): line is Acted => typeof line['failpoint'] === 'string'
