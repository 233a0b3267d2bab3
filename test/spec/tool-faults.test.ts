/**
 * Tools that hang, send slowly, flood, or redirect to private addresses. The model gets an error result, the turn continues and is answered
 * and charged once, and no forbidden address is reached.
 */
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { startHostileServer } from '../support/hostile-server.ts'
import type { HostileServer } from '../support/hostile-server.ts'
import { answeredOnce, makeSent, send, transports } from '../support/outcome.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'
import { call } from '../support/tool-process-runs.ts'

let server: HostileServer
let app: TestApp
/** No request may arrive here. */
const elsewhere = createServer((socket) => {
  visitors += 1
  socket.destroy()
})
let visitors = 0
let trap = 0

before(async () => {
  server = await startHostileServer()
  await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve))
  trap = (elsewhere.address() as AddressInfo).port
  app = await startTestApp({ env: { TURNKEEP_ALLOW_PRIVATE_HOSTS: `127.0.0.1:${server.port}` } })
})
after(async () => {
  await app.close()
  await server.close()
  await new Promise((resolve) => elsewhere.close(resolve))
})

const toolAt = (url: string, timeoutSeconds: number): Json => ({
  type: 'http',
  name: 'look',
  description: 'Use it to look.',
  parameters: { type: 'object', properties: {}, additionalProperties: false },
  method: 'GET',
  url,
  side_effects: false,
  timeout_seconds: timeoutSeconds,
})

/** Runs a turn on each transport whose tool does this; returns the results that the model received. */
async function reportedFor(what: string, url: string, timeoutSeconds = 60): Promise<string[]> {
  const reported: string[] = []
  for (const transport of transports) {
    const sent = await makeSent(app, `${what} on ${transport}`, { transport, agent: { tools: [toolAt(url, timeoutSeconds)] } })
    app.model.when(sent.message, ({ messages }) => {
      const result = messages.findLast(({ role }) => role === 'tool')
      if (!result) return [call('look', {})]
      reported.push(String(result.content))
      return 'Never mind.'
    })
    await send(app, sent)
    await answeredOnce(app, sent, { content: 'Never mind.', calls: 2 })
  }
  assert.equal(reported.length, 2)
  return reported
}

for (const path of ['/hang', '/drip', '/hang-within'])
  void test(`fault.tool-hostile: a tool that does ${path}: the call ends at its timeout, the model gets an error, the turn continues`, async () => {
    for (const text of await reportedFor(path, server.url(path), 1)) assert.match(text, /there was no whole answer within 1 s/)
    await server.gone(path)
  })

for (const path of ['/huge', '/bomb'])
  void test(`fault.tool-hostile: a tool that answers with a gigabyte, ${path}: truncated at 1 MiB, the model gets the result, the turn continues`, async () => {
    for (const text of await reportedFor(path, server.url(path))) {
      assert.match(text, /^(?!Error)[^]*\[The answer is longer and is cut here\.\]$/)
      assert.ok(Buffer.byteLength(text) <= 32_768)
    }
    // Of /huge, what the kernel buffered; of /bomb, whose gigabyte is a megabyte on the wire, much less.
    assert.ok(server.written(path) < 128 * 1_048_576, `${server.written(path)} bytes`)
  })

void test('fault.private-address tools.guard: a tool that leads to a private address: nothing is reached there, the model gets an error, the turn continues', async () => {
  const places = [
    'http://169.254.169.254/latest/meta-data/',
    `http://127.0.0.1:${trap}/`,
    `https://127.0.0.1:${trap}/`,
    `https://127.1:${trap}/`,
    `https://2130706433:${trap}/`,
    `https://localhost:${trap}/`,
    `https://[::ffff:127.0.0.1]:${trap}/`,
  ]
  for (const to of places) {
    const reported = await reportedFor(to, server.url(`/redirect?status=302&to=${encodeURIComponent(to)}`))
    for (const text of reported) assert.match(text, /^Error: .*(not public|must start with https)/, to)
  }
  assert.equal(visitors, 0)
})
