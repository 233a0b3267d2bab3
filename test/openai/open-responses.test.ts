/**
 * The cases of the Open Responses compliance suite (openresponses.org), in our words: a case that passes there has every field that the
 * specification requires, and a case that is refused names the parameter. docs/openai.md has the table.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startTestApp } from '../support/test-app.ts'
import type { Json } from '../support/test-app.ts'
import { askOpenAi, dataOf, responseBody, sendOpenAi } from '../support/openai-caller.ts'

const path = '/v1/responses'
const user = (content: unknown): Json => ({ type: 'message', role: 'user', content })
const weatherTool = { type: 'function', name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } }

/** `refused`: the parameter that is refused on purpose. */
const cases: Record<string, { body: Json; refused?: string }> = {
  'basic-response': { body: { input: [user('Say hello.')] } },
  'streaming-response': { body: { input: [user('Count to five.')], stream: true } },
  'multi-turn': { body: { input: [user('I am Bea.'), { type: 'message', role: 'assistant', content: 'Hello.' }, user('Who am I?')] } },
  'system-prompt': { body: { input: [{ type: 'message', role: 'system', content: 'Rhyme.' }, user('Hello.')] }, refused: 'input' },
  'tool-calling': { body: { input: [user('Is it raining?')], tools: [weatherTool] }, refused: 'tools' },
  'tool-calling-streaming': { body: { input: [user('Is it raining?')], tools: [weatherTool], stream: true }, refused: 'tools' },
  'image-input': { body: { input: [user([{ type: 'input_image', image_url: 'data:image/png;base64,AA==' }])] }, refused: 'input' },
}

type Kind = 'string' | 'number' | 'boolean' | 'object' | 'array' | 'null'
/** What the specification requires of a response, and of which kinds it may be. */
const required: Record<string, Kind[]> = {
  id: ['string'],
  object: ['string'],
  created_at: ['number'],
  completed_at: ['number', 'null'],
  status: ['string'],
  incomplete_details: ['object', 'null'],
  model: ['string'],
  previous_response_id: ['string', 'null'],
  instructions: ['string', 'null'],
  output: ['array'],
  error: ['object', 'null'],
  tools: ['array'],
  tool_choice: ['string'],
  truncation: ['string'],
  parallel_tool_calls: ['boolean'],
  text: ['object'],
  top_p: ['number'],
  presence_penalty: ['number'],
  frequency_penalty: ['number'],
  top_logprobs: ['number'],
  temperature: ['number'],
  reasoning: ['object', 'null'],
  user: ['string', 'null'],
  usage: ['object', 'null'],
  max_output_tokens: ['number', 'null'],
  max_tool_calls: ['number', 'null'],
  store: ['boolean'],
  background: ['boolean'],
  service_tier: ['string'],
  metadata: ['object'],
  safety_identifier: ['string', 'null'],
  prompt_cache_key: ['string', 'null'],
}
/** What it requires of each event that an answer with text has, besides its type and number. */
const eventFields: Record<string, string[]> = {
  'response.created': ['response'],
  'response.in_progress': ['response'],
  'response.output_item.added': ['output_index', 'item'],
  'response.content_part.added': ['item_id', 'output_index', 'content_index', 'part'],
  'response.output_text.delta': ['item_id', 'output_index', 'content_index', 'delta', 'logprobs'],
  'response.output_text.done': ['item_id', 'output_index', 'content_index', 'text', 'logprobs'],
  'response.content_part.done': ['item_id', 'output_index', 'content_index', 'part'],
  'response.output_item.done': ['output_index', 'item'],
  'response.completed': ['response'],
}

const kindOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)

function checkResponse(response: Json): void {
  for (const [name, kinds] of Object.entries(required)) {
    assert.ok(kinds.includes(kindOf(response[name]) as Kind), `${name} is ${kindOf(response[name])}`)
    if (kindOf(response[name]) === 'number') assert.ok(Number.isFinite(response[name]), name)
  }
}

function checkCompleted(response: Json): void {
  checkResponse(response)
  assert.deepEqual([response['status'], response['output'].length, response['output'][0].type], ['completed', 1, 'message'])
}

function checkEvents(events: Json[]): void {
  for (const event of events) {
    const fields = eventFields[event['type']] ?? assert.fail(`${event['type']}`)
    for (const field of [...fields, 'sequence_number']) assert.ok(field in event, `${event['type']} ${field}`)
    if (event['response']) checkResponse(event['response'])
  }
  checkCompleted(events.at(-1)!['response'])
}

void test('openai.clients: each case of the Open Responses suite passes, or is refused on purpose, as docs/openai.md says', async () => {
  await using app = await startTestApp()
  for (const [id, { body, refused }] of Object.entries(cases)) {
    const sent = { path, body: { ...responseBody(app, ''), ...body } }
    if (refused) {
      const { status, json } = await askOpenAi(app, sent)
      assert.deepEqual([status, json['error'].code, json['error'].param], [400, 'unsupported_parameter', refused], id)
    } else if (body['stream']) checkEvents(dataOf(await (await sendOpenAi(app, sent)).text()))
    else checkCompleted((await askOpenAi(app, sent)).json)
  }
  const page = readFileSync(join(import.meta.dirname, '../../docs/openai.md'), 'utf8')
  const [part] = page.split('## Parameters')
  const rows = [...part!.matchAll(/^\| `([a-z-]+)` \| (passes|refused)/gm)].map(([, id, result]) => [id, result])
  assert.deepEqual(
    rows,
    Object.entries(cases).map(([id, { refused }]) => [id, refused ? 'refused' : 'passes']),
  )
})
