/** `npm run types` compares what a handler returns and sends with the schema of its response. It fails if a line below a directive compiles. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fastify } from 'fastify'
import { accepted, alsoAsCsv, answers, gone, made, oneOf, pageOf } from '../../src/http/admin/answers.ts'
import { Type } from '../../src/http/edge/schema.ts'
import type { TypedRoutes } from '../../src/http/edge/typed-routes.ts'
import { define } from '../../src/http/public/schemas.ts'

const example = { id: 'one', count: 1 }
const Thing = define('Thing', Type.Object({ id: Type.String(), count: Type.Integer() }))
const thing = { ref: Thing.ref, example }
const other = { ref: Type.Object({ name: Type.String() }), example: { name: 'two' } }
const page = { ref: pageOf(Thing).ref, example: { data: [example], next_cursor: null } }

const routes: TypedRoutes = async (app) => {
  app.get('/thing', { schema: { response: answers(thing, 'not_found') } }, async () => example)
  app.get('/either', { schema: { response: answers(oneOf(thing, other)) } }, async () => other.example)
  app.post('/things', { schema: { response: made(thing, 'conflict') } }, async (_request, reply) => reply.code(201).send(example))
  app.delete('/thing', { schema: { response: gone('not_found') } }, async (_request, reply) => reply.code(204).send())

  // @ts-expect-error: a field is missing
  app.get('/missing', { schema: { response: answers(thing) } }, async () => ({ id: 'one' }))
  // @ts-expect-error: a field has another type
  app.get('/other-type', { schema: { response: answers(thing, 'not_found') } }, async () => ({ id: 'one', count: '1' }))
  // @ts-expect-error: the cursor is missing
  app.get('/page', { schema: { response: answers(page) } }, async () => ({ data: [example] }))
  // @ts-expect-error: it is neither of the two
  app.get('/neither', { schema: { response: answers(oneOf(thing, other)) } }, async () => ({ text: 'three' }))
  // @ts-expect-error: rows are neither a page nor CSV
  app.get('/csv', { schema: { response: alsoAsCsv('', answers(page)) } }, async () => ['one,1'])
  // @ts-expect-error: a field is missing
  app.post('/made', { schema: { response: made(thing, 'conflict') } }, async (_request, reply) => reply.code(201).send({ id: 'one' }))
  // @ts-expect-error: a field has another type
  app.put('/accepted', { schema: { response: accepted(thing) } }, async (_request, reply) => reply.code(202).send({ id: 1, count: 1 }))
  // @ts-expect-error: the response has no body
  app.delete('/gone', { schema: { response: gone() } }, async (_request, reply) => reply.code(204).send(example))
}

test('a response that its schema describes is sent as it is', async (t) => {
  const app = fastify()
  t.after(() => app.close())
  app.addSchema(Thing.schema)
  // The response schemas are for the description and the compiler only.
  app.setSerializerCompiler(() => JSON.stringify)
  await app.register(routes)
  assert.deepEqual((await app.inject('/thing')).json(), example)
  assert.deepEqual((await app.inject('/either')).json(), other.example)
  assert.deepEqual((await app.inject({ method: 'POST', url: '/things' })).json(), example)
  assert.equal((await app.inject({ method: 'DELETE', url: '/thing' })).body, '')
})
