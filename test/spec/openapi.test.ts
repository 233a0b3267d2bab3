/** /openapi.json describes what the service does, and the service does what it describes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dereferenced } from '../support/dereferenced.ts'
import { adminCodes, failures } from '../../src/errors.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Json } from '../support/test-app.ts'
import { startTestLayer } from '../support/test-http-layer.ts'

const describe = async (publicUrl?: string): Promise<Json> => dereferenced(await served(publicUrl))

async function served(publicUrl?: string): Promise<Json> {
  await using layer = await startTestLayer({ publicUrl })
  const response = await fetch(`${layer.url}/openapi.json`)
  assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8')
  return (await response.json()) as Json
}

const operations = (document: Json): [name: string, operation: Json][] =>
  Object.entries<Json>(document['paths']).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, operation]): [string, Json] => [`${method} ${path}`, operation]),
  )

const codesOf = (response: Json): string[] => response['content']['application/json'].schema.properties.error.properties.code.enum

void test('openapi: is OpenAPI 3.1.0, version 1.0.0, the public API alone, with its bearer scheme and its base address', async () => {
  const document = await describe('https://chat.example.com')
  assert.deepEqual([document['openapi'], document['info'].version], ['3.1.0', '1.0.0'])
  assert.deepEqual(document['servers'], [{ url: 'https://chat.example.com' }])
  assert.deepEqual((await describe())['servers'], [{ url: '/' }])
  assert.deepEqual(document['security'], [{ apiKey: [] }])
  assert.deepEqual(
    [document['components'].securitySchemes.apiKey.type, document['components'].securitySchemes.apiKey.scheme],
    ['http', 'bearer'],
  )
  assert.deepEqual(Object.keys(document['paths']), [
    '/v1/agents/{agent_id}/chat',
    '/v1/agents/{agent_id}/chat/stream',
    '/v1/agents/{agent_id}/turns',
    '/v1/agents/{agent_id}/turns/{request_id}',
    '/v1/agents/{agent_id}/turns/{request_id}/stream',
    '/v1/agents/{agent_id}/turns/{request_id}/cancel',
    '/v1/agents/{agent_id}/turns/{request_id}/feedback',
    '/v1/agents/{agent_id}/conversations',
    '/v1/agents/{agent_id}/conversations/{conversation_id}/messages',
  ])
  const ids = operations(document).map(([, { operationId }]) => operationId)
  assert.equal(new Set(ids).size, ids.length)
  for (const [name, { summary, tags }] of operations(document)) assert.ok(summary && tags.length === 1, name)
})

void test('openapi: every reference resolves', async () => {
  const document = await served()
  const text = JSON.stringify(document)
  const refs = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref!)
  assert.ok(refs.length > 5)
  for (const ref of refs) {
    const target = ref
      .split('/')
      .slice(1)
      .reduce<Json | undefined>((at, name) => at?.[name], document)
    assert.ok(ref.startsWith('#/components/') && target, ref)
  }
  assert.ok(!text.includes('"$id"'))
})

void test('openapi: every code is listed under its status, described and with an example, with the headers it carries', async () => {
  for (const [name, { responses }] of operations(await describe())) {
    for (const [status, response] of Object.entries<Json>(responses)) {
      const title = `${name} ${status}`
      assert.equal(response['headers']['X-Request-ID'].schema.format, 'uuid', title)
      const isReply = status === '200' && !name.includes('stream')
      assert.equal('X-RateLimit-Limit' in response['headers'], isReply || status === '429', `rate.headers ${title}`)
      if (status.startsWith('2')) continue
      for (const code of codesOf(response)) {
        const { status: own, message, ...rest } = failures[code as keyof typeof failures]
        assert.ok(own === Number(status) || code === 'bad_request', `${title} ${code}`)
        assert.ok(response['description'].includes(`\`${code}\`: ${message}`), title)
        assert.equal(response['content']['application/json'].examples[code].value.error.code, code)
        if ('retryAfterSeconds' in rest || code === 'rate_limit_exceeded' || code === 'spend_limit_exceeded')
          assert.ok('Retry-After' in response['headers'], title)
      }
    }
  }
})

// A request to another path or method is not covered by any description.
const noOperation = ['method_not_allowed']

void test('openapi: the chat routes list every code of the public API', async () => {
  const document = await describe()
  for (const path of ['/v1/agents/{agent_id}/chat', '/v1/agents/{agent_id}/chat/stream']) {
    const { responses } = document['paths'][path].post
    const reported = Object.keys(responses)
      .filter((status) => !status.startsWith('2'))
      .flatMap((status) => codesOf(responses[status]))
    const all = Object.keys(failures).filter((code) => !(adminCodes as readonly string[]).includes(code) && !noOperation.includes(code))
    assert.deepEqual([...new Set(reported)].toSorted(), all.toSorted(), path)
  }
})

void test('openapi: the request is described with the bounds that validation enforces', async () => {
  const document = await describe()
  const { external_user_id: user, message } = document['components'].schemas.ChatRequest.properties
  assert.deepEqual([user.minLength, user.maxLength, message.minLength], [1, 255, 1])
  assert.equal(document['components'].schemas.ChatRequest.additionalProperties, false)
  const parameters: Json[] = document['paths']['/v1/agents/{agent_id}/chat'].post.parameters
  const key = parameters.find(({ name }) => name === 'Idempotency-Key')!
  assert.deepEqual([key['in'], key['required'], key['schema'].minLength, key['schema'].maxLength], ['header', true, 1, 255])
  const limit = (document['paths']['/v1/agents/{agent_id}/conversations'].get.parameters as Json[]).find(({ name }) => name === 'limit')!
  assert.deepEqual([limit['required'], limit['schema']], [false, { type: 'integer', minimum: 1, maximum: 100, default: 20 }])
})

/** The small part of JSON Schema that these responses use; an unknown property is a mismatch too. */
function conforms(document: Json, schema: Json, value: any, at = '$'): void {
  if (schema['$ref']) return conforms(document, document['components'].schemas[schema['$ref'].split('/').at(-1)!], value, at)
  if (schema['anyOf']) {
    const fits = (schema['anyOf'] as Json[]).some((each) => {
      try {
        conforms(document, each, value, at)
        return true
      } catch {
        return false
      }
    })
    return assert.ok(fits, `${at}: ${JSON.stringify(value)}`)
  }
  if (schema['const'] !== undefined) assert.equal(value, schema['const'], at)
  if (schema['enum']) assert.ok(schema['enum'].includes(value), at)
  if (schema['pattern']) assert.match(value, new RegExp(schema['pattern'], 'u'), at)
  if (schema['format'] === 'date-time') assert.equal(new Date(value).toISOString(), value, at)
  if (schema['type'] === 'array')
    return (value as unknown[]).forEach((item, index) => conforms(document, schema['items'], item, `${at}[${index}]`))
  if (schema['type'] === 'object') {
    const optional = Object.keys(schema['properties']).filter((name) => !schema['required']?.includes(name))
    assert.deepEqual(
      Object.keys(value).filter((name) => !optional.includes(name)),
      schema['required'] ?? [],
      at,
    )
    for (const [name, property] of Object.entries<Json>(schema['properties']))
      if (name in value || !optional.includes(name)) conforms(document, property, value[name], `${at}.${name}`)
  } else if (schema['type'])
    assert.ok(
      schema['type'] === 'null' ? value === null : schema['type'] === 'integer' ? Number.isInteger(value) : typeof value === schema['type'],
      at,
    )
}

void test('openapi: real responses match the description: reply, every event, listing, envelope', async () => {
  await using app = await startTestApp()
  const document = dereferenced((await (await fetch(`${app.url}/openapi.json`)).json()) as Json)
  const schemaOf = (path: string, method: string, status: number, type = 'application/json'): Json =>
    document['paths'][path][method].responses[status].content[type].schema
  const chat = '/v1/agents/{agent_id}/chat'
  conforms(document, schemaOf(chat, 'post', 200), (await app.chat('hi')).json)
  const { events } = await app.stream('hi again')
  assert.deepEqual(new Set(events.map(({ event }) => event)).size, 3)
  const stream = schemaOf(`${chat}/stream`, 'post', 200, 'text/event-stream')
  for (const event of events) conforms(document, stream['contentSchema'], event)
  conforms(document, schemaOf(chat, 'post', 422), (await app.chat('')).json)
  const headers = { authorization: `Bearer ${app.caller.apiKey}` }
  const base = `${app.url}/v1/agents/${app.caller.agentId}/conversations`
  const list = (await (await fetch(base, { headers })).json()) as Json
  assert.equal(list['data'].length, 1)
  conforms(document, schemaOf('/v1/agents/{agent_id}/conversations', 'get', 200), list)
  const messages = (await (await fetch(`${base}/${list['data'][0].conversation_id}/messages?limit=3`, { headers })).json()) as Json
  assert.equal(messages['data'].length, 3)
  conforms(document, schemaOf('/v1/agents/{agent_id}/conversations/{conversation_id}/messages', 'get', 200), messages)
})

void test('openapi: the error event is described', async () => {
  const document = await describe()
  const event = { event: 'error', data: { code: 'internal_error', message: 'm', request_id: 'r' } }
  conforms(document, { $ref: '#/components/schemas/ChatEvent' }, event)
  assert.throws(() => conforms(document, { $ref: '#/components/schemas/ChatEvent' }, { event: 'error', data: {} }))
})
