/** docs/cookbook/ai-sdk.md: its routes, called as Next.js calls them. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseJsonEventStream, uiMessageChunkSchema } from 'ai'
import { layOut } from '../support/cookbook-program.ts'
import { gate } from '../support/model-server.ts'
import { startTestApp } from '../support/test-app.ts'

type Handlers = Record<'GET' | 'POST', (request: Request) => Promise<Response>>

/** The text of the reply, after the AI SDK has read each part. */
async function replyOf(response: Response): Promise<string> {
  assert.equal(response.headers.get('x-vercel-ai-ui-message-stream'), 'v1')
  let text = ''
  for await (const part of parseJsonEventStream({ stream: response.body!, schema: uiMessageChunkSchema })) {
    assert.ok(part.success)
    if (part.value.type === 'text-delta') text += part.value.delta
    if (part.value.type === 'error') text += `(${part.value.errorText})`
  }
  return text
}

void test('cookbook/ai-sdk: a reply is resumed by another request, a message is answered once, and another user sees nothing', async (t) => {
  await using app = await startTestApp()
  const { folder, remove } = layOut('ai-sdk.md')
  t.after(remove)
  Object.assign(process.env, { AGENT_URL: app.url, AGENT_ID: app.caller.agentId, API_KEY: app.caller.apiKey })
  const { GET, POST } = (await import(join(folder, 'route.mts'))) as Handlers
  const ask = (path: string, body?: unknown, user = 'ann'): Promise<Response> => {
    const headers = { cookie: `user=${user}` }
    const url = `http://next/api/chat${path}`
    return body === undefined
      ? GET(new Request(url, { headers }))
      : POST(new Request(url, { method: 'POST', headers, body: JSON.stringify(body) }))
  }
  const message = (id: string, text: string) => ({ id, role: 'user', parts: [{ type: 'text', text }] })
  const idsOf = async (response: Response): Promise<string[]> => ((await response.json()) as { id: string }[]).map(({ id }) => id)
  const chat = 'chat-0001'

  assert.equal((await POST(new Request('http://next/api/chat', { method: 'POST', body: '{}' }))).status, 401)
  for (const bad of [{}, { id: chat }, { id: 'a b c d e', message: message('m', 'Hi') }, { id: chat, message: message('m', '') }, 'x'])
    assert.equal((await ask('', bad)).status, 400, JSON.stringify(bad))
  assert.equal((await ask(`/${chat}/stream`)).status, 204)
  assert.deepEqual(await idsOf(await ask(`/${chat}`)), [])

  // The browser disconnects in the middle; two pages resume, and both have all of the reply.
  const held = gate()
  app.model.script(['One ', held, 'two.'])
  const left = (await ask('', { id: chat, message: message('message-1', 'Count') })).body!.getReader()
  await held.reached
  await left.read()
  await left.cancel()
  const resumed = [await ask(`/${chat}/stream`), await ask(`/${chat}/stream`)].map(replyOf)
  assert.deepEqual(await idsOf(await ask(`/${chat}`)), ['message-1'])
  assert.equal((await ask(`/${chat}/stream`, undefined, 'bob')).status, 204)
  held.open()
  assert.deepEqual(await Promise.all(resumed), ['One two.', 'One two.'])
  assert.equal(await replyOf(await ask('', { id: chat, message: message('message-1', 'Count') })), 'One two.')
  assert.equal((await idsOf(await ask(`/${chat}`))).length, 2)
  assert.equal((await ask(`/${chat}/stop`, {})).status, 204)
  assert.equal(app.model.calls.length, 1)
  assert.equal((await app.ledger()).filter(({ kind }) => kind === 'charge').length, 1)

  // A message that is refused is not part of the chat.
  assert.equal((await ask('', { id: chat, message: message('message-1', 'Other') })).status, 503)
  assert.equal((await idsOf(await ask(`/${chat}`))).length, 2)
})
