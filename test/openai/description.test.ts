/** The table of parameters in docs/openai.md and the description at /openai/openapi.json agree with the code and with real answers. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { completionParameters, responseParameters } from '../../src/http/openai/parameters.ts'
import { compileClosed } from '../support/answer-check-schema.ts'
import { dereferenced } from '../support/dereferenced.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'
import { askOpenAi, completionBody, openAiClient, responseBody } from '../support/openai-caller.ts'

const page = join(import.meta.dirname, '../../docs/openai.md')

/** One line for each parameter, with the two requests beside each other. */
function parameterTable(): string {
  const names = [...new Set([...Object.keys(completionParameters), ...Object.keys(responseParameters)])].toSorted()
  const rows = names.map((name) => {
    const [chat, response] = [completionParameters[name], responseParameters[name]]
    const notes = [...new Set([chat?.note, response?.note].filter((note) => note !== undefined))]
    return `| \`${name}\` | ${chat?.does ?? ''} | ${response?.does ?? ''} | ${notes.join(' ')} |`
  })
  return ['| parameter | Chat Completions | Responses | |', '|---|---|---|---|', ...rows].join('\n')
}

void test('openai.refused-parameters: docs/openai.md has the table of parameters of the code', () => {
  const text = readFileSync(page, 'utf8')
  const [before] = text.split(/^(?:\| parameter \||PARAMETER-TABLE)/m)
  const wanted = `${before}${parameterTable()}\n`
  if (process.argv.includes('--update-golden')) writeFileSync(page, wanted)
  else assert.equal(text, wanted, 'after an intended change: node test/openai/description.test.ts --update-golden')
})

const describe = async (app: TestApp): Promise<Json> =>
  dereferenced((await askOpenAi(app, { method: 'GET', path: '/openai/openapi.json' })).json)

void test('openai.clients: the description has every route, and its examples match their schemas', async () => {
  await using app = await startTestApp()
  const document = await describe(app)
  assert.deepEqual(
    Object.entries<Json>(document['paths']).flatMap(([path, item]) => Object.keys(item).map((method) => `${method} ${path}`)),
    [
      'get /v1/models',
      'get /v1/models/{model}',
      'post /v1/chat/completions',
      'post /v1/responses',
      'get /v1/responses/{response_id}',
      'post /v1/responses/{response_id}/cancel',
      'get /v1/responses/{response_id}/input_items',
    ],
  )
  const own = await (await fetch(`${app.url}/openapi.json`)).text()
  assert.ok(!own.includes('/v1/responses'), 'the description of the public API has only its own routes')
  let examples = 0
  for (const { status, media } of mediaOf(document)) {
    for (const example of media['example'] ? [media['example']] : Object.values<Json>(media['examples']).map(({ value }) => value)) {
      assert.deepEqual(compileClosed(media['schema'], document)(example), [], status)
      examples++
    }
  }
  assert.ok(examples > 50, `${examples} examples`)
})

function* mediaOf(document: Json): Generator<{ status: string; media: Json }> {
  for (const [path, item] of Object.entries<Json>(document['paths']))
    for (const [method, { responses }] of Object.entries<Json>(item))
      for (const [status, { content }] of Object.entries<Json>(responses))
        for (const media of Object.values<Json>(content)) yield { status: `${method} ${path} ${status}`, media }
}

void test('openai.clients: a stream is described as a text, and every event of a real one matches the schema of its events', async () => {
  await using app = await startTestApp()
  const document = await describe(app)
  const held = async (method: string, path: string, template: string, body?: Json): Promise<string> => {
    const { text } = await askOpenAi(app, { method, path, ...(body ? { body } : {}) })
    const { schema } = document['paths'][template][method.toLowerCase()].responses[200].content['text/event-stream']
    assert.deepEqual([schema.type, schema.contentMediaType], ['string', 'text/event-stream'])
    assert.deepEqual(compileClosed(schema, document)(text), [], `${method} ${path}`)
    const flawed = text.replaceAll(/"(object|sequence_number)":/g, '"other":')
    assert.notDeepEqual(compileClosed(schema, document)(flawed), [], `${method} ${path}`)
    return text
  }
  await held('POST', '/v1/chat/completions', '/v1/chat/completions', completionBody(app, 'hello', { stream: true }))
  const text = await held('POST', '/v1/responses', '/v1/responses', responseBody(app, 'hello', { stream: true }))
  const id = /resp_\w+/.exec(text)![0]
  await held('GET', `/v1/responses/${id}?stream=true`, '/v1/responses/{response_id}')
  app.model.script({ status: 401, body: 'no' })
  const failed = await held('POST', '/v1/chat/completions', '/v1/chat/completions', completionBody(app, 'fails', { stream: true }))
  assert.match(failed, /"error":/)
})

void test('openai.clients: real answers match the description', async () => {
  await using app = await startTestApp()
  const document = await describe(app)
  const held = async (method: string, path: string, template: string, body?: Json): Promise<Json> => {
    const answer = await askOpenAi(app, { method, path, ...(body ? { body } : {}) })
    const { schema } = document['paths'][template][method.toLowerCase()].responses[answer.status].content['application/json']
    assert.deepEqual(compileClosed(schema, document)(answer.json), [], `${method} ${path}`)
    return answer.json
  }
  await held('GET', '/v1/models', '/v1/models')
  await held('GET', '/v1/models/no', '/v1/models/{model}')
  await held('POST', '/v1/chat/completions', '/v1/chat/completions', completionBody(app, 'hello'))
  await held('POST', '/v1/chat/completions', '/v1/chat/completions', completionBody(app, 'hello', { tools: [1] }))
  const { id } = await held('POST', '/v1/responses', '/v1/responses', responseBody(app, 'hello'))
  await held('GET', `/v1/responses/${id}`, '/v1/responses/{response_id}')
  await held('POST', `/v1/responses/${id}/cancel`, '/v1/responses/{response_id}/cancel')
  await held('GET', `/v1/responses/${id}/input_items`, '/v1/responses/{response_id}/input_items')
  const started = await held('POST', '/v1/responses', '/v1/responses', responseBody(app, 'hello', { background: true }))
  assert.equal(started['status'], 'in_progress')
  assert.equal((await openAiClient(app).responses.retrieve(started['id'])).object, 'response')
})
