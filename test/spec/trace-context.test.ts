/** The W3C trace context of a request: where it is sent on to, where it is not, and that turns are found by it. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { startScriptedMcp, tool } from '../support/mcp-scripted-server.ts'
import { hostedKinds } from '../support/provider-dialects.ts'
import { startProviderServer } from '../support/provider-server.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Json } from '../support/test-app.ts'
import { call, dayTool } from '../support/tool-process-runs.ts'
import { startToolServer } from '../support/tool-server.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const traceparent = `00-${traceId}-00f067aa0ba902b7-01`

void test('trace.context: HTTP tools, MCP servers and the model get the header unchanged, and the turn is found by it', async (t) => {
  const [tools, mcp] = [await startToolServer(), await startScriptedMcp({ tools: [tool('look')] })]
  const env = { TURNKEEP_ALLOW_PRIVATE_HOSTS: `${tools.address},127.0.0.1:${mcp.port}` }
  const app = await startTestApp({ env, agent: { tools: [dayTool(tools, 'book'), { type: 'mcp', name: 'm', url: mcp.url }] } })
  t.after(async () => {
    await app.close()
    await tools.close()
    await mcp.close()
  })
  const steps = [[call('book', { day: 'Monday' }, 'a'), call('m__look', { x: 'y' }, 'b')], 'Done.']
  app.model.script(...steps)
  const { json } = await app.chat('go', { headers: { traceparent } })
  assert.equal(json['message']?.content, 'Done.')
  assert.deepEqual(
    app.model.calls.map(({ headers }) => headers['traceparent']),
    [traceparent, traceparent],
  )
  assert.equal(tools.calls[0]!.headers['traceparent'], traceparent)
  const [called] = mcp.callsOf('tools/call')
  assert.deepEqual([called!.headers['traceparent'], called!.params['_meta'].traceparent], [traceparent, traceparent])
  assert.equal(mcp.callsOf('initialize')[0]!.headers['traceparent'], undefined, 'a session is shared by many turns')

  app.model.script(...steps)
  await app.chat('go again')
  await app.chat('and again', { headers: { traceparent: 'not one' } })
  for (const { headers } of [...app.model.calls.slice(2), tools.calls[1]!, mcp.callsOf('tools/call')[1]!])
    assert.equal(headers['traceparent'], undefined)

  const found = (id: string): Promise<Json> => app.made('GET', `/turns?trace_id=${id}`)
  assert.deepEqual(
    (await found(traceId))['data'].map((turn: Json) => turn['request_id']),
    [json['request_id']],
  )
  assert.deepEqual((await found('00000000000000000000000000000001'))['data'], [])
  assert.equal((await app.admin('GET', '/turns?trace_id=xyz')).status, 422)
})

for (const kind of hostedKinds)
  void test(`trace.context: a model server of ${kind} gets the header unchanged`, async (t) => {
    const provider = await startProviderServer()
    await using app = await startTestApp()
    t.after(() => provider.close())
    await app.made('POST', '/providers', { name: 'hosted', kind, base_url: provider.baseUrl(kind), api_key: 'k' })
    await app.made('PATCH', `/agents/${app.caller.agentId}`, {
      model: 'hosted/some-model',
      price: { prompt_usd_per_million: '1', completion_usd_per_million: '1' },
    })
    assert.equal((await app.chat('hi', { headers: { traceparent } })).status, 200)
    assert.equal(provider.calls[0]!.headers['traceparent'], traceparent)
  })

void test('trace.context tools.guard: a server that the guard refuses gets no request, and another origin no header', async (t) => {
  const [tools, refused] = [await startToolServer(), await startToolServer()]
  const away = createServer((request, response) => void response.writeHead(307, { location: aim }).end(request.url))
  await new Promise<void>((resolve) => away.listen(0, '127.0.0.1', resolve))
  const address = `127.0.0.1:${(away.address() as AddressInfo).port}`
  let aim = `${tools.baseUrl}/book`
  const env = { TURNKEEP_ALLOW_PRIVATE_HOSTS: `${tools.address},${address}` }
  const app = await startTestApp({ env, agent: { tools: [{ ...dayTool(tools, 'book'), url: `http://${address}/book` }] } })
  t.after(async () => {
    away.closeAllConnections()
    away.close()
    await app.close()
    await Promise.all([tools.close(), refused.close()])
  })
  app.model.script([call('book', { day: 'Monday' })], 'Done.')
  await app.chat('go', { headers: { traceparent } })
  assert.deepEqual(
    tools.calls.map(({ headers }) => headers['traceparent']),
    [undefined],
  )
  aim = `${refused.baseUrl}/book`
  app.model.script([call('book', { day: 'Monday' })], 'Done.')
  await app.chat('go', { headers: { traceparent } })
  assert.equal(refused.calls.length, 0)
})
