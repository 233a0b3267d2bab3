/** What a turn sends to a store whose response does not arrive: the same settlement again, on the real store. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { pino } from 'pino'
import type { Agents } from '../../src/agent/agent.ts'
import { createFailpoints } from '../../src/failpoints.ts'
import { createIds } from '../../src/ids.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import type { Settlement } from '../../src/store/turn-records.ts'
import type { Store } from '../../src/store/store.ts'
import { createTurns } from '../../src/turn/turn.ts'
import { Bench } from '../store/conformance.ts'
import { openOwnStore } from '../support/own-store.ts'
import { plainTokens } from '../support/token-kinds.ts'

void test('billing.once: a repeated settlement is the same one: its ids are created once per turn, not once per try', async (t) => {
  const store = await openOwnStore(t)
  const bench = await Bench.make(store, 1_000_000n)
  const asked: Settlement[] = []
  const lost: Store = {
    ...store,
    async settleMany(items) {
      asked.push(...items)
      if (asked.length < 3) throw new StoreUnavailable('the connection is lost')
      return store.settleMany(items)
    },
  }
  const usage = plainTokens(20, 5)
  const agents: Agents = {
    generate: async () => ({
      kind: 'reply',
      finishReason: 'stop',
      text: 'good day',
      usage,
      usageEstimated: false,
      toolCallsPrice: 0,
      citations: [],
    }),
  }
  const log = pino({ level: 'silent' })
  const turns = createTurns({ store: lost, agents, failpoints: createFailpoints(''), log, metrics: createMetrics(), ...createIds() })
  const { apiKeyId, agentId, ownerId: shareOf } = bench
  const started = await turns.begin({
    apiKeyId,
    agentId,
    idempotencyKey: randomUUID(),
    externalUserId: 'ann',
    message: 'hello',
    traceparent: null,
    shareOf,
  })
  assert.ok(started.kind === 'running', started.kind)
  const end = await started.turn.end
  assert.ok(end.kind === 'completed', end.kind)
  assert.deepEqual(asked, [asked[0], asked[0], asked[0]])
  assert.equal(end.reply.messageId, asked[0]!.assistantMessageId)
  const entries = await store.read.listLedger({ ownerId: bench.ownerId }, { limit: 1, before: { createdAt: 2 ** 52, id: '' } })
  assert.equal(entries[0]!.id, asked[0]!.ledgerEntryId)
  await bench.verify()
})
