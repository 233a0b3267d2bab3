/** src/http/edge/late-description.ts: what the description contains, and an error while it is created. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fastify } from 'fastify'
import { describeLate } from '../../src/http/edge/late-description.ts'

const info = { title: 'A test', version: '1.0.0' }
const answer = { 200: { $ref: 'Answer#' } }

void test('the description has the routes and schemas added after it, in nested scopes too, and no others', async () => {
  const app = fastify()
  app.get('/before', () => 'before')
  const describe = describeLate(app, {
    openapi: { openapi: '3.1.0', info },
    refResolver: { buildLocalReference: ({ $id }) => String($id) },
  })
  app.get('/hidden', { schema: { hide: true } as object }, () => 'hidden')
  await app.register(
    async (scope) => {
      scope.addSchema({ $id: 'Answer', type: 'object', properties: { text: { type: 'string' } } })
      scope.post('/after', { schema: { response: answer } }, () => ({ text: '' }))
    },
    { prefix: '/v1' },
  )
  await app.ready()
  const { paths, components } = (await describe()) as { paths: Record<string, object>; components: { schemas: object } }
  assert.deepEqual(Object.keys(paths), ['/v1/after'])
  assert.deepEqual(Object.keys(paths['/v1/after']!), ['post'])
  assert.deepEqual(Object.keys(components.schemas), ['Answer'])
  assert.equal(await describe(), await describe())
})

void test('an error while the description is created reaches its reader, and the next request creates it', async () => {
  const app = fastify()
  let fails = true
  const describe = describeLate(app, {
    openapi: { openapi: '3.1.0', info },
    transform: ({ schema, url }) => {
      if (fails) throw new Error('not readable')
      return { schema, url }
    },
  })
  app.get('/one', { schema: {} }, () => 'one')
  await app.ready()
  await assert.rejects(describe(), /not readable/)
  fails = false
  const { paths } = (await describe()) as { paths: object }
  assert.deepEqual(Object.keys(paths), ['/one'])
})
