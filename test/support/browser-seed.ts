/**
 * A house that has been lived in for two weeks, for looking at the console: owners, agents with versions and tools, keys, documents, and turns
 * by the real pipeline, some of which failed. Its past is real: the store's clock is turned back and comes forward with the turns.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { documentsOf, repliesOf, toolsOf, users } from './browser-seed-texts.ts'
import { startScriptedMcp, tool } from './mcp-scripted-server.ts'
import { adminToken, startTestApp } from './test-app.ts'
import type { Caller, Json, TestApp } from './test-app.ts'
import { startToolServer } from './tool-server.ts'

export type SeededHouse = {
  adminUrl: string
  app: TestApp
  /** With tools, versions and most of the turns. */
  desk: Caller
  /** With most of the documents. */
  reading: Caller
  /** The longest conversation, with the desk. */
  conversationId: string
  close(): Promise<void>
}

const hourMs = 3_600_000
const days = 14
// Six times a day; the last one is an hour ago.
const rounds = days * 6

/** Minutes and seconds are spread by whole numbers, so that every house looks the same. */
export async function seedHouse(): Promise<SeededHouse> {
  const [tools, mcp] = await Promise.all([startToolServer(), startScriptedMcp({ tools: [tool('find_parcel'), tool('list_couriers')] })])
  const app = await startTestApp({ env: { TURNKEEP_ALLOW_PRIVATE_HOSTS: `${tools.address},${mcp.host}:${mcp.port}` } })
  const close = async (): Promise<void> => {
    await app.close()
    await Promise.all([tools.close(), mcp.close()])
  }
  tools.when('/orders/4711', { body: '{"order": 4711, "state": "sent", "carrier": "Bring", "expected": "Thursday"}' })
  try {
    return { adminUrl: app.adminUrl, app, ...(await live(app, { tools: tools.baseUrl, mcp: mcp.url })), close }
  } catch (error) {
    await close()
    throw error
  }
}

async function live(
  app: TestApp,
  { tools, mcp }: { tools: string; mcp: string },
): Promise<Pick<SeededHouse, 'desk' | 'reading' | 'conversationId'>> {
  await app.moveClock(-days * 24 * hourMs)
  await app.made('POST', '/providers', { name: 'house', kind: 'openai-compatible', base_url: app.model.baseUrl, api_key: 'house-key' })
  await app.made('POST', '/providers', { name: 'anthropic', kind: 'anthropic', api_key: 'sk-not-a-real-one' })
  await app.made('PATCH', `/owners/${app.caller.ownerId}`, { name: 'Our own tests' })
  await app.made('PATCH', `/agents/${app.caller.agentId}`, { name: 'Smoke test', enabled: false })

  const shop = await makeOwner(app, 'Nordwind Outdoor', '250')
  const library = await makeOwner(app, 'Harbour Library', '40')
  const ferry = await makeOwner(app, 'Fjord Ferries', '0.9')
  const desk = await makeAgent(app, shop, 'Order desk', { tools: toolsOf(tools, mcp), temperature: 0.2 })
  const reading = await makeAgent(app, library, 'Reading room', {})
  const times = await makeAgent(app, ferry, 'Timetable', {})
  await app.made('POST', `/agents/${desk.agentId}/keys`, { name: 'Dashboard', permission: 'read-only' })
  const old = await app.made('POST', `/agents/${desk.agentId}/keys`, { name: 'Old shop', permission: 'full' })
  await app.made('DELETE', `/keys/${old.id}`)
  await app.made('POST', `/owners/${shop}/ledger`, { amount_usd: '-12.5', note: 'Credit note 2031 taken back' }, { 'idempotency-key': 'a' })
  for (const document of documentsOf) await upload(app, reading.agentId, document)
  await upload(app, desk.agentId, 'handbook.md')

  app.model.when(() => true, repliesOf)
  const callers = [desk, desk, reading, desk, times, reading]
  for (let round = 0; round < rounds; round++) {
    if (round === 20)
      await improve(
        app,
        desk,
        'You help customers of Nordwind Outdoor. Be brief. Never promise a delivery date that you have not looked up.',
      )
    if (round === 50)
      await improve(
        app,
        desk,
        'You help customers of Nordwind Outdoor. Be brief and warm. Never promise a delivery date that you have not looked up.',
      )
    const caller = callers[round % callers.length]!
    const asked = users.questions[round % users.questions.length]!
    const user = users.names[(round * 7) % users.names.length]!
    await app.stream(asked, { caller, user })
    if (round % 2 === 0) await app.chat(users.questions[(round + 3) % users.questions.length]!, { caller: desk, user: users.names[0]! })
    await app.moveClock(4 * hourMs - (round % 9) * 60_000)
  }
  await app.moveClock(Array.from({ length: rounds }, (_, round) => (round % 9) * 60_000).reduce((sum, ms) => sum + ms, 0))
  for (const message of users.questions.slice(4, 6)) await app.admin('POST', `/agents/${desk.agentId}/playground`, { message })
  await app.admin('POST', `/agents/${desk.agentId}/playground`, { message: users.questions[0]! })
  const { data } = await app.made('GET', `/conversations?agent_id=${desk.agentId}&external_user_id=${encodeURIComponent(users.names[0]!)}`)
  return { desk, reading, conversationId: data[0].id }
}

async function makeOwner(app: TestApp, name: string, balanceUsd: string): Promise<string> {
  return (await app.made('POST', '/owners', { name, balance_usd: balanceUsd })).id
}

async function makeAgent(app: TestApp, ownerId: string, name: string, fields: Json): Promise<Caller> {
  const agent = await app.makeAgent(ownerId, {
    name,
    model: 'house/gpt-5.4-mini',
    system_prompt: `You help customers of ${name}. Be brief.`,
    price: { prompt_usd_per_million: '75', completion_usd_per_million: '450' },
    max_output_tokens: 512,
    history: { max_tokens: 500 },
    ...fields,
  })
  const key = await app.made('POST', `/agents/${agent.id}/keys`, { name: 'Website', permission: 'full' })
  return { agentId: agent.id, apiKey: key.api_key, ownerId }
}

const improve = (app: TestApp, { agentId }: Caller, prompt: string): Promise<Json> =>
  app.made('PATCH', `/agents/${agentId}`, { system_prompt: prompt })

/** Indexing goes on by itself. */
async function upload(app: TestApp, agentId: string, name: string): Promise<void> {
  const form = new FormData()
  form.append('file', new Blob([readFileSync(documentFile(name))]), name)
  const headers = { authorization: `Bearer ${adminToken}` }
  const answer = await fetch(`${app.adminUrl}/admin/v1/agents/${agentId}/documents`, { method: 'POST', headers, body: form })
  if (answer.status !== 202) throw new Error(await answer.text())
}

export const documentFile = (name: string): string => join(import.meta.dirname, '..', 'data', 'documents', name)
