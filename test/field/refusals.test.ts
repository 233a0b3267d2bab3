/** What callers, operators and the ledger get of answers that were refused or filtered, and of reasoning that was taken back. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { completion, cut, gate } from '../support/model-server.ts'
import type { Script } from '../support/model-server.ts'
import { answeredOnce, makeSent, nothingKept, send, turnOf } from '../support/outcome.ts'
import { adminToken, parseEvents, startTestApp } from '../support/test-app.ts'
import type { TestApp } from '../support/test-app.ts'

let app: TestApp
before(async () => void (app = await startTestApp()))
after(() => app.close())

const input = (name: string): string => readFileSync(new URL(`inputs/${name}.sse`, import.meta.url), 'utf8')
const event = (delta: object, finish_reason: string | null = null): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`

void test('turn.states: field: the text of a refusal is the reply, of one call', async () => {
  const sent = await makeSent(app, 'field refusal', { transport: 'chat' })
  app.model.script([{ raw: input('03-chat-refusal') }, cut('end')])
  const reply = await answeredOnce(app, sent, { content: 'I cannot help.' })
  const trace = await app.made('GET', `/turns/${reply['request_id']}/trace`)
  assert.match(JSON.stringify(trace), /"finish_reason":"refused"/)
})

const filtered: Record<string, Script> = {
  'a filtered answer': { json: completion({ content: null }, { finish_reason: 'content_filter' }) },
  'a filtered prompt, as Azure refuses it': {
    status: 400,
    body: { error: { code: 'content_filter', message: 'no', innererror: { code: 'ResponsibleAIPolicyViolation' } } },
  },
  'a filter in the stream': [{ event: { error: { code: 'content_filter', message: 'no' } } }],
  'an answer that is refused without a word': { json: completion({ content: null }, { finish_reason: 'refusal' }) },
}
for (const [what, script] of Object.entries(filtered))
  void test(`turn.states: a filtered or refused message fails for good after one call: ${what}`, async () => {
    const sent = await makeSent(app, `field ${what}`, { transport: 'chat' })
    app.model.script(script)
    const first = await send(app, sent)
    const again = await send(app, sent)
    assert.deepEqual([first.status, again.status], [500, 500])
    const requestId = first.answer.json['error'].request_id as string
    await nothingKept(app, sent, { requestId, calls: 1, state: 'failed', code: 'internal_error' })
    const { failure } = await turnOf(app, requestId)
    assert.equal(failure.cause_kind, what.includes('without a word') ? 'refused' : 'filtered')
  })

void test('tools.private: reasoning that a stream has shown is taken back, and the next stream does not show it', async () => {
  const held = gate()
  const [reasoning, rest] = [event({ content: 'Reasons to greet.\n' }), event({ content: '</think>\n\nhello' }) + event({}, 'stop')]
  app.model.script([{ raw: reasoning }, held, { raw: rest }, cut('end')])
  const asked = app.stream('field closing think')
  await held.reached
  held.open()
  const shown = (await asked).events
  const types = shown.map((one) => one.event)
  const reset = types.indexOf('response.output_text.reset')
  assert.ok(reset > 0 || !JSON.stringify(shown).includes('Reasons'), types.join(' '))
  assert.ok(!JSON.stringify(shown.slice(reset + 1)).includes('Reasons'))
  assert.equal(shown.at(-1)!.data['message'].content, 'hello')

  app.model.script([{ raw: reasoning }, { raw: rest }, cut('end')])
  const next = (await app.stream('field closing think', { user: 'user-2' })).events
  assert.ok(!JSON.stringify(next).includes('Reasons'))
  assert.equal(next.at(-1)!.data['message'].content, 'hello')
  await app.verify()
})

void test('rerun.harmless: a streamed preview takes back reasoning that it has shown', async () => {
  const held = gate()
  app.model.script([
    { raw: event({ content: 'Reasons to greet at some length.\n' }) },
    held,
    { raw: event({ content: '</think>\n\nhello' }) + event({}, 'stop') },
    cut('end'),
  ])
  const response = await fetch(
    `${app.adminUrl}/admin/v1/agents/${(await app.makeAgent(app.caller.ownerId, { model: 'scripted/preview-reset' })).id}/preview`,
    {
      method: 'POST',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ message: 'field closing think' }),
    },
  )
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!text.includes('Reasons')) text += (await reader.read()).value!
  await held.reached
  held.open()
  for (let next = await reader.read(); !next.done; next = await reader.read()) text += next.value
  let shown = ''
  const events = parseEvents(text)
  for (const one of events) {
    if (one.event === 'response.output_text.reset') shown = ''
    if (one.event === 'response.output_text.delta') shown += one.data['delta']
  }
  assert.equal(shown, 'hello')
  assert.deepEqual([events.at(-1)!.event, events.at(-1)!.data['text']], ['preview.completed', 'hello'])
})

void test('trace.stored: what was skipped is in the trace', async () => {
  const sent = await makeSent(app, 'field skipped', { transport: 'chat' })
  app.model.script([{ raw: 'data: {"object":"x_status"}\n\n' }, 'hello'])
  const reply = await answeredOnce(app, sent, { content: 'hello' })
  const trace = await app.made('GET', `/turns/${reply['request_id']}/trace`)
  assert.match(JSON.stringify(trace), /"skipped":\[\{"what":"event x_status","count":1\}\]/)
})
