/** src/http/edge/shared-components.ts: what becomes a component, and under which name. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shareComponents } from '../../src/http/edge/shared-components.ts'
import { dereferenced } from '../support/dereferenced.ts'
import type { Json } from '../support/test-app.ts'

const failure = (...codes: string[]): Json => ({
  description: codes.join(),
  content: {
    'application/json': {
      schema: { type: 'object', properties: { code: { enum: codes } } },
      examples: Object.fromEntries(codes.map((code) => [code, { value: { code } }])),
    },
  },
})
const limited = (response: Json): Json => ({ ...response, headers: { 'X-Limit': { schema: { type: 'integer' } } } })
const answer = (schema: Json): Json => ({ description: 'OK.', content: { 'application/json': { schema, example: {} } } })
const idOf = (noun: string): Json => ({ in: 'path', name: 'id', required: true, description: noun, schema: { type: 'string' } })
const owner = { $ref: '#/components/schemas/Owner' }

/** A copy with shared components, which means the same. */
function shared(paths: Json, schemas: Json = { Owner: { type: 'object' } }): Json {
  const document = { paths: structuredClone(paths), components: { schemas: structuredClone(schemas) } } as Json
  const before = structuredClone(dereferenced(document))
  shareComponents(document)
  const { paths: written, components } = dereferenced(document)
  assert.deepEqual(written, before['paths'])
  for (const [name, schema] of Object.entries(before['components'].schemas)) assert.deepEqual(components.schemas[name], schema)
  return document
}

void test('shared components: what occurs once stays, and what occurs twice is referred to', () => {
  const { paths, components } = shared({
    '/owners/{id}': { get: { parameters: [idOf('owner')], responses: { 200: answer(owner), 404: failure('not_found') } } },
    '/owners/{id}/x': { get: { parameters: [idOf('owner')], responses: { 204: { description: 'Gone.' }, 404: failure('not_found') } } },
  })
  assert.deepEqual(paths['/owners/{id}'].get.parameters, [{ $ref: '#/components/parameters/OwnerId' }])
  assert.deepEqual(paths['/owners/{id}/x'].get.responses, {
    204: { description: 'Gone.' },
    404: { $ref: '#/components/responses/NotFound' },
  })
  assert.deepEqual(paths['/owners/{id}'].get.responses[200], answer(owner))
  assert.deepEqual(components.responses, { NotFound: failure('not_found') })
})

void test('shared components: a response is named after its codes, its schema or its status', () => {
  const responses = {
    200: answer(owner),
    202: answer({ type: 'object' }),
    204: { description: 'Gone.' },
    403: failure('forbidden', 'agent_disabled'),
    409: failure('conflict', 'in_progress', 'busy'),
  }
  const { paths } = shared({ '/a': { get: { responses }, post: { responses } } }, { Owner: { type: 'object', properties: {} } })
  const names = Object.entries<Json>(paths['/a'].post.responses).map(([status, response]) => [status, response['$ref']?.split('/').at(-1)])
  assert.deepEqual(names, [
    ['200', 'Owner'],
    ['202', undefined],
    ['204', 'NoContent'],
    ['403', 'ForbiddenOrAgentDisabled'],
    ['409', 'Conflict'],
  ])
})

void test('shared components: a response without a sign-in has a name of its own, and shares schema, example and headers', () => {
  const signedIn = { responses: { 404: limited(failure('not_found')) } }
  const open = { security: [], responses: { 404: failure('not_found') } }
  const { components } = shared({ '/a': { get: signedIn, post: signedIn }, '/b': { get: open, post: open } })
  assert.deepEqual(Object.keys(components.responses), ['NotFound', 'NotFoundBeforeSignIn'])
  for (const name of ['NotFound', 'NotFoundBeforeSignIn'])
    assert.deepEqual(components.responses[name].content['application/json'], {
      schema: { $ref: '#/components/schemas/NotFound' },
      examples: { not_found: { $ref: '#/components/examples/not_found' } },
    })
})

void test('shared components: of two parts with the same name, the more frequent one is shared', () => {
  const get = (noun: string): Json => ({ get: { parameters: [idOf(noun)], responses: {} } })
  const { paths, components } = shared({
    '/a/owners/{id}': get('rare'),
    '/b/owners/{id}': get('rare'),
    '/c/owners/{id}': get('frequent'),
    '/d/owners/{id}': get('frequent'),
    '/e/owners/{id}': get('frequent'),
  })
  assert.equal(components.parameters.OwnerId.description, 'frequent')
  assert.deepEqual(paths['/a/owners/{id}'].get.parameters, [idOf('rare')])
})

void test('shared components: a schema that is equal to a named one refers to it, wherever it is, also in a named one', () => {
  const time = { type: 'string', format: 'date-time' }
  const body = { content: { 'application/json': { schema: { type: 'array', items: { type: 'object', properties: { at: time } } } } } }
  const { paths, components } = shared(
    { '/a': { post: { requestBody: body, responses: { 200: answer({ anyOf: [time, { type: 'null' }] }) } } } },
    { Time: time, Owner: { type: 'object', properties: { created_at: time }, examples: [time] } },
  )
  const reference = { $ref: '#/components/schemas/Time' }
  assert.deepEqual(paths['/a'].post.requestBody.content['application/json'].schema.items.properties.at, reference)
  assert.deepEqual(paths['/a'].post.responses[200].content['application/json'].schema.anyOf[0], reference)
  assert.deepEqual(components.schemas, { Time: time, Owner: { type: 'object', properties: { created_at: reference }, examples: [time] } })
})
