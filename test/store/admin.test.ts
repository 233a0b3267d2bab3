/** The operator's reads and writes on a real store: concurrent calls, and what a held balance allows. */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { createAdmin } from '../../src/admin/admin.ts'
import { maxAmount } from '../../src/ledger/ledger.ts'
import { createSealer } from '../../src/config/secrets.ts'
import type { AgentContent } from '../../src/store/queries/agent-versions.ts'
import { agentModules } from '../support/agent-modules.ts'
import { openOwnStore } from '../support/own-store.ts'
import { Bench } from './conformance.ts'
import type { TestStore } from './conformance.ts'

const allVersions = { limit: 100, before: { createdAt: Number.MAX_SAFE_INTEGER, id: '' } }

function check(title: string, body: (bench: Bench) => Promise<void>, balance = 1_000_000n): void {
  void test(title, async (t) => {
    const bench = await Bench.make(await openOwnStore(t), balance)
    await body(bench)
    await bench.verify()
  })
}

const append = (bench: Bench, amount: bigint, idempotencyKey: string = randomUUID(), note: string | null = null) =>
  bench.store.write.appendLedgerEntry({
    id: `led_${randomUUID()}`,
    ownerId: bench.ownerId,
    idempotencyKey,
    amount,
    note,
    maxBalance: maxAmount,
  })

const kinds = (outcomes: { kind: string }[], kind: string): number => outcomes.filter((outcome) => outcome.kind === kind).length

check(
  'balance_never_negative: of 20 concurrent withdrawals on a balance that covers 7, 7 become entries',
  async (bench) => {
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => append(bench, -10n)))
    assert.equal(kinds(outcomes, 'appended'), 7)
    assert.equal(kinds(outcomes, 'below_held'), 13)
    assert.deepEqual(await bench.money(), { balance: 5n, held: 0n })
  },
  75n,
)

check('billing.hold: the amount held for a running turn cannot be withdrawn until the turn has ended', async (bench) => {
  const turn = await bench.admitted()
  const { balance } = await bench.money()
  assert.equal((await append(bench, -balance)).kind, 'below_held')
  assert.equal((await append(bench, -(balance - turn.hold))).kind, 'appended')
  assert.equal((await append(bench, -1n)).kind, 'below_held')
  await bench.fail(turn, 'released')
  assert.equal((await append(bench, -turn.hold)).kind, 'appended')
  assert.deepEqual(await bench.money(), { balance: 0n, held: 0n })
})

check('one_entry_per_key: 20 concurrent calls with one key and body create one entry, another body is a conflict', async (bench) => {
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => append(bench, 5n, 'top-up', 'May')))
  const ids = new Set(outcomes.map((outcome) => (outcome.kind === 'appended' ? outcome.entry.id : outcome.kind)))
  assert.equal(ids.size, 1)
  assert.deepEqual(await bench.money(), { balance: 1_000_005n, held: 0n })
  assert.equal((await append(bench, 6n, 'top-up', 'May')).kind, 'idempotency_conflict')
  assert.equal((await append(bench, 5n, 'top-up', 'June')).kind, 'idempotency_conflict')
  assert.equal((await append(bench, 5n, 'top-up', null)).kind, 'idempotency_conflict')
})

check('ledger: a balance has an upper bound, and an unknown owner has no balance', async (bench) => {
  assert.equal((await append(bench, maxAmount)).kind, 'above_largest_balance')
  assert.equal((await append(bench, maxAmount - 1_000_000n)).kind, 'appended')
  const unknown = await bench.store.write.appendLedgerEntry({
    id: 'led_x',
    ownerId: 'own_x',
    idempotencyKey: 'k',
    amount: 1n,
    note: null,
    maxBalance: maxAmount,
  })
  assert.deepEqual(unknown, { kind: 'owner_not_found' })
})

check('agents: of 20 changes based on one version, one is written and 19 are stale', async (bench) => {
  const { present } = (await bench.store.read.findAgent(bench.agentId))!
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      bench.store.write.changeAgent({
        id: bench.agentId,
        next: { after: 1, provider: null, content: { ...contentOf(present), name: `n${n}` } },
      }),
    ),
  )
  assert.equal(kinds(outcomes, 'changed'), 1)
  assert.equal(kinds(outcomes, 'stale'), 19)
  const versions = await bench.store.read.listAgentVersions(bench.agentId, allVersions)
  assert.deepEqual(
    versions.map(({ version, name }) => [version, name]),
    [
      [2, 'n0'],
      [1, 'n'],
    ],
  )
})

const contentOf = ({
  id: _,
  agentId: __,
  version: ___,
  createdAt: ____,
  ...content
}: AgentContent & Record<string, unknown>): AgentContent => content

check('agents: versions are newest first, page by page', async (bench) => {
  const { present } = (await bench.store.read.findAgent(bench.agentId))!
  for (let after = 1; after < 12; after++) {
    await bench.store.write.changeAgent({
      id: bench.agentId,
      next: { after, provider: null, content: { ...contentOf(present), name: `${after}` } },
    })
  }
  const first = await bench.store.read.listAgentVersions(bench.agentId, { ...allVersions, limit: 5 })
  const second = await bench.store.read.listAgentVersions(bench.agentId, { limit: 100, before: first.at(-1)! })
  assert.deepEqual(
    [...first, ...second].map(({ version }) => version),
    [12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1],
  )
})

check('agents: a deleted agent is gone from every read but its versions, and a running turn still settles', async (bench) => {
  const turn = await bench.admitted()
  assert.equal(await bench.store.write.deleteAgent(bench.agentId), true)
  assert.equal(await bench.store.write.deleteAgent(bench.agentId), false)
  assert.equal(await bench.store.read.findAgent(bench.agentId), undefined)
  assert.deepEqual(await bench.store.read.listAgents({}, allVersions), [])
  assert.deepEqual(await bench.store.write.changeAgent({ id: bench.agentId, enabled: false }), { kind: 'not_found' })
  assert.equal((await bench.store.read.agentVersion(bench.agentId, 1))?.version, 1)
  assert.equal((await bench.settle(turn)).kind, 'settled')
})

check('providers: a provider in use cannot be renamed or deleted, and names are unique', async (bench) => {
  const { store } = bench
  const make = (name: string) =>
    store.write.createProvider({ id: `prv_${name}`, name, kind: 'openai', baseUrl: null, sealedApiKey: new Uint8Array([1]) })
  const made = await Promise.all(Array.from({ length: 20 }, () => make('one')))
  assert.equal(made.filter((provider) => provider !== undefined).length, 1)
  await make('two')
  await makeAgentOn(store, bench, 'one/some/model')

  assert.deepEqual(await store.write.deleteProvider('prv_one'), { kind: 'in_use', agentId: 'agt_one' })
  assert.deepEqual(await store.write.changeProvider('prv_one', { name: 'other' }, null), { kind: 'in_use', agentId: 'agt_one' })
  assert.deepEqual(await store.write.changeProvider('prv_two', { name: 'one' }, null), { kind: 'name_taken' })
  assert.deepEqual(await store.write.changeProvider('prv_two', { baseUrl: 'http://a' }, 'http://b'), { kind: 'stale' })
  assert.equal((await store.read.findProviderById('prv_two'))!.baseUrl, null)
  assert.equal(await store.read.modelOnProvider('one'), 'one/some/model')
  assert.equal(await store.read.modelOnProvider('on'), undefined)

  await store.write.deleteAgent('agt_one')
  assert.deepEqual(await store.write.deleteProvider('prv_one'), { kind: 'deleted' })
  assert.deepEqual(await store.write.deleteProvider('prv_one'), { kind: 'not_found' })
})

async function makeAgentOn(store: TestStore, bench: Bench, model: string): Promise<void> {
  const { present } = (await store.read.findAgent(bench.agentId))!
  const outcome = await store.write.createAgent({
    id: 'agt_one',
    ownerId: bench.ownerId,
    provider: model.split('/')[0]!,
    content: { ...contentOf(present), model },
  })
  assert.equal(outcome.kind, 'created')
}

check('agents: an agent with an unknown owner or provider is not created', async (bench) => {
  const { present } = (await bench.store.read.findAgent(bench.agentId))!
  const given = { id: 'agt_x', ownerId: bench.ownerId, provider: 'nobody', content: contentOf(present) }
  assert.deepEqual(await bench.store.write.createAgent(given), { kind: 'provider_not_found' })
  assert.deepEqual(await bench.store.write.createAgent({ ...given, ownerId: 'own_x', provider: null }), { kind: 'owner_not_found' })
})

check('conversation.identity: a key has at most two live secrets, and a revoked key has none', async (bench) => {
  const { store } = bench
  const { keyId } = (await store.read.findApiKeyRecord(bench.apiKeyId))!
  const live = async (): Promise<string[]> =>
    ((await store.read.findApiKeys([keyId]))[0]?.secrets ?? []).map(({ digest }) => Buffer.from(digest).toString().trim())
  const rotate = (digest: string, graceMs: number) => store.write.rotateApiKey(bench.apiKeyId, Buffer.from(digest), graceMs)

  await rotate('second', 60_000)
  await store.moveClock(10_000)
  await rotate('third', 60_000)
  assert.equal((await live()).length, 3)
  await store.moveClock(50_000)
  assert.deepEqual((await live()).toSorted(), ['second', 'third'])
  await store.moveClock(10_000)
  assert.deepEqual(await live(), ['third'])
  await rotate('fourth', 0)
  assert.deepEqual(await live(), ['fourth'])

  assert.equal(await store.write.revokeApiKey(bench.apiKeyId), 'revoked')
  assert.deepEqual(await live(), [])
  const { revokedAt } = (await store.read.findApiKeyRecord(bench.apiKeyId))!
  await store.moveClock(1000)
  assert.equal(await store.write.revokeApiKey(bench.apiKeyId), 'revoked_before')
  assert.equal((await store.read.findApiKeyRecord(bench.apiKeyId))!.revokedAt, revokedAt)
  assert.deepEqual(await rotate('fifth', 0), { kind: 'revoked' })
  assert.deepEqual(await store.write.changeApiKey(bench.apiKeyId, { name: 'x' }), { kind: 'revoked' })
  assert.equal(await store.write.revokeApiKey('key_x'), 'not_found')
})

check('turns: a turn shows its hold, its steps in order, its cost and its failure', async (bench) => {
  const { store } = bench
  const done = await bench.admitted()
  await bench.advance(done, {
    hold: done.hold + 5n,
    entries: [
      { step: 1, part: 1, kind: 'tool_finished', payload: '{"c":3}' },
      { step: 1, part: 1, kind: 'tool_started', payload: '{"b":2}' },
      { step: 1, part: 0, kind: 'model', payload: '{"a":1}' },
    ],
  })
  const running = (await store.read.findTurn(done.requestId))!
  assert.deepEqual(
    running.steps.map(({ part, kind, payload }) => [part, kind, payload]),
    [
      [0, 'model', '{"a":1}'],
      [1, 'tool_started', '{"b":2}'],
      [1, 'tool_finished', '{"c":3}'],
    ],
  )
  assert.equal(running.state, 'running')
  assert.equal(running.hold, done.hold + 5n)
  assert.equal(running.usage, null)

  await bench.settle(done, { charged: 593n, writtenOff: 7n, usageEstimated: true })
  const completed = (await store.read.findTurn(done.requestId))!
  assert.deepEqual(completed.usage, {
    promptTokens: 20,
    cachedPromptTokens: 0,
    cacheWriteTokens: 0,
    completionTokens: 5,
    reasoningTokens: 0,
    toolCalls: 0n,
    estimated: true,
    charged: 593n,
    writtenOff: 7n,
  })
  assert.equal(completed.hold, 0n)

  await store.moveClock(1)
  const lost = await bench.admitted()
  await bench.fail(lost, 'failed')
  assert.deepEqual((await store.read.findTurn(lost.requestId))!.failure, {
    code: 'internal_error',
    cause: 'test',
    causeKind: 'internal_error',
  })
  const ids = async (filter: object): Promise<string[]> => (await store.read.listTurns(filter, allVersions)).map(({ id }) => id)
  assert.deepEqual(await ids({}), [lost.requestId, done.requestId])
  assert.deepEqual(await ids({ state: 'completed' }), [done.requestId])
  assert.deepEqual(await ids({ state: 'failed', agentId: bench.agentId }), [lost.requestId])
  assert.deepEqual(await ids({ agentId: 'agt_x' }), [])
  const { externalUserId } = completed
  assert.equal(externalUserId, 'user-1')
  const ofUser = { agentId: bench.agentId, externalUserId }
  assert.deepEqual(await ids(ofUser), [done.requestId])
  assert.deepEqual(await ids({ ...ofUser, state: 'completed' }), [done.requestId])
  assert.deepEqual(await ids({ ...ofUser, agentId: 'agt_x' }), [])
  assert.deepEqual(await ids({ ...ofUser, externalUserId: 'another' }), [])
  assert.equal(await store.read.findTurn(randomUUID()), undefined)
})

void test('admin: an unreachable store is service_unavailable, for reads and writes', async (t) => {
  const store = await openOwnStore(t)
  await store.close()
  const behind = agentModules(store, createSealer([randomBytes(32)]))
  const admin = createAdmin({
    store,
    ...behind,
    randomBytes,
    newId: (prefix) => `${prefix}_x`,
    adminToken: 'a-token',
    documentLimits: { maxQueued: 2_000, cpuMs: 60_000 },
  })
  await assert.rejects(admin.listOwners({ limit: 1 }), { code: 'service_unavailable' })
  await assert.rejects(admin.createOwner({ name: 'x' }), { code: 'service_unavailable' })
  await behind.models.close()
})
