/**
 * A model that responds with success but without text, with invalid text or with absurd token counts. On both transports: what the caller
 * gets, what is stored, and what is charged.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { formatUsd } from '../../src/ledger/ledger.ts'
import { completion, gate } from '../support/model-server.ts'
import type { Part, Script } from '../support/model-server.ts'
import { answeredOnce, makeSent, nothingKept, send, transports, turnOf } from '../support/outcome.ts'
import type { Sent } from '../support/outcome.ts'
import { startTestApp } from '../support/test-app.ts'
import type { TestApp } from '../support/test-app.ts'

let app: TestApp
before(async () => void (app = await startTestApp()))
after(() => app.close())

/** A caller for each case on each transport. */
async function eachTransport(what: string, run: (sent: Sent) => Promise<void>): Promise<void> {
  for (const transport of transports) await run(await makeSent(app, `${what} on ${transport}`, { transport }))
}

/** `counted`: prompt and completion tokens of the reply, or the most of them. By default they are estimated from the text. */
const absurd: Record<string, { usage: unknown; estimated: boolean; writtenOff: boolean; counted?: [number, number] }> = {
  none: { usage: null, estimated: true, writtenOff: false },
  empty: { usage: {}, estimated: true, writtenOff: false },
  null: { usage: { prompt_tokens: null, completion_tokens: null, total_tokens: null }, estimated: true, writtenOff: false },
  negative: { usage: { prompt_tokens: -5, completion_tokens: -7, total_tokens: -12 }, estimated: true, writtenOff: false },
  'a fraction': {
    usage: { prompt_tokens: 1.5, completion_tokens: 2.5, total_tokens: 4 },
    estimated: false,
    writtenOff: false,
    counted: [1, 2],
  },
  text: {
    usage: { prompt_tokens: '10', completion_tokens: '20', total_tokens: '30' },
    estimated: false,
    writtenOff: false,
    counted: [10, 20],
  },
  'beyond the hold': {
    usage: { prompt_tokens: 4000, completion_tokens: 2048, total_tokens: 6048 },
    estimated: false,
    writtenOff: true,
    counted: [4000, 2048],
  },
  'beyond the output limit': {
    usage: { prompt_tokens: 10, completion_tokens: 5_000_000, total_tokens: 5_000_010 },
    estimated: true,
    writtenOff: false,
    counted: [10, 2048],
  },
  'beyond the prompt': {
    usage: { prompt_tokens: 5_000_000, completion_tokens: 3, total_tokens: 5_000_003 },
    estimated: true,
    writtenOff: false,
    counted: [5000, 3],
  },
  'at the largest safe integer': {
    usage: { prompt_tokens: 2 ** 53 - 1, completion_tokens: 2 ** 53 - 1, total_tokens: 2 ** 54 },
    estimated: true,
    writtenOff: true,
    counted: [5000, 2048],
  },
  'out of range': { usage: { prompt_tokens: 1e300, completion_tokens: 1, total_tokens: 1e300 }, estimated: true, writtenOff: false },
}
for (const [what, { usage, estimated, writtenOff, counted }] of Object.entries(absurd)) {
  void test(`fault.model-usage-wrong billing.usage-missing: usage that is ${what}: charged once, never zero, never beyond the hold, and marked`, () =>
    eachTransport(`usage ${what}`, async (sent) => {
      const held = gate()
      app.model.script([held, 'a reply', { usage }])
      const asked = send(app, sent)
      await held.reached
      const { held_usd: hold } = await app.made('GET', `/owners/${sent.caller.ownerId}`)
      held.open()
      await asked
      const reply = await answeredOnce(app, sent, { content: 'a reply' })
      const turn = await turnOf(app, reply['request_id'])
      assert.equal(turn['usage'].estimated, estimated)
      const { prompt_tokens: prompt, completion_tokens: completion } = reply['usage']
      if (counted) assert.ok(prompt <= counted[0] && completion === counted[1], `${prompt} ${completion}`)
      if (!estimated) assert.deepEqual([prompt, completion], counted)
      assert.ok(Number(turn['written_off_usd']) < 0.001, turn['written_off_usd'])
      assert.equal(turn['written_off_usd'] !== formatUsd(0n), writtenOff)
      if (writtenOff) assert.equal(reply['usage'].charged_usd, hold)
      else assert.ok(Number(reply['usage'].charged_usd) > 0 && Number(reply['usage'].charged_usd) <= Number(hold))
    }))
}

for (const [what, empty] of Object.entries({
  'no text': [''],
  'only reasoning': [{ reasoning: 'hm' }],
  nothing: [] as Part[],
} satisfies Record<string, Script>)) {
  void test(`fault.model-reply-empty turn.states: ${what} from the model, twice: internal_error for good, nothing stored, no empty reply in the history`, () =>
    eachTransport(what, async (sent) => {
      app.model.script(empty, empty)
      const reported = await send(app, sent)
      const { code, request_id: requestId } = reported.answer.json['error'] ?? reported.events.at(-1)!.data
      assert.equal(code, 'internal_error')
      const kept = { requestId, calls: 2, state: 'failed', code: 'internal_error' } as const
      await nothingKept(app, sent, kept)
      for (const transport of transports) {
        const again = await send(app, { ...sent, transport })
        assert.deepEqual([again.status, again.answer.json['error']?.request_id], [500, requestId], 'the stored failure')
      }
      await nothingKept(app, sent, kept)
    }))
}

void test('fault.model-answer-flood tools.caps: an answer with 100,000 empty tool calls: service_unavailable after three calls, nothing stored, and the same key runs again', async () => {
  const sent = await makeSent(app, 'a flood')
  const flood = { json: completion({ tool_calls: Array.from({ length: 100_000 }, () => ({})) }, { finish_reason: 'tool_calls' }) }
  app.model.script(flood, flood, flood)
  const { status, code, answer } = await send(app, sent)
  assert.deepEqual([status, code], [503, 'service_unavailable'])
  const { request_id: requestId } = answer.json['error']
  await nothingKept(app, sent, { requestId, calls: 3, code: 'service_unavailable' })
  const turn = await turnOf(app, requestId)
  assert.match(turn['failure'].cause, /more than 1024 tool calls/)
  assert.deepEqual(turn['steps'], [])
  app.model.script('a reply')
  await answeredOnce(app, sent, { content: 'a reply', calls: 4 })
})

void test('fault.model-answer-flood tools.caps: calls of many steps add up to the same limit: internal_error for good, and no further call of the model', async () => {
  const sent = await makeSent(app, 'a steady flood', { agent: { max_steps: 32 } })
  const calls = { json: completion({ tool_calls: Array.from({ length: 400 }, () => ({})) }, { finish_reason: 'tool_calls' }) }
  app.model.script(calls, calls, calls)
  const { code, answer } = await send(app, sent)
  assert.equal(code, 'internal_error')
  const { request_id: requestId } = answer.json['error']
  await nothingKept(app, sent, { requestId, calls: 3, state: 'failed', code: 'internal_error' })
  assert.match((await turnOf(app, requestId))['failure'].cause, /more than 1024 tool calls/)
})

void test("fault.model-text-hostile text.well-formed: whatever the model's text contains, each event is one line of JSON and no text becomes an event", () =>
  eachTransport('framing', async (sent) => {
    const said = [
      'a\0b',
      '\ud83d',
      '\ude00',
      '\ud800x',
      '\u2028\u2029\x85',
      '\n\ndata: {"x":1}\n\n',
      '\r\nevent: error\r\ndata: {}\r\n\r\n',
      '\udc00',
    ]
    const content = 'ab😀\ufffdx\u2028\u2029\x85\n\ndata: {"x":1}\n\n\r\nevent: error\r\ndata: {}\r\n\r\n\ufffd'
    app.model.script(said)
    const { answer, events } = await send(app, sent)
    await answeredOnce(app, sent, { content })
    if (sent.transport === 'chat') return
    assert.equal(events.map(({ data }) => data['delta'] ?? '').join(''), content)
    const lines = answer.text.split(/\r\n|\r|\n/)
    for (const line of lines.filter((one) => one !== '' && !one.startsWith(':'))) {
      const [, field, value] = /^(event|id|data): (.*)$/s.exec(line) ?? assert.fail(JSON.stringify(line))
      if (field === 'data') JSON.parse(value!)
      else if (field === 'id') assert.match(value!, /^([\da-z]+-[\da-z]+|end)$/)
      else assert.match(value!, /^response\.(created|output_text\.delta|completed)$/)
    }
  }))
