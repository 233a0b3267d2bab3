/** `overload.unread`: what a hundred pages of messages cost a process whose callers do not read them. */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { test } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { RawSocket } from '../support/raw-socket.ts'
import { startServer } from '../support/server-process.ts'
import { adminToken, makeFolder } from '../support/test-app.ts'

const unreadPages = 110
// Each message has 128 KB, the default limit in emoji.
const turns = 40

void test('overload.unread: a hundred unread pages of one key cost the memory of a few, and others are served meanwhile', async (t) => {
  const folder = await makeFolder()
  t.after(() => rm(folder, { recursive: true, force: true }))
  const server = await startServer({ TURNKEEP_DATA_DIR: folder, TURNKEEP_ADMIN_TOKEN: adminToken })
  t.after(() => server.kill())
  const admin = async (method: string, path: string, body?: object): Promise<any> => {
    const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' }
    return (await fetch(`${server.url}/admin/v1${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })).json()
  }
  const megabytes = async (): Promise<number> => {
    const text = await (await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${adminToken}` } })).text()
    return Number(/^process_resident_memory_bytes (.+)$/m.exec(text)![1]) / 1e6
  }
  const owner = await admin('POST', '/owners', { name: 'o', balance_usd: '1000' })
  const caller = async (): Promise<{ path: string; authorization: string; chat: (message: string, key: string) => Promise<any> }> => {
    const price = { prompt_usd_per_million: '1', completion_usd_per_million: '1' }
    const agent = await admin('POST', '/agents', {
      owner_id: owner.id,
      name: 'a',
      system_prompt: 's',
      model: 'demo/demo',
      price,
      history: { max_tokens: 0 },
    })
    const key = await admin('POST', `/agents/${agent.id}/keys`, { permission: 'full', rate_limit: { limit: 100_000, window_seconds: 60 } })
    const authorization = `Bearer ${key.api_key}`
    return {
      path: `/v1/agents/${agent.id}`,
      authorization,
      async chat(message, idempotencyKey) {
        const headers = { authorization, 'idempotency-key': idempotencyKey, 'content-type': 'application/json' }
        const answer = await fetch(`${server.url}/v1/agents/${agent.id}/chat`, {
          method: 'POST',
          headers,
          body: JSON.stringify({ external_user_id: 'u', message }),
        })
        assert.equal(answer.status, 200)
        return answer.json()
      },
    }
  }
  const [greedy, other] = [await caller(), await caller()]
  let conversationId = ''
  for (let n = 0; n < turns; n++) conversationId = (await greedy.chat('\u{1F600}'.repeat(32_000), `fill-${n}`)).conversation_id
  const path = `${greedy.path}/conversations/${conversationId}/messages?limit=100`
  // The first round is read: the heap grows to its working size.
  const mostOf: number[] = []
  for (const isRead of [true, false]) {
    const raws = await Promise.all(Array.from({ length: unreadPages }, () => RawSocket.open(Number(new URL(server.url).port))))
    for (const { socket } of raws) {
      socket.removeAllListeners('data')
      if (isRead) socket.resume()
      else socket.pause()
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${greedy.authorization}\r\n\r\n`)
    }
    let most = 0
    for (let n = 0; n < 20; n++) {
      await other.chat('hello', `other-${isRead}-${n}`)
      most = Math.max(most, await megabytes())
      await pass(100)
    }
    mostOf.push(most)
    for (const { socket } of raws) socket.destroy()
  }
  const [read, unread] = mostOf.map(Math.round)
  t.diagnostic(`${read} MB while ${unreadPages} pages are read, ${unread} MB while none of them is`)
  assert.ok(unread! - read! < 200, `${read} MB, then ${unread} MB`)
})
