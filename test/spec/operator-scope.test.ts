/**
 * `operator.scope`, below the routes: every read and write by name, called for a restricted principal with what belongs to others, returns
 * the same as for what does not exist, whatever was checked before it.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import type { Webhook } from '../../src/resources/webhook.ts'
import { createRequests } from '../../src/admin/admin-store.ts'
import type { AdminStore } from '../../src/admin/admin-store.ts'
import { ApiError } from '../../src/errors.ts'
import { adminReads, reads } from '../../src/store/queries/reads.ts'
import type { AdminReads } from '../../src/store/queries/reads.ts'
import { installation, unrestricted } from '../../src/store/queries/scope.ts'
import { adminWrites, writes } from '../../src/store/queries/writes.ts'
import type { AdminWrites } from '../../src/store/queries/writes.ts'
import type { Sql } from '../../src/store/sql.ts'
import { allRows, differences, makeScene, unknownIds } from '../support/isolation-scene.ts'
import type { Ids } from '../support/isolation-scene.ts'

type Calls<Operations> = {
  [Name in keyof Operations]?: Operations[Name] extends (sql: Sql, ...args: infer Args) => unknown ? (ids: Ids) => Args : never
}

const hourMs = 60 * 60 * 1000
const now = Date.now()
const page = { limit: 100, before: { createdAt: Number.MAX_SAFE_INTEGER, id: '' } }
const period = { from: 0, to: Number.MAX_SAFE_INTEGER }
const user = ({ agent: agentId }: Ids) => ({ agentId, externalUserId: 'ann' })
const filter = ({ owner: ownerId, agent: agentId, key: apiKeyId }: Ids) => ({ ownerId, agentId, apiKeyId })
const digest = new Uint8Array(32)

const readCalls: Calls<AdminReads> = {
  listAgents: ({ owner: ownerId, agent: agentId }) => [{ ownerId, agentId }, page],
  findAgent: (ids) => [ids.agent],
  agentVersion: (ids) => [ids.agent, 1],
  listAgentVersions: (ids) => [ids.agent, page],
  listPriceChanges: (ids) => [ids.agent, page],
  findPlaygroundKey: (ids) => [ids.agent],
  listSpending: (ids) => [ids.agent, 'ann'],
  findEndUserLimits: ({ agent: agentId, user: externalUserId }) => [{ agentId, externalUserId }],
  listEndUsers: ({ agent: agentId }) => [{ agentId, sort: 'spend', ...period, limit: 100 }],
  findEndUser: (ids) => [{ ...user(ids), since: [0] }],
  listDocuments: (ids) => [ids.agent, page],
  findDocument: (ids) => [ids.agent, ids.document],
  listChunks: ({ agent: agentId, document: documentId }) => [{ agentId, documentId, after: -1, limit: 100 }],
  listApiKeys: (ids) => [ids.agent, page],
  findApiKeyRecord: (ids) => [ids.key],
  findApiKeyId: (ids) => [ids.publicKey],
  listOwners: ({ owner: ownerId }) => [{ ownerId }, page],
  findOwner: (ids) => [ids.owner],
  listHolds: (ids) => [ids.owner, 100],
  findOwnerIndexing: (ids) => [ids.owner],
  listLedger: (ids) => [filter(ids), page],
  usageByBucket: (ids) => [{ ...filter(ids), from: now - hourMs, to: now + hourMs, bucketMs: hourMs }],
  listUsageLines: (ids) => [{ ...filter(ids), ...period, groupBy: ['owner', 'agent', 'api_key', 'end_user'], limit: 100 }],
  listAllConversations: (ids) => [{ ...page, ...filter(ids), externalUserId: undefined, ...period }],
  searchConversations: (ids) => [
    { ...page, ...filter(ids), externalUserId: undefined, ...period, text: undefined, state: undefined, rating: undefined, excerpts: true },
  ],
  findConversation: (ids) => [ids.conversation],
  findConversationId: (ids) => [ids.key, 'ann'],
  listAllMessages: (ids) => [{ ...page, conversationId: ids.conversation }],
  // Before another turn of the conversation, which has no messages.
  listHistoryBefore: (ids) => [
    { requestId: ids.failedTurn, conversationId: ids.conversation, isLastRun: false, endedAt: period.to, limit: 100 },
  ],
  listNewestMessages: (ids) => [{ conversationId: ids.conversation, limit: 100 }],
  listExportedTurns: (ids) => [{ conversationId: ids.conversation, after: '', limit: 100 }],
  listTurns: ({ owner: ownerId, agent: agentId }) => [{ ownerId, agentId }, page],
  findTurn: (ids) => [ids.turn],
  findTurnStatus: (ids) => [ids.turn],
  findTracedTurn: (ids) => [ids.turn],
  listFeedback: ({ owner: ownerId, agent: agentId }) => [{ ownerId, agentId }, page],
  findFeedback: (ids) => [ids.turn],
  listAttention: () => [{}],
  listWebhooks: () => [{}, page],
  findWebhook: (ids) => [ids.webhook],
  listDeliveries: (ids) => [{ webhookId: ids.webhook }, page],
  readDeliveredEvent: (ids) => [{ webhookId: ids.webhook, eventId: ids.delivery, withTexts: true }],
}

const limits = [{ scope: 'end_user' as const, span: 'day' as const, amount: 1n }]
const newKey = {
  id: 'key_new',
  keyId: 'new',
  name: null,
  permission: 'full' as const,
  rateLimit: { limit: 1, windowSeconds: 1 },
  defaultExternalUserId: null,
  mcp: true,
  digest,
}
const newDocument = {
  id: 'doc_new',
  title: 't',
  source: 'url' as const,
  mediaType: null,
  fileName: null,
  url: 'u',
  bytes: 0,
  contentId: null,
}
const events: Webhook['events'] = ['*']
const newWebhook = { id: 'whk_new', url: 'u', events, description: null, includeMessages: true, sealedSecret: digest }
const price = { promptPerMillion: 0n, completionPerMillion: 0n, cachedPromptPerMillion: null, cacheWritePerMillion: null }
const tokens = { fixedTokens: 1, historyMaxTokens: 1, knowledgeMaxTokens: 1, maxOutputTokens: 1, maxMessageLength: 1 }
const content = { name: 'n', model: 'demo/demo', config: '{}', ...tokens, price }

const writeCalls: Calls<AdminWrites> = {
  createAgent: ({ owner: ownerId }) => [{ id: 'agt_new', ownerId, provider: null, content }],
  changeAgent: (ids) => [{ id: ids.agent, enabled: false }],
  putEndUserLimits: (ids) => [{ ...user(ids), limits }],
  deleteEndUserLimits: ({ agent: agentId, user: externalUserId }) => [{ agentId, externalUserId }],
  createApiKey: ({ agent: agentId }) => [{ ...newKey, agentId }],
  changeApiKey: (ids) => [ids.key, { name: 'changed' }],
  rotateApiKey: (ids) => [ids.key, digest.map(() => 1), 0],
  createPlaygroundKey: ({ spareAgent: agentId }) => [{ id: 'key_play', keyId: 'play', agentId }],
  putDocument: ({ agent: agentId }) => [{ ...newDocument, agentId }],
  deleteDocument: ({ agent: agentId, document: id }) => [{ agentId, id }],
  requeueDocuments: ({ agent: agentId }) => [{ agentId }],
  recordTrial: ({ agent: agentId }) => [{ agentId, tool: null }],
  putFeedback: ({ turn: requestId }) => [{ requestId, apiKeyId: undefined, rating: 'up', comment: null, tags: [] }],
  removeFeedback: (ids) => [ids.turn],
  createWebhook: ({ agent: agentId }) => [{ ...newWebhook, ownerId: null, agentId }],
  changeWebhook: (ids) => [ids.webhook, { enabled: false }],
  rotateWebhookSecret: (ids) => [ids.webhook, { sealedSecret: digest, graceMs: 0 }],
  retryDelivery: ({ webhook: webhookId, delivery: eventId }) => [{ webhookId, eventId }],
  replayDeliveries: ({ webhook: webhookId }) => [{ webhookId, from: now - hourMs, to: period.to }],
  // What the calls above need is deleted last.
  deleteWebhook: (ids) => [ids.webhook],
  revokeApiKey: (ids) => [ids.key],
  deleteAgent: (ids) => [ids.agent],
}

const scene = await makeScene()
after(() => scene.close())
const { app, x, sibling, y } = scene

type Methods = Record<string, (...args: unknown[]) => Promise<unknown>>
type AnyCalls = Record<string, (ids: Ids) => unknown[]>

const requestOf = createRequests({
  store: app.app.store,
  authorOf: (actor) => ({ ...actor, entryIds: [`aud_${randomUUID()}`] }),
})

function storeFor(agentId: string | null): AdminStore {
  return requestOf({ who: 'admin_token', requestId: 'r' }, { ownerId: x.ids.owner, agentId }).store
}

for (const [title, agentId, others] of [
  ['an owner', null, [y]],
  ['an agent', x.ids.agent, [sibling, y]],
] as const) {
  void test(`operator.scope: restricted to ${title}, a read or write of another's data is one of what does not exist`, async (t) => {
    const { read, write } = storeFor(agentId)
    let compared = 0
    const before = await allRows(app)
    for (const [methods, calls] of [
      [read, readCalls],
      [write, writeCalls],
    ] as unknown as [Methods, AnyCalls][])
      for (const [name, call] of Object.entries(calls)) {
        for (const other of others) {
          const unknown = { ...unknownIds(other.ids), ...(other === sibling ? { owner: x.ids.owner } : {}) }
          const seen: unknown = await methods[name]!(...call(other.ids))
          const none: unknown = await methods[name]!(...call(unknown))
          assert.deepEqual(seen, none, name)
          compared++
        }
      }
    assert.deepEqual(differences(before, await allRows(app)), [], 'rows that have changed')
    t.diagnostic(`${compared} calls`)
  })

  void test(`operator.scope: restricted to ${title}, a read finds its own`, async () => {
    const { read } = storeFor(agentId) as unknown as { read: Methods }
    const everything = app.app.store.read as unknown as Methods
    const hidden: string[] = []
    for (const [name, call] of Object.entries(readCalls as AnyCalls)) {
      const args = call(x.ids)
      const seen = await read[name]!(...args)
      // The lists without a filter are longer for everyone.
      if (name === 'listWebhooks' || name === 'listAttention') assert.ok((seen as unknown[]).length > 0)
      else if (JSON.stringify(seen, bigints) !== JSON.stringify(await everything[name]!(...args), bigints)) hidden.push(name)
    }
    assert.deepEqual(
      hidden,
      agentId === null ? [] : ['listOwners', 'findOwner', 'listHolds', 'findOwnerIndexing', 'listLedger', 'listUsageLines'],
    )
  })
}

/** Without the time of the read itself. */
const bigints = (name: string, value: unknown): unknown =>
  typeof value === 'bigint' ? String(value) : name === 'readAt' ? undefined : value

/** Belongs to no owner. */
const forEveryone = ['findProvider', 'storeTime', 'putContentPart', 'recordReading']

type Scoped = Record<string, { scope: unknown }>

void test('operator.scope: every read and write of the admin API is refused, for everyone, or called here', async () => {
  const { read, write } = storeFor(null) as unknown as { read: Methods; write: Methods }
  for (const [methods, calls, operations] of [
    [read, readCalls, adminReads],
    [write, writeCalls, adminWrites],
  ] as unknown as [Methods, AnyCalls, Scoped][])
    for (const [name, { scope: rule }] of Object.entries(operations)) {
      assert.equal(rule === unrestricted, forEveryone.includes(name), name)
      if (rule === installation)
        await assert.rejects(methods[name]!(), (error) => error instanceof ApiError && error.code === 'forbidden', name)
      else assert.equal(calls[name] === undefined, rule === unrestricted, name)
    }
})

void test('operator.scope: what only the server itself reads and writes is not there for the admin API, whoever calls it', () => {
  const { store } = requestOf({ who: 'admin_token', requestId: 'r' }, null)
  for (const [methods, operations] of [
    [store.read, reads],
    [store.write, writes],
  ] as unknown as [Methods, Record<string, object>][])
    for (const [name, operation] of Object.entries(operations))
      assert.equal(typeof methods[name] === 'function', 'scope' in operation, name)
  assert.ok(!('scope' in reads.findApiKeys) && !('scope' in writes.eraseConversations))
})

// With the same settings as before, no document is queued again.
const withoutTrace = ['requeueDocuments']

void test('operator.scope: each rule is needed: without it, a call returns or changes what belongs to another owner', async () => {
  const { read, write } = storeFor(null)
  const unknown = unknownIds(y.ids)
  const needless: string[] = []
  for (const [methods, calls, operations] of [
    [read, readCalls, adminReads],
    [write, writeCalls, adminWrites],
  ] as unknown as [Methods, AnyCalls, Scoped][])
    for (const [name, call] of Object.entries(calls)) {
      if (withoutTrace.includes(name)) continue
      const isWrite = methods === (write as unknown)
      const before = isWrite ? await allRows(app) : []
      const none: unknown = await methods[name]!(...call(unknown))
      const operation = operations[name]!
      const rule = operation.scope
      operation.scope = () => 'pass'
      const seen: unknown = await methods[name]!(...call(y.ids)).finally(() => (operation.scope = rule))
      const isDifferent = JSON.stringify(seen, bigints) !== JSON.stringify(none, bigints)
      if (!(isDifferent || (isWrite && differences(before, await allRows(app)).length > 0))) needless.push(name)
    }
  assert.deepEqual(needless, [])
})
