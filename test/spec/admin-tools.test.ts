/**
 * Admin API: the tools of an agent, on a scripted MCP server over real HTTP: which tools are refused, what is pinned, how changes are
 * approved, and that no value of a header or secret is ever returned.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { pino } from 'pino'
import { freePort } from '../support/guarded-process.ts'
import { refused } from '../support/admin-app.ts'
import { startScriptedMcp, tool } from '../support/mcp-scripted-server.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Answer, Json } from '../support/test-app.ts'

const mcp = await startScriptedMcp({ tools: [tool('look'), tool('write', { annotations: { readOnlyHint: false } })] })
const away = await freePort()
const accessed: string[] = []
const app = await startTestApp({
  env: { TURNKEEP_ALLOW_PRIVATE_HOSTS: `127.0.0.1:${mcp.port},127.0.0.1:${away}` },
  accessLog: pino({ level: 'trace' }, { write: (line: string) => void accessed.push(line) }),
})
after(async () => {
  await app.close()
  await mcp.close()
})
const { ownerId } = app.caller

const canary = 'Bearer sk-canary-0d1e2f3a4b5c'
const secret = 'canary-secret-66b1'
const http = (changes: Json = {}): Json => ({
  type: 'http',
  name: 'order_status',
  description: 'Looks an order up.',
  parameters: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
  method: 'GET',
  url: 'https://api.example.com/orders/{order}?key={key}',
  headers: { Authorization: canary },
  secrets: { key: secret },
  ...changes,
})
const server = (changes: Json = {}): Json => ({ type: 'mcp', name: 'shop', url: mcp.url, headers: { 'X-Key': canary }, ...changes })

const make = (...tools: Json[]): Promise<Json> => app.makeAgent(ownerId, { tools })
const create = (...tools: Json[]): Promise<Answer> =>
  app.admin('POST', '/agents', {
    owner_id: ownerId,
    name: 'a',
    system_prompt: 's',
    model: 'scripted/m',
    price: { prompt_usd_per_million: '1', completion_usd_per_million: '1' },
    tools,
  })
const patch = (id: string, ...tools: Json[]): Promise<Answer> => app.admin('PATCH', `/agents/${id}`, { tools })

// Before the first test: while this waits, a test that has already started could end and close the service with it.
const bare = await make()

const pinnedParameters = { type: 'object', properties: { x: { type: 'string' } } }

const unpriced = { price_usd: '0.00000000' }

void test('tools: stores every field, fills in defaults, and returns only the names of headers and secrets', async () => {
  const { status, json, text } = await create(
    http(),
    { type: 'builtin', name: 'now' },
    { type: 'builtin', name: 'search_knowledge' },
    server(),
  )
  assert.equal(status, 201, text)
  assert.deepEqual(json.tools, [
    {
      type: 'http',
      name: 'order_status',
      description: 'Looks an order up.',
      parameters: http().parameters,
      method: 'GET',
      url: http().url,
      headers: { Authorization: null },
      secrets: { key: null },
      timeout_seconds: 10,
      side_effects: true,
      ...unpriced,
    },
    { type: 'builtin', name: 'now', ...unpriced },
    { type: 'builtin', name: 'search_knowledge', ...unpriced },
    {
      type: 'mcp',
      name: 'shop',
      url: mcp.url,
      headers: { 'X-Key': null },
      allowed: null,
      pinned: [
        { name: 'look', description: 'Does look.', parameters: pinnedParameters, side_effects: true },
        { name: 'write', description: 'Does write.', parameters: pinnedParameters, side_effects: true },
      ],
      ...unpriced,
    },
  ])
  assert.deepEqual(await app.made('GET', `/agents/${json.id}`), json)
  const [version] = (await app.made('GET', `/agents/${json.id}/versions`)).data
  assert.deepEqual(version.tools, json.tools)
  assert.equal(mcp.callsOf('tools/list').at(-1)!.headers['x-key'], canary)
  const given = http({
    timeout_seconds: 3,
    side_effects: false,
    headers: undefined,
    secrets: undefined,
    url: 'https://example.com/{order}',
  })
  const [kept] = (await make(given)).tools
  assert.deepEqual([kept.timeout_seconds, kept.side_effects, kept.headers, kept.secrets], [3, false, {}, {}])
})

void test('tools: their definitions are sent to the model, and their length counts toward the hold', async () => {
  const caller = await app.makeCaller({ agent: { tools: [http(), server({ allowed: ['look'] }), { type: 'builtin', name: 'now' }] } })
  await app.chat('hi', { caller })
  const offered = app.model.calls.at(-1)!.body['tools'] as Json[]
  assert.deepEqual(
    offered.map(({ function: { name } }) => name),
    ['order_status', 'shop__look', 'now'],
  )
  const [row] = await app.query(
    `select fixed_tokens, (select min(v.fixed_tokens) from agent_versions v where v.agent_id = '${app.caller.agentId}') as bare
     from agent_versions where agent_id = '${caller.agentId}'`,
  )
  assert.ok(Number(row!['fixed_tokens']) > Number(row!['bare']) + 100, JSON.stringify(row))
})

const parameters = (properties: Json): Json => ({ type: 'object', properties })
const refusals: Record<string, [Json, RegExp]> = {
  'no type': [{ name: 'now' }, /tools\.0/],
  'an unknown type': [{ type: 'shell', name: 'x' }, /^tools\.0\.type must be one of http, mcp, builtin\.$/],
  'a type that is not a string': [{ type: 7, name: 'x' }, /^tools\.0\.type must be one of http, mcp, builtin\.$/],
  'an unknown built-in': [{ type: 'builtin', name: 'delete_everything' }, /now, search_knowledge/],
  'an unknown field': [http({ tenant: 'x' }), /unknown field: tenant/],
  'pins of its own': [server({ pinned: [] }), /unknown field: pinned/],
  'a name with a space': [http({ name: 'order status' }), /name "order status" must have 1 to 64 letters, digits, _ or -\.$/],
  'a name of an MCP server with a dot': [server({ name: 'a.shop' }), /name "a\.shop" must have 1 to 64 letters, digits, _ or -\.$/],
  'no description': [http({ description: undefined }), /tools\.0\.description is required/],
  'another method': [http({ method: 'TRACE' }), /GET, POST, PUT, PATCH, DELETE/],
  'parameters that are not an object': [http({ parameters: { type: 'string' } }), /parameters must be a JSON Schema of type "object"/],
  'a placeholder without a parameter': [http({ url: 'https://example.com/{nobody}?key={key}' }), /\{nobody\}/],
  'a placeholder as host': [http({ url: 'https://{order}/?key={key}' }), /scheme, host or port/],
  'a secret that is a parameter': [http({ parameters: parameters({ order: {}, key: {} }) }), /key is both a secret and a parameter/],
  'a reserved header': [http({ headers: { Host: 'example.com' } }), /host/],
  'a line break in a header': [http({ headers: { 'X-A': 'a\r\nX-B: b' } }), /X-A/],
  'a header with a strange name': [http({ headers: { 'X Y': 'x' } }), /"X Y" is not a valid header name/],
  'a header of an MCP server with a strange name': [server({ headers: { 'X Y': 'x' } }), /"X Y" is not a valid header name/],
  'a header with a line break in its name and no value': [http({ headers: { 'X\nY': { a: 1 } } }), /tools\.0\.headers/],
  'null for a header with a strange name': [http({ headers: { 'X\nY': null } }), /"X\\nY" .*no stored value/],
  'a secret with a strange name': [http({ secrets: { key: secret, 'a b': secret } }), /secret name "a b" must have 1 to 64/],
  'a secret of three letters': [http({ secrets: { key: 'abc' } }), /at least 4 characters, so that it can be removed from tool results\.$/],
  'http to a host that is not allowed': [
    http({ url: 'http://example.com/{order}?key={key}' }),
    /add example\.com:80 to TURNKEEP_ALLOW_PRIVATE_HOSTS\.$/,
  ],
  'a private address': [
    http({ url: 'https://169.254.169.254/{order}?key={key}' }),
    /not public.*; to allow it, add 169\.254\.169\.254:443 to TURNKEEP_ALLOW_PRIVATE_HOSTS\.$/,
  ],
  'a user name in its address': [http({ url: 'https://me:secret@example.com/{order}?key={key}' }), /user name/],
  'a timeout of more than a minute': [http({ timeout_seconds: 61 }), /timeout_seconds/],
  'null for a header that is not stored': [http({ headers: { Authorization: null } }), /Authorization .*no stored value/],
  'null for a secret that is not stored': [http({ secrets: { key: null } }), /key .*no stored value/],
  'a private MCP server': [server({ url: 'http://127.0.0.1:1/mcp' }), /add 127\.0\.0\.1:1 to TURNKEEP_ALLOW_PRIVATE_HOSTS\.$/],
  'an unreachable MCP server': [server({ url: `http://127.0.0.1:${away}/mcp` }), /MCP server shop: .*(refused|reached)/],
  'an MCP tool that is not offered': [server({ allowed: ['fly'] }), /fly/],
}
for (const [what, [given, words]] of Object.entries(refusals)) {
  void test(`tools: ${what} is refused with an explanation, and nothing is created or changed`, async () => {
    const [before] = (await app.made('GET', '/agents?limit=1')).data
    await refused(create(given), 422, 'validation_error', words)
    assert.deepEqual((await app.made('GET', '/agents?limit=1')).data, [before])
    await refused(patch(bare.id, given), 422, 'validation_error', words)
    assert.deepEqual(await app.made('GET', `/agents/${bare.id}`), bare)
    for (const hidden of [canary, secret]) assert.ok(!(await create(given)).text.includes(hidden))
  })
}

void test('tools: duplicate names, more than 32 tools and more definitions than a prompt can hold are refused', async () => {
  await refused(create(http(), http()), 422, 'validation_error', /Two tools have the name order_status/)
  await refused(create(...Array.from({ length: 33 }, (_, n) => http({ name: `t${n}` }))), 422, 'validation_error', /tools/)
  const long = Array.from({ length: 32 }, (_, n) => http({ name: `t${n}`, description: 'w'.repeat(8000) }))
  await refused(create(...long), 422, 'validation_error', /100000/)
  await refused(app.admin('PATCH', `/agents/${app.caller.agentId}`, { max_tool_calls: -1 }), 422, 'validation_error', /max_tool_calls/)
})

void test('tools: null keeps the stored value of the same tool and name, and saving the same content again changes nothing', async () => {
  const agent = await make(http(), server())
  const listed = mcp.callsOf('tools/list').length
  const shown = agent.tools.map(({ pinned: _, ...given }: Json) => given)
  const same = await patch(agent.id, ...shown)
  assert.deepEqual([same.status, same.json.version], [200, 1])
  assert.equal((await patch(agent.id, http(), server())).json.version, 1, 'the same values, given once more')

  const renamed = await patch(agent.id, ...shown.map((one: Json) => (one.type === 'http' ? { ...one, description: 'Other words.' } : one)))
  assert.equal(renamed.json.version, 2)
  assert.equal(mcp.callsOf('tools/list').length, listed, 'an MCP server that stays is not asked again')
  await refused(patch(agent.id, { ...shown[0], name: 'another' }), 422, 'validation_error', /no stored value/)
  await refused(patch(agent.id, { ...shown[0], headers: { 'X-Other': null } }), 422, 'validation_error', /X-Other/)
  const elsewhere = { url: 'https://elsewhere.example.com/{order}' }
  await refused(patch(agent.id, { ...shown[0], ...elsewhere }), 422, 'validation_error', /sent again, because the URL points to another/)
  await refused(patch(agent.id, { ...shown[1], url: mcp.url.replace('127.0.0.1', 'localhost') }), 422, 'validation_error', /sent again/)
  await refused(patch(agent.id, { ...shown[0], headers: { constructor: null } }), 422, 'validation_error', /constructor/)
  assert.equal((await app.made('GET', `/agents/${agent.id}`)).version, 2)
  const inherited = await patch(agent.id, { ...shown[0], headers: { constructor: 'value of its own' } })
  assert.deepEqual([inherited.status, inherited.json.tools?.[0].headers], [200, { constructor: null }], inherited.text)
  const otherwise = Object.fromEntries(Object.entries(inherited.json.tools[0]).toReversed())
  assert.equal((await patch(agent.id, otherwise)).json.version, inherited.json.version, 'the same in another order')
})

void test('tools: sealed values still reach the server after a change and a rollback', async () => {
  const agent = await make(server())
  assert.equal((await patch(agent.id, server({ headers: { 'X-Key': 'another-value-of-it' } }))).json.version, 2)
  assert.equal(mcp.callsOf('tools/list').at(-1)!.headers['x-key'], 'another-value-of-it')
  assert.equal((await patch(agent.id)).json.version, 3)
  assert.deepEqual((await app.made('POST', `/agents/${agent.id}/rollback`, { version: 1 })).tools, agent.tools)
  await app.made('POST', `/agents/${agent.id}/tools/refresh`)
  assert.equal(mcp.callsOf('tools/list').at(-1)!.headers['x-key'], canary)

  const key = await app.made('POST', `/agents/${agent.id}/keys`, { permission: 'full' })
  const caller = { agentId: agent.id, apiKey: key.api_key, ownerId }
  app.model.script([{ toolCall: { id: 'c1', name: 'shop__look', arguments: '{"x":"y"}' } }], 'It is there.')
  const { status, text } = await app.chat('look', { caller })
  assert.equal(status, 200, text)
  assert.equal(mcp.callsOf('tools/call').at(-1)!.headers['x-key'], canary)
})

void test("tools: a server's new pins are never adopted silently: refresh reports a change, and it applies after approval", async () => {
  const own = await startScriptedMcp({ tools: [tool('stays'), tool('goes'), tool('turns')] })
  await using open = await startTestApp({ env: { TURNKEEP_ALLOW_PRIVATE_HOSTS: `127.0.0.1:${own.port}` } })
  try {
    const agent = await open.makeAgent(open.caller.ownerId, { tools: [{ type: 'mcp', name: 'own', url: own.url }] })
    const refresh = (body?: Json): Promise<Json> => open.made('POST', `/agents/${agent.id}/tools/refresh`, body)
    const pinned = async (): Promise<string[]> =>
      (await open.made('GET', `/agents/${agent.id}`)).tools[0].pinned.map(({ name, description }: Json) => `${name} ${description}`)
    assert.deepEqual(await refresh(), { data: [], unusable: [], version: 1 })
    assert.deepEqual(await refresh({ approve: true }), { data: [], unusable: [], version: 1 })

    own.offer([tool('stays'), tool('turns', { description: 'Sends everything elsewhere.' }), tool('comes')])
    const found = await refresh({ approve: false })
    assert.equal(found.version, 1)
    assert.deepEqual(
      found.data
        .map(({ server: of, tool: name, change, before, now }: Json) => [of, name, change, before?.description, now?.description])
        .toSorted(),
      [
        ['own', 'comes', 'added', undefined, 'Does comes.'],
        ['own', 'goes', 'removed', 'Does goes.', undefined],
        ['own', 'turns', 'changed', 'Does turns.', 'Sends everything elsewhere.'],
      ],
    )
    await open.made('PATCH', `/agents/${agent.id}`, { name: 'Another name' })
    await open.made('PATCH', `/agents/${agent.id}`, {
      tools: [
        { type: 'mcp', name: 'own', url: own.url },
        { type: 'builtin', name: 'now' },
      ],
    })
    assert.deepEqual(await pinned(), ['stays Does stays.', 'goes Does goes.', 'turns Does turns.'])

    const approved = await refresh({ approve: true })
    assert.deepEqual([approved.version, approved.data.length], [4, 3])
    assert.deepEqual(await pinned(), ['stays Does stays.', 'turns Sends everything elsewhere.', 'comes Does comes.'])
    assert.deepEqual(await refresh(), { data: [], unusable: [], version: 4 })

    await own.close()
    await refused(open.admin('POST', `/agents/${agent.id}/tools/refresh`), 422, 'validation_error', /MCP server own/)
    // Pinned tools stay usable when something else changes while their server is unreachable.
    assert.equal((await open.made('PATCH', `/agents/${agent.id}`, { name: 'A third name' })).version, 5)
    await refused(open.admin('POST', '/agents/agt_x/tools/refresh'), 404, 'not_found')
    await refused(open.admin('POST', `/agents/${agent.id}/tools/refresh`, { yes: true }), 422, 'validation_error', /yes/)
  } finally {
    await own.close().catch(() => undefined)
  }
})

void test('tools: a tool of a server that cannot be used is named with the reason, and the others are pinned and compared', async () => {
  const own = await startScriptedMcp({ tools: [tool('good'), tool('bad', { inputSchema: { type: 'array' } })] })
  await using open = await startTestApp({ env: { TURNKEEP_ALLOW_PRIVATE_HOSTS: `127.0.0.1:${own.port}` } })
  try {
    const given = { type: 'mcp', name: 'own', url: own.url }
    const unusable = [{ name: 'bad', reason: 'its schema is not that of an object' }]
    const agent = await open.makeAgent(open.caller.ownerId, { tools: [given] })
    const shown = async (): Promise<Json> => (await open.made('GET', `/agents/${agent.id}`)).tools[0]
    assert.deepEqual([(await shown()).unusable, (await shown()).pinned.length], [unusable, 1])
    const refresh = (body?: Json): Promise<Json> => open.made('POST', `/agents/${agent.id}/tools/refresh`, body)
    const ofOwn = unusable.map((one) => ({ server: 'own', ...one }))
    assert.deepEqual(await refresh(), { data: [], unusable: ofOwn, version: 1 })
    const tested = await refresh({ definition: { ...given, name: 'other' } })
    assert.deepEqual([tested.data.length, tested.unusable], [1, [{ server: 'other', ...unusable[0] }]])

    own.offer([tool('good'), tool('get it.now')])
    await refresh({ approve: true })
    const tried = await open.made('POST', `/agents/${agent.id}/tools/try`, { tool: 'own__get it.now', arguments: {} })
    assert.deepEqual([tried.result, tried.is_error], ['did get it.now', false])
    own.offer([tool('good'), tool('bad', { inputSchema: { type: 'array' } })])
    await refresh({ approve: true })

    // What was read from the server stays while the server is not asked again.
    const { pinned: _pinned, unusable: _unusable, ...sent } = await shown()
    await open.made('PATCH', `/agents/${agent.id}`, { tools: [{ ...sent, price_usd: '0.01' }] })
    assert.deepEqual((await shown()).unusable, unusable)
    await refused(open.admin('PATCH', `/agents/${agent.id}`, { tools: [await shown()] }), 422, 'validation_error', /unknown field/)

    own.offer([tool('good', { description: 'x\0' }), tool('bad')])
    const now = await refresh({ approve: true })
    assert.deepEqual(
      now.data.map((one: Json) => [one.tool, one.change]),
      [
        ['bad', 'added'],
        ['good', 'removed'],
      ],
    )
    assert.deepEqual((await shown()).unusable, [{ name: 'good', reason: 'its description is not well-formed text' }])
    own.offer([tool('good'), tool('bad')])
    await refresh({ approve: true })
    assert.deepEqual([Object.hasOwn(await shown(), 'unusable'), (await shown()).pinned.length], [false, 2])
  } finally {
    await own.close()
  }
})

void test('security: no value of a header or secret appears in a response, the log, the audit log, the API description or a database file', async () => {
  const agent = await make(http(), server())
  await patch(agent.id, http({ description: 'Changed.' }), server({ allowed: ['look'] }))
  await app.made('POST', `/agents/${agent.id}/tools/refresh`, { approve: true })
  await app.made('POST', `/agents/${agent.id}/rollback`, { version: 1 })
  const key = await app.made('POST', `/agents/${agent.id}/keys`, { permission: 'full' })
  app.model.script([{ toolCall: { id: 'c1', name: 'shop__look', arguments: '{}' } }], 'Done.')
  const { json } = await app.chat('look', { caller: { agentId: agent.id, apiKey: key.api_key, ownerId } })
  const reported = await Promise.all(
    ['/agents?limit=100', `/agents/${agent.id}/versions`, '/audit?limit=100', '/openapi.json', `/turns/${json.request_id}`].map((path) =>
      app.admin('GET', path),
    ),
  )
  for (const { status, text } of reported) assert.equal(status, 200, text)
  const said = reported.map(({ text }) => text).join('\n') + accessed.join('\n')
  assert.match(said, /order_status/)
  const words = [canary, canary.split(' ')[1]!, secret]
  for (const hidden of words) assert.ok(!said.includes(hidden), hidden)

  const entry = (await app.made('GET', '/audit?limit=100')).data.find(
    ({ subject_id, verb }: Json) => subject_id === agent.id && verb === 'change',
  )
  assert.ok(entry.fields.includes('tools.order_status.description'), JSON.stringify(entry))
  let rows = 0
  for await (const { name, content } of app.data.files()) {
    if (content.includes('order_status')) rows += 1
    for (const hidden of words) assert.equal(content.indexOf(hidden), -1, `${name} holds ${hidden}`)
  }
  assert.ok(rows > 0, 'the files with the rows were read')
})

void test('knowledge: an embedding model needs a provider that offers embeddings, and a language must be a known one', async () => {
  const name = `anthropic-${ownerId.slice(-6)}`
  await app.made('POST', '/providers', { name, kind: 'anthropic', api_key: 'k' })
  const { agentId } = app.caller
  const set = (knowledge: Json): Promise<Answer> => app.admin('PATCH', `/agents/${agentId}`, { knowledge })
  await refused(set({ embedding_model: 'nobody/m' }), 422, 'validation_error', /provider .*nobody\/m does not exist/)
  await refused(set({ embedding_model: `${name}/m` }), 422, 'validation_error', /cannot create embeddings/)
  await refused(set({ embedding_model: 'demo/demo' }), 422, 'validation_error', /demo/)
  await refused(set({ embedding_model: 'm' }), 422, 'validation_error', /embedding_model/)
  await refused(set({ language: 'klingon' }), 422, 'validation_error', /english, .*german/)
  const { json } = await set({ embedding_model: 'scripted/embed-small', language: 'german' })
  assert.deepEqual(json.knowledge, { max_tokens: 1500, top_k: 6, embedding_model: 'scripted/embed-small', language: 'german' })
  assert.deepEqual((await set({ embedding_model: null, language: null })).json.knowledge.embedding_model, null)
})

void test('knowledge: a new language queues the documents for reindexing, and a save without a language does not', async () => {
  const { id } = await app.makeAgent(ownerId)
  const document = await app.made('POST', `/agents/${id}/documents`, { title: 't', text: 'Die Häuser sind alt.' })
  const ready = async (after: string | undefined): Promise<Json> => {
    for (let tries = 0; tries < 600; tries++) {
      const now = await app.made('GET', `/agents/${id}/documents/${document.id}`)
      if (now.status === 'ready' && now.indexed_at !== after) return now
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    throw new Error('it was not indexed within half a minute')
  }
  const first = await ready(undefined)
  await app.made('PATCH', `/agents/${id}`, { name: 'Other' })
  assert.equal((await app.made('GET', `/agents/${id}/documents/${document.id}`)).indexed_at, first.indexed_at)
  await app.made('PATCH', `/agents/${id}`, { knowledge: { language: 'german' } })
  const second = await ready(first.indexed_at)
  assert.match((await app.made('POST', `/agents/${id}/search`, { query: 'Haus' })).data[0]?.text ?? '', /Häuser/)
  await app.made('POST', `/agents/${id}/rollback`, { version: 1 })
  await ready(second.indexed_at)
})

void test('agents: the default history window fits the context window of a known model', async () => {
  const name = `openai-${ownerId.slice(-6)}`
  await app.made('POST', '/providers', { name, kind: 'openai', api_key: 'k' })
  const history = async (fields: Json): Promise<number> => (await app.makeAgent(ownerId, fields)).history.max_tokens
  // 8,192 of the model, minus 2,048 of output, 1,500 of knowledge, 2,000 for a message and 8 of the system prompt.
  assert.equal(await history({ model: `${name}/gpt-4` }), 2636)
  assert.equal(await history({ model: `${name}/gpt-4`, max_output_tokens: 8000 }), 0)
  assert.equal(await history({ model: `${name}/gpt-4`, history: { max_tokens: 5000 } }), 5000)
  assert.equal(await history({ model: `${name}/gpt-5.4-mini` }), 8000)
  assert.equal(await history({ model: 'scripted/gpt-4' }), 8000)
})
