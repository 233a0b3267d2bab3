/**
 * The first start creates an owner with $10, the agent "demo" with a sample knowledge base, and its key in `demo.key`. Writing the key's
 * file is the last step, so a start that was killed at any point is completed by the next one, and nothing is created twice. What an
 * operator has changed or deleted since stays as it is.
 */
import { apiKeyFields } from '../resources/api-key.ts'
import { initialOf } from '../resources/field.ts'
import { timingSafeEqual } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { digestSecret, parseApiKey } from '../access/api-key.ts'
import type { Admin } from '../admin/admin.ts'
import type { Knowledge } from '../agent/knowledge/knowledge.ts'
import type { DataFolder } from '../config/data-folder.ts'
import type { Amount } from '../ledger/ledger.ts'
import type { Owner } from '../resources/owner.ts'
import type { Page, PageWanted } from '../store/queries/paging.ts'
import type { Store } from '../store/store.ts'

/** The demo agent, ready for requests with the key in `demo.key`. */
export type Demo = { agentId: string; agentName: string }

export type FirstStartOptions = {
  admin: Admin
  knowledge: Knowledge
  store: Store
  folder: DataFolder
  openaiApiKey: string | undefined
  anthropicApiKey: string | undefined
}

const demoName = 'demo'
const sampleFolder = new URL('./demo-documents/', import.meta.url)
// $10: about ten thousand replies of the demo model, and a limit for mistakes with a real model.
const firstBalance: Amount = 1_000_000_000n
const systemPrompt =
  'You are the demo agent of Turnkeep and answer questions about it. Use the passages of the knowledge base; where they do not answer, say so. ' +
  'Be brief and friendly.'

/** The demo agent's model if the API key of its provider is set: a current small model with a known price. */
const hostedModels = { openai: 'gpt-5.4-mini', anthropic: 'claude-haiku-4-5' } as const

/**
 * Undefined if the operator has other agents and no demo, deleted the demo, or revoked its key. Rejects if the store or the folder cannot
 * be written.
 */
export async function makeDemo(options: FirstStartOptions): Promise<Demo | undefined> {
  const { admin, knowledge, store, folder } = options
  const key = parseApiKey(folder.read('demo.key') ?? '')
  if (key && (await isRevoked(store, key.keyId))) return undefined
  const kept = key && (await agentOfKey(store, key))
  if (kept) return (await store.read.findAgent(kept.agentId)) ? kept : undefined
  const agentId = (await findDemoAgent(admin)) ?? (await makeDemoAgent(options))
  if (agentId === undefined) return undefined
  await addSampleDocuments(knowledge, agentId)
  folder.replace('demo.key', await makeKey(admin, agentId))
  return { agentId, agentName: demoName }
}

/** If the operator has revoked the demo's key, the next start does not create another one. */
async function isRevoked(store: Store, keyId: string): Promise<boolean> {
  const id = await store.read.findApiKeyId(keyId)
  const record = id === undefined ? undefined : await store.read.findApiKeyRecord(id)
  return record !== undefined && record.revokedAt !== null
}

/** The agent of a valid key, or undefined. */
async function agentOfKey(store: Store, key: { keyId: string; secret: string }): Promise<Demo | undefined> {
  const [stored] = await store.read.findApiKeys([key.keyId])
  const digest = digestSecret(key.secret)
  if (!stored?.secrets.some((secret) => timingSafeEqual(secret.digest, digest))) return undefined
  return { agentId: stored.agentId, agentName: stored.agentName }
}

async function findDemoAgent(admin: Admin): Promise<string | undefined> {
  const owner = await findDemoOwner(admin)
  return owner && (await first(admin.listAgents, (agent) => agent.ownerId === owner.id && agent.name === demoName))?.id
}

async function findDemoOwner(admin: Admin): Promise<Owner | undefined> {
  return first(admin.listOwners, (owner) => owner.name === demoName)
}

/** Returns undefined if there is already an agent: the operator has started without a demo. */
async function makeDemoAgent({ admin, openaiApiKey, anthropicApiKey }: FirstStartOptions): Promise<string | undefined> {
  if (await first(admin.listAgents, () => true)) return undefined
  const owner = (await findDemoOwner(admin)) ?? (await admin.createOwner({ name: demoName, balance: firstBalance }))
  const model = await chooseModel(admin, openaiApiKey, anthropicApiKey)
  return (await admin.createAgent({ ownerId: owner.id, name: demoName, systemPrompt, model })).id
}

/** The provider is named after its kind. */
async function chooseModel(admin: Admin, openaiApiKey?: string, anthropicApiKey?: string): Promise<string> {
  const kind = openaiApiKey ? 'openai' : 'anthropic'
  const apiKey = openaiApiKey || anthropicApiKey
  if (!apiKey) return 'demo/demo'
  const present = await first(admin.listProviders, ({ name }) => name === kind)
  if (!present) await admin.createProvider({ name: kind, kind, apiKey })
  return `${kind}/${hostedModels[kind]}`
}

/** The ID of each document is derived from the agent's, so adding it again has no effect. */
async function addSampleDocuments(knowledge: Knowledge, agentId: string): Promise<void> {
  const files = readdirSync(sampleFolder).filter((name) => name.endsWith('.md'))
  for (const [index, file] of files.toSorted().entries()) {
    const text = readFileSync(new URL(file, sampleFolder), 'utf8')
    const title = text.slice(0, text.indexOf('\n')).replace(/^# /, '')
    const documentId = `doc_${agentId.slice('agt_'.length, -2)}${String(index).padStart(2, '0')}`
    await knowledge.index({ documentId, agentId, title, text })
  }
}

/** A new secret for the demo's key if its file was lost or never written. */
async function makeKey(admin: Admin, agentId: string): Promise<string> {
  const present = await first(
    (page) => admin.listApiKeys(agentId, page),
    (key) => key.name === demoName && key.revokedAt === null,
  )
  const made = present
    ? await admin.rotateApiKey(present.id, 0)
    : await admin.createApiKey({ ...initialOf(apiKeyFields), agentId, name: demoName, permission: 'full' })
  return made.text
}

async function first<Item>(list: (page: PageWanted) => Promise<Page<Item>>, fits: (item: Item) => boolean): Promise<Item | undefined> {
  for (let cursor: string | undefined; ;) {
    const page: Page<Item> = await list({ limit: 100, cursor })
    const found = page.data.find(fits)
    if (found || page.nextCursor === null) return found
    cursor = page.nextCursor
  }
}
