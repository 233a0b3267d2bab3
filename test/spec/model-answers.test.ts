/**
 * A model that responds with success but without text, with invalid text or with absurd token counts. On both transports: what the caller
 * gets, what is stored, and what is charged.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { formatUsd } from '../../src/ledger/ledger.ts'
import { gate } from '../support/model-server.ts'
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

const absurd: Record<string, { usage: unknown; estimated: boolean; writtenOff: boolean }> = {
  none: { usage: null, estimated: true, writtenOff: false },
  empty: { usage: {}, estimated: true, writtenOff: false },
  null: { usage: { prompt_tokens: null, completion_tokens: null, total_tokens: null }, estimated: true, writtenOff: false },
  negative: { usage: { prompt_tokens: -5, completion_tokens: -7, total_tokens: -12 }, estimated: true, writtenOff: false },
  'a fraction': { usage: { prompt_tokens: 1.5, completion_tokens: 2.5, total_tokens: 4 }, estimated: true, writtenOff: false },
  text: { usage: { prompt_tokens: '10', completion_tokens: '20', total_tokens: '30' }, estimated: true, writtenOff: false },
  'beyond the hold': {
    usage: { prompt_tokens: 10, completion_tokens: 5_000_000, total_tokens: 5_000_010 },
    estimated: false,
    writtenOff: true,
  },
  'at the largest safe integer': {
    usage: { prompt_tokens: 9e15, completion_tokens: 9e15, total_tokens: 1.8e16 },
    estimated: false,
    writtenOff: true,
  },
  'out of range': { usage: { prompt_tokens: 1e300, completion_tokens: 1, total_tokens: 1e300 }, estimated: true, writtenOff: false },
}
for (const [what, { usage, estimated, writtenOff }] of Object.entries(absurd)) {
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
      assert.equal(turn['written_off_usd'] !== formatUsd(0n), writtenOff)
      if (writtenOff) assert.equal(reply['usage'].charged_usd, hold)
      else assert.ok(Number(reply['usage'].charged_usd) > 0 && Number(reply['usage'].charged_usd) < Number(hold))
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
      const [, field, value] = /^(event|data): (.*)$/s.exec(line) ?? assert.fail(JSON.stringify(line))
      if (field === 'data') JSON.parse(value!)
      else assert.match(value!, /^response\.(created|output_text\.delta|completed)$/)
    }
  }))
