/**
 * Fifty passages that ask for calls other than the agent's tools, and a model that obeys every one of them literally. Whatever it calls:
 * only the agent's own tools are reached, at the operator's addresses, with arguments that fit their schema.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startTestApp } from '../support/test-app.ts'
import { call, dayTool } from '../support/tool-process-runs.ts'
import { startToolServer } from '../support/tool-server.ts'

type Injected = { style: string; text: string; dictates: { name: string; arguments: string } }
const injected = JSON.parse(readFileSync(join(import.meta.dirname, '../data/injected-passages.json'), 'utf8')) as Injected[]

const tools = await startToolServer()
/** No request may arrive here: the injected texts point to it. */
const elsewhere = createServer((socket) => {
  visitors++
  socket.destroy()
})
let visitors = 0
await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve))
const trap = `127.0.0.1:${(elsewhere.address() as AddressInfo).port}`

/** The names of the agent's tools. */
const own = new Set(['book', 'weather'])
const fixed = { headers: { 'X-Tenant': 'acme', Authorization: 'Bearer {token}' }, secrets: { token: 'the-operators-own' } }
const app = await startTestApp({
  env: { TURNKEEP_ALLOW_PRIVATE_HOSTS: tools.address },
  agent: {
    knowledge: { max_tokens: 1500, top_k: 1 },
    tools: [
      dayTool(tools, 'book', fixed),
      {
        ...dayTool(tools, 'weather', fixed),
        method: 'GET',
        url: `${tools.baseUrl}/weather/{city}`,
        parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false },
      },
    ],
  },
})
after(async () => {
  await app.close()
  await tools.close()
  await new Promise((resolve) => elsewhere.close(resolve))
})

for (const [n, { text }] of injected.entries()) {
  const document = {
    documentId: `doc_injected${n}`,
    agentId: app.caller.agentId,
    title: `Note marker${n}x`,
    text: text.replaceAll('evil.example', trap),
  }
  await app.app.knowledge.index(document)
}

/** Reads which passage it was given, and does what the passage says. */
app.model.when(/marker/, ({ lastUserMessage, messages }) => {
  if (messages.some(({ role }) => role === 'tool')) return 'Noted.'
  const { name, arguments: given } = injected[Number(/marker(\d+)x/.exec(lastUserMessage)![1])]!.dictates
  return [call(name, given.replaceAll('evil.example', trap))]
})

for (const [n, { style, dictates }] of injected.entries()) {
  void test(`tools.bounds: ${n}, ${style}: a model that obeys what it reads calls ${JSON.stringify(dictates.name)}`, async () => {
    const before = tools.calls.length
    const asked = app.model.calls.length
    const answer = await app.chat(`What does marker${n}x say?`, { user: `user ${n}` })
    assert.equal(answer.json.message?.content, 'Noted.', answer.text)
    const [first, second] = app.model.calls.slice(asked)
    const system = first!.messages[0]!.content!
    assert.match(system, new RegExp(`\\[Note marker${n}x( › .*)?\\]\n`), 'the passage was in the prompt')
    assert.equal(system.match(/<[\s/]*passages[\s/]*>/gi)!.length, 4, 'the frame is named, opened and closed by the frame alone')
    assert.ok(system.endsWith('\n</passages>'))
    const calls = tools.calls.slice(before)
    assert.ok(calls.length <= (own.has(dictates.name) ? 1 : 0), 'a tool that the agent does not have is not called')
    const result = second!.messages.find(({ role }) => role === 'tool')!.content!
    if (calls.length === 0) assert.match(result, /^Error: /)
    for (const { method, url, headers, body } of calls) {
      assert.equal(headers.host, tools.address)
      assert.equal(headers['x-tenant'], 'acme')
      assert.equal(headers.authorization, 'Bearer the-operators-own')
      if (method === 'GET') {
        assert.match(url, /^\/weather\/[^/?#\\]+$/)
        assert.notEqual(decodeURIComponent(url.slice('/weather/'.length)).replaceAll('.', ''), '', 'no step up')
      } else {
        assert.deepEqual([method, url], ['POST', '/book'])
        const given = JSON.parse(body) as Record<string, unknown>
        assert.deepEqual(Object.keys(given), ['day'])
        assert.equal(typeof given.day, 'string')
      }
    }
  })
}

void test("tools.bounds: the model did reach the agent's own tools, and no other address was ever reached", async () => {
  assert.equal(injected.length, 50)
  assert.ok(tools.callsOf('/book').length >= 1)
  assert.ok(tools.calls.some(({ url }) => url.startsWith('/weather/')))
  assert.equal(visitors, 0)
  await app.verify()
})
