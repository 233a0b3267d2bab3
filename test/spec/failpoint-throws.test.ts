/**
 * What a caller receives when the code throws at a failpoint, and what the same key gets then: immediately, and after leases have expired.
 * In every case the ledger is correct. That every failpoint can throw and that only those of start and drain end the process is tested in
 * race/every-failpoint.ts.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import type { FailpointName } from '../../src/failpoints.ts'
import { storeKind } from '../support/store-under-test.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Answer, TestApp } from '../support/test-app.ts'
import { call, threeTools } from '../support/tool-process-runs.ts'
import { startToolServer } from '../support/tool-server.ts'

/** A reply, or an error code. */
type Seen = 'reply' | 'broken' | '500 internal_error' | '503 service_unavailable' | '503 api_rate_limit_unavailable' | 'in progress'

type Thrown = {
  points: FailpointName[]
  /** The turn calls `book`, which has side effects, or `look`, which has none; or its model refuses it, the first time. */
  turn?: 'book' | 'look' | 'refused'
  sees: Seen
  retryNow: Seen
  retryLater: Seen
  toolCalls?: number
}

const unavailable = '503 service_unavailable'
const fault = '500 internal_error'

const table: Thrown[] = [
  {
    points: ['limiter.before-spend', 'limiter.after-spend'],
    sees: '503 api_rate_limit_unavailable',
    retryNow: 'reply',
    retryLater: 'reply',
  },
  { points: ['admit.before-commit'], sees: fault, retryNow: 'reply', retryLater: 'reply' },
  // The batch is rolled back, and its item is admitted alone.
  { points: ['admit.early'], sees: 'reply', retryNow: 'reply', retryLater: 'reply' },
  { points: ['admit.after-commit'], sees: fault, retryNow: 'in progress', retryLater: 'reply' },
  { points: ['model.before-call', 'model.first-delta', 'model.delta'], sees: fault, retryNow: 'reply', retryLater: 'reply' },
  {
    points: ['advance.before-commit', 'advance.after-commit'],
    turn: 'look',
    sees: fault,
    retryNow: 'reply',
    retryLater: 'reply',
    toolCalls: 1,
  },
  { points: ['tool.before-call'], turn: 'look', sees: fault, retryNow: 'reply', retryLater: 'reply', toolCalls: 1 },
  { points: ['tool.after-call'], turn: 'look', sees: fault, retryNow: 'reply', retryLater: 'reply', toolCalls: 2 },
  {
    points: ['advance.before-commit', 'advance.after-commit', 'tool.before-call'],
    turn: 'book',
    sees: fault,
    retryNow: fault,
    retryLater: fault,
    toolCalls: 0,
  },
  { points: ['tool.after-call'], turn: 'book', sees: fault, retryNow: fault, retryLater: fault, toolCalls: 1 },
  { points: ['tool.after-journal'], turn: 'book', sees: fault, retryNow: 'reply', retryLater: 'reply', toolCalls: 1 },
  { points: ['model.done', 'settle.before-commit'], sees: unavailable, retryNow: 'in progress', retryLater: 'reply' },
  { points: ['fail.before-commit'], turn: 'refused', sees: unavailable, retryNow: 'in progress', retryLater: 'reply' },
  { points: ['settle.after-commit', 'reply.before-send'], sees: unavailable, retryNow: 'reply', retryLater: 'reply' },
  { points: ['fail.after-commit'], turn: 'refused', sees: unavailable, retryNow: 'reply', retryLater: 'reply' },
  { points: ['answer.before-send'], sees: fault, retryNow: 'reply', retryLater: 'reply' },
  { points: ['stream.before-created', 'stream.before-delta', 'stream.before-end'], sees: 'broken', retryNow: 'reply', retryLater: 'reply' },
]

// A batch that failed as a whole is retried item by item, and the item is to fail too; on SQLite what was committed is not repeated.
const isAgain = (point: FailpointName): boolean =>
  point.endsWith('.before-commit') || (point.endsWith('.after-commit') && storeKind === 'postgres')

function scriptModel({ model }: TestApp, turn: Thrown['turn']): void {
  let asked = 0
  model.when(/./, () => {
    asked++
    if (turn === 'refused' && asked === 1) return { status: 400 }
    return turn === 'book' || turn === 'look' ? [call(turn, { day: 'Monday' })] : 'fine'
  })
  model.when(
    ({ messages }) => messages.some(({ role }) => role === 'tool'),
    () => 'fine',
  )
}

function reportedBy({ status, json }: Answer): Seen {
  if (status === 200) return 'reply'
  const { code } = json.error
  return code === 'idempotency_in_progress' ? 'in progress' : (`${status} ${code}` as Seen)
}

/** Where PostgreSQL behaves differently; the other points are in code that does not depend on the store. */
const isOfStore = (point: FailpointName): boolean => storeKind === 'sqlite' || point.endsWith('-commit') || point === 'admit.early'

for (const { points, turn, sees, retryNow, retryLater, toolCalls = 0 } of table)
  for (const point of points.filter(isOfStore)) {
    const what = turn === undefined ? '' : turn === 'refused' ? ', refused by its model' : ` of a turn that calls ${turn}`
    void test(`unavailable.unknown billing.once: ${point} throws${what}: ${sees}, then ${retryNow}, in the end ${retryLater}`, async (t) => {
      const tools = await startToolServer()
      t.after(() => tools.close())
      const failpoints = (isAgain(point) ? [1, 2] : [1]).map((hit) => `${point}=throw@${hit}`)
      const env = { TURNKEEP_ALLOW_PRIVATE_HOSTS: tools.address, TURNKEEP_FAILPOINTS: failpoints.join(';') }
      await using app = await startTestApp({ env, agent: { tools: threeTools(tools) } })
      scriptModel(app, turn)
      const idempotencyKey = randomUUID()
      const ask = (): Promise<Seen> => app.chat('hello', { idempotencyKey }).then(reportedBy)
      if (point.startsWith('stream.')) await assert.rejects(app.stream('hello', { idempotencyKey }))
      else assert.equal(await ask(), sees)
      const untilEnded = async (): Promise<Seen> => {
        for (let tries = 0; tries < 300; tries++) {
          const reported = await ask()
          if (reported !== 'in progress') return reported
          await pass(50)
        }
        return 'in progress'
      }
      // A stream ends before its turn has ended.
      assert.equal(await (sees === 'broken' ? untilEnded() : ask()), retryNow)
      await app.moveClock(60_000)
      assert.equal(await untilEnded(), retryLater)
      assert.equal(await ask(), retryLater)
      assert.equal(tools.calls.length, toolCalls)
      assert.equal((await app.ledger()).filter(({ kind }) => kind === 'charge').length, retryLater === 'reply' ? 1 : 0)
      assert.equal((await app.messages()).length, retryLater === 'reply' ? 2 : 0)
      assert.equal((await app.owner()).held_usd, '0.00000000')
      await app.verify()
    })
  }
