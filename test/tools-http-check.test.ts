/** Which tools an operator may save, what the model receives of them, and what that costs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkTools, definitionsOf, mcpToolName, openTexts, sealTools, toolTokens } from '../src/agent/tools/tools.ts'
import type { OpenHttpTool, OpenMcpServer, OpenTool, PinnedTool } from '../src/agent/tools/tools.ts'
import { createSealer, generateEncryptionKey, UnsealError } from '../src/config/secrets.ts'

const parameters = { type: 'object', properties: { id: { type: 'string' }, q: { type: 'string' } } }
const http: OpenHttpTool = {
  type: 'http',
  name: 'look_up',
  description: 'Looks an order up.',
  parameters,
  method: 'GET',
  url: 'https://api.example.com/orders/{id}?key={key}&q={q}&fixed=1',
  headers: { Authorization: 'Bearer {key}' },
  secrets: { key: 'sk-canary' },
  timeoutSeconds: 10,
  sideEffects: false,
}
const pinned: PinnedTool = { name: 'echo', description: 'Says it again.', parameters, sideEffects: true }
const mcp: OpenMcpServer = {
  type: 'mcp',
  name: 'shop',
  url: 'https://mcp.example.com/mcp',
  headers: { 'X-Key': 'a{b}c' },
  allowed: null,
  pinned: [pinned],
}
const builtIns: OpenTool[] = [
  { type: 'builtin', name: 'now' },
  { type: 'builtin', name: 'search_knowledge' },
]

void test('tools: a callable tool can be saved', () => {
  assert.equal(checkTools([http, mcp, ...builtIns]), undefined)
  for (const url of [
    'http://10.0.0.1:8080/x',
    'https://example.com',
    'https://example.com?q={q}',
    'https://[::1]:1/{id}-{q}.json',
    'HTTPS://example.com/ü',
  ])
    assert.equal(checkTools([{ ...http, url }]), undefined, url)
})

const refusals: [OpenTool[] | Partial<OpenHttpTool>, RegExp][] = [
  [[http, { ...http }], /Two tools have the name look_up/],
  [
    [http, { ...mcp, name: 'look', pinned: [{ ...pinned, name: 'up' }] }, { ...http, name: 'look__up' }],
    /Two tools have the name look__up/,
  ],
  [[mcp, { ...mcp, pinned: [] }], /Two tools have the name shop/],
  [[builtIns[0]!, { ...http, name: 'now' }], /Two tools have the name now/],
  [Array.from({ length: 129 }, (_, n) => ({ ...http, name: `t${n}` })), /at most 128 tools/],
  [{ name: '' }, /1 to 64 letters/],
  [{ name: 'look up' }, /1 to 64 letters/],
  [{ name: 'x'.repeat(65) }, /1 to 64 letters/],
  [{ description: 'x'.repeat(9000) }, /description exceeds/],
  [{ description: 'a\0b' }, /not well-formed/],
  [{ timeoutSeconds: 0 }, /between 1 and 60/],
  [{ timeoutSeconds: 61 }, /between 1 and 60/],
  [{ timeoutSeconds: Number.NaN }, /between 1 and 60/],
  [{ parameters: { properties: parameters.properties } }, /of type "object"/],
  [{ parameters: { ...parameters, description: 'x'.repeat(70_000) } }, /exceed 65536/],
  [{ parameters: { ...parameters, patternProperties: { '(': {} } } }, /pattern that cannot be used, "\(" at "": it is not a valid regular/],
  [
    { parameters: { ...parameters, properties: { id: { items: { pattern: '(a+)\\1' } } } } },
    /tool look_up: the schema of its parameters has a pattern that cannot be used, "\(a\+\)\\\\1" at "\/properties\/id\/items": it refers back/,
  ],
  [{ parameters: { ...parameters, properties: { id: { pattern: '((a{99}){99}){99}' } } } }, /make more than 10000 states: use minLength/],
  [{ parameters: { type: 'object', $ref: '#' } }, /reference that leads back to itself, "#" at ""/],
  [
    {
      parameters: {
        ...parameters,
        anyOf: [{ $ref: '#/$defs/a' }],
        $defs: { a: { not: { $ref: '#/$defs/b' } }, b: { allOf: [true, { $ref: '#/$defs/a' }] } },
      },
    },
    /reference that leads back to itself/,
  ],
  [{ parameters: { ...parameters, allOf: [{ $ref: '#/$defs/none' }] } }, /reference that leads nowhere, "#\/\$defs\/none" at "\/allOf\/0"/],
  [{ parameters: { ...parameters, properties: { ...parameters.properties, key: {} } } }, /key is both a secret and a parameter/],
  [{ parameters: { ...parameters, properties: { ...parameters.properties, fixed: {} } } }, /fixed is both in its url and a parameter/],
  [{ secrets: { key: '' } }, /secret key must have at least 4 characters, so that it can be removed from tool results\.$/],
  [{ secrets: { key: 'abc' } }, /secret key must have at least 4 characters, so that it can be removed from tool results\.$/],
  [{ secrets: { key: 'x'.repeat(8193) } }, /secret key exceeds 8192 bytes\.$/],
  [{ secrets: { key: 'canary\0canary' } }, /secret key is not well-formed text\.$/],
  [{ secrets: { key: 'long', 'a b': 'long' } }, /secret name "a b" must have/],
  [{ url: '/orders' }, /must be an absolute https URL/],
  [{ url: 'ftp://example.com/' }, /must be an absolute https URL/],
  [{ url: 'https:example.com/' }, /must be an absolute https URL/],
  [{ url: 'https://user:word@example.com/' }, /must be an absolute https URL/],
  [{ url: `https://example.com/${'x'.repeat(2100)}` }, /at most 2,048/],
  [{ url: 'https://example.com/a b' }, /must not contain a space/],
  [{ url: 'https://example.com/\u0001' }, /must not contain a space/],
  [{ url: 'https://example.com/{id}#{q}' }, /must not contain a space/],
  [{ url: 'https://example.com\\{id}' }, /scheme, host or port|must be an absolute/],
  [{ url: 'https://example.com/{not a name}' }, /brace/],
  [{ url: 'https://example.com/{id' }, /brace/],
  [{ url: 'https://{id}/' }, /scheme, host or port/],
  [{ url: 'https://example.com:{id}/' }, /scheme, host or port/],
  [{ url: 'https://{key}@example.com/' }, /scheme, host or port/],
  [{ url: '{id}://example.com/' }, /scheme, host or port|must be an absolute/],
  [{ url: '{id}' }, /must be an absolute/],
  [{ url: 'https://example.com/{other}' }, /\{other\} in its url is neither/],
  [{ url: 'https://example.com/a/../{id}' }, /path segment/],
  [{ url: 'https://example.com/%2E%2e/{id}' }, /path segment/],
  [{ url: 'https://example.com/?{id}=1' }, /follow "name="/],
  [
    { headers: { 'A b': 'x' } },
    /"A b" is not a valid header name: use 1 to 64 letters, digits and characters such as -, without spaces\.$/,
  ],
  [{ headers: { Host: 'x' } }, /header host is reserved or set twice/],
  [{ headers: { 'Content-Length': '1' } }, /content-length is reserved or set twice/],
  [{ headers: { 'idempotency-key': '1' } }, /idempotency-key is reserved or set twice/],
  [{ headers: { 'Transfer-Encoding': 'chunked' } }, /transfer-encoding is reserved or set twice/],
  [{ headers: { Connection: 'x' } }, /connection is reserved or set twice/],
  [{ headers: { 'Proxy-Authorization': 'x' } }, /is reserved or set twice/],
  [{ headers: { 'X-A': '1', 'x-a': '2' } }, /set twice/],
  [{ headers: { 'X-A': 'a\r\nHost: b' } }, /must be one line of Latin-1 characters/],
  [{ headers: { 'X-A': '退' } }, /must be one line of Latin-1 characters/],
  [{ headers: { 'X-A': '{key}' }, secrets: { key: 'two\nlines' } }, /must be one line of Latin-1 characters/],
  [{ headers: { 'X-A': '{id}' } }, /\{id\} in its header X-A is not a secret/],
  [[{ ...mcp, url: 'https://user@example.com/' }], /must be an absolute https URL/],
  [[{ ...mcp, headers: { 'Mcp-Session-Id': 'x' } }], /mcp-session-id is reserved or set twice/],
]

void test('tools: a tool that could not be called, or would let arguments decide where a call goes, is refused without showing a value', () => {
  for (const [given, words] of refusals) {
    const tools = Array.isArray(given) ? given : [{ ...http, ...given }]
    const problem = checkTools(tools)?.message
    assert.match(problem ?? 'saved', words, JSON.stringify(given).slice(0, 200))
    assert.match(problem!, /^[A-Z].*\.$/)
    assert.doesNotMatch(problem!, /canary/)
  }
})

void test('tools: the model receives names, descriptions and parameters, and neither address nor secret', () => {
  const sealer = createSealer([generateEncryptionKey()])
  const stored = sealTools([http, mcp, ...builtIns], 'agt_1', sealer)
  const definitions = definitionsOf(stored)
  assert.deepEqual(
    definitions.map(({ name }) => name),
    ['look_up', 'shop__echo', 'now', 'search_knowledge'],
  )
  assert.doesNotMatch(JSON.stringify(definitions), /example\.com|canary|X-Key/)
  assert.doesNotMatch(JSON.stringify(stored), /canary|a\{b\}c/)
  const [one, server] = stored
  assert.ok(one?.type === 'http' && server?.type === 'mcp')
  const place = { agentId: 'agt_1', ...one }
  assert.deepEqual(openTexts(one.secrets, 'secrets', place, sealer), http.secrets)
  assert.deepEqual(openTexts(server.headers, 'headers', { agentId: 'agt_1', ...server }, sealer), mcp.headers)
  assert.deepEqual(openTexts(one.headers, 'headers', { ...place, url: `${new URL(one.url).origin}/elsewhere` }, sealer), http.headers)
  // Each part of the place counts: a value that was copied to another row, tool, field or server cannot be opened.
  const [[name, value]] = Object.entries(one.secrets) as [[string, string]]
  const port = new URL(one.url)
  port.port = '8443'
  for (const other of [
    { agentId: 'agt_2' },
    { name: 'another' },
    { type: 'mcp' as const },
    { url: 'https://elsewhere.example/' },
    { url: port.href },
    { url: one.url.replace('https:', 'http:') },
    { url: '' },
  ])
    assert.throws(() => openTexts({ [name]: value }, 'secrets', { ...place, ...other }, sealer), UnsealError, JSON.stringify(other))
  assert.throws(() => openTexts({ [name]: value }, 'headers', place, sealer), UnsealError)
  assert.throws(() => openTexts({ another: value }, 'secrets', place, sealer), UnsealError)
})

void test('billing.hold: the tool definitions sent to the model are bounded by their bytes, and by nothing if there are none', () => {
  assert.equal(toolTokens([]), 0)
  const definitions = definitionsOf([mcp, ...builtIns] as Parameters<typeof definitionsOf>[0])
  assert.ok(toolTokens(definitions) >= Buffer.byteLength(JSON.stringify(definitions)) / 2 + 400 - 10)
  assert.ok(toolTokens([...definitions, definitions[0]!]) > toolTokens(definitions))
})

void test('tools: the name of an MCP tool is valid for every provider, and two never become one', () => {
  assert.equal(mcpToolName('shop', 'echo'), 'shop__echo')
  const awkward = ['a.b', 'a/b', 'a_b', 'a b', '退款', 'x'.repeat(100), `${'x'.repeat(100)}y`]
  const names = awkward.map((tool) => mcpToolName('shop', tool))
  for (const name of names) assert.match(name, /^[a-zA-Z0-9_-]{1,64}$/)
  assert.equal(new Set(names).size, awkward.length)
  assert.deepEqual(
    names,
    awkward.map((tool) => mcpToolName('shop', tool)),
  )
})
