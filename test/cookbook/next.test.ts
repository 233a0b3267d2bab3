/** docs/cookbook/next.md: its route handler, called as a framework calls it. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { gate } from '../support/model-server.ts'
import { layOut } from '../support/cookbook-program.ts'
import { startTestApp } from '../support/test-app.ts'

type Handler = { POST(request: Request): Promise<Response> }

const ask = (body: unknown, cookie = 'user=ann'): Request =>
  new Request('http://next/api/messages', { method: 'POST', headers: { cookie }, body: JSON.stringify(body) })
const linesOf = (text: string): unknown[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

void test('cookbook/next: a message streams as lines, a retry returns the same reply, with one charge', async (t) => {
  await using app = await startTestApp()
  const { folder, remove } = layOut('next.md')
  t.after(remove)
  Object.assign(process.env, { AGENT_URL: app.url, AGENT_ID: app.caller.agentId, API_KEY: app.caller.apiKey })
  const { POST } = (await import(join(folder, 'route.mts'))) as Handler

  assert.equal((await POST(ask({ id: 'message-1', text: 'Hi' }, ''))).status, 401)
  for (const bad of [{ text: 'Hi' }, { id: 'message-1', text: '' }, { id: 'a b c d e f', text: 'Hi' }, 'x'])
    assert.equal((await POST(ask(bad))).status, 400, JSON.stringify(bad))

  app.model.script(['Hello ', 'Ann.'])
  const first = await POST(ask({ id: 'message-1', text: 'Hi' }))
  assert.equal(first.headers.get('content-type'), 'application/x-ndjson')
  assert.deepEqual(linesOf(await first.text()), [{ delta: 'Hello ' }, { delta: 'Ann.' }, { reply: 'Hello Ann.' }])
  const again = await POST(ask({ id: 'message-1', text: 'Hi' }))
  assert.deepEqual(linesOf(await again.text()), [{ delta: 'Hello Ann.' }, { reply: 'Hello Ann.' }])

  // The browser disconnects in the middle; the same id returns the rest.
  const held = gate()
  app.model.script(['One ', held, 'two.'])
  const left = (await POST(ask({ id: 'message-2', text: 'Count' }))).body!.getReader()
  await left.read()
  await left.cancel()
  held.open()
  assert.deepEqual(linesOf(await (await POST(ask({ id: 'message-2', text: 'Count' }))).text()).at(-1), { reply: 'One two.' })
  assert.equal((await app.ledger()).filter(({ kind }) => kind === 'charge').length, 2)

  // The same id with another text is an error that a retry cannot fix.
  assert.deepEqual(linesOf(await (await POST(ask({ id: 'message-2', text: 'Other' }))).text()), [{ failed: true, again: false }])
})
