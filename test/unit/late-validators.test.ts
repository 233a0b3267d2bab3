/**
 * Request schemas are compiled at a route's first request: all of them compile, and each refuses what it would have refused if compiled
 * earlier.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fastify } from 'fastify'
import { lateValidators } from '../../src/http/edge/late-validators.ts'
import { startTestLayer, uncalledAdmin } from '../support/test-http-layer.ts'

const named = { $id: 'Named', type: 'object', properties: { name: { type: 'string', maxLength: 3 } }, required: ['name'] }
const good = { body: { type: 'object', properties: { one: { $ref: 'Named#' } }, required: ['one'] } }
const bad = { body: { type: 'no-such-type' } }

async function serve(atOnce: boolean, schema: object) {
  const app = fastify({ schemaController: { compilersFactory: { buildValidator: lateValidators(atOnce) } } })
  app.addSchema(named)
  app.post('/', { schema }, async () => 'taken')
  await app.ready()
  const ask = async (body: object) => {
    const { statusCode, body: text } = await app.inject({ method: 'POST', url: '/', payload: body })
    return `${statusCode} ${statusCode === 200 ? text : (JSON.parse(text) as { message: string }).message}`
  }
  return { ask, close: () => app.close() }
}

void test('late validators: a validator that is compiled late gives the same results as one compiled at start, each time', async () => {
  const [late, early] = [await serve(false, good), await serve(true, good)]
  const bodies = [{}, { one: { name: 'abc' } }, { one: { name: 'abcd' } }, { one: {} }, { one: { name: 'ab' } }]
  for (const body of bodies) assert.equal(await late.ask(body), await early.ask(body), JSON.stringify(body))
  assert.deepEqual(
    [await late.ask(bodies[1]!), await late.ask(bodies[2]!)],
    ['200 taken', '400 body/one/name must NOT have more than 3 characters'],
  )
  await Promise.all([late.close(), early.close()])
})

void test('late validators: an invalid schema is found at start if that is requested, and otherwise is an internal error of its route', async () => {
  await assert.rejects(serve(true, bad), /Failed building the validation schema/)
  const late = await serve(false, bad)
  assert.match(await late.ask({}), /^500 /)
  await late.close()
})

void test('late validators: every schema of both APIs compiles', async () => {
  await using layer = await startTestLayer({ admin: uncalledAdmin, compilesAtOnce: true })
  const answer = await layer.chat({ body: '{}' })
  assert.equal(answer.status, 422)
})
