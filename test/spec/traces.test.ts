/** Traces: what a stored turn can be explained with afterwards, in every state, and what removes it. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { pino } from 'pino'
import { createErasure } from '../../src/turn/erasure.ts'
import { cut, gate } from '../support/model-server.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Json, TestApp, TestAppOptions } from '../support/test-app.ts'
import { call, threeTools } from '../support/tool-process-runs.ts'
import { startToolServer } from '../support/tool-server.ts'
import type { ToolServer } from '../support/tool-server.ts'

const dayMs = 24 * 60 * 60 * 1000

async function start(t: TestContext, { agent = {}, ...options }: TestAppOptions = {}): Promise<{ app: TestApp; tools: ToolServer }> {
  const tools = await startToolServer()
  const env = { TURNKEEP_ALLOW_PRIVATE_HOSTS: tools.address, ...options.env }
  const app = await startTestApp({ ...options, env, agent: { tools: threeTools(tools), ...agent } })
  t.after(async () => {
    await app.close()
    await tools.close()
  })
  return { app, tools }
}

const traceOf = (app: TestApp, id: string): Promise<Json> => app.made('GET', `/turns/${id}/trace`)
const spansOf = (trace: Json, type: string): Json[] => trace['spans'].filter((span: Json) => span['type'] === type)
const endsOf = (trace: Json): unknown[] => spansOf(trace, 'attempt').map(({ run, attempt, end }) => [run, attempt, end])
const storedTraces = async (app: TestApp): Promise<number> => (await app.query('select 1 as one from traces')).length
/** The messages of a prompt as the model server received them, in the form of a trace. */
const received = (messages: Json[]): Json[] =>
  messages.map(({ role, content, tool_calls: calls, tool_call_id: id }) => ({
    role,
    content: content ?? '',
    ...(calls ? { tool_calls: calls.map((one: Json) => ({ id: one['id'], ...one['function'] })) } : {}),
    ...(id ? { tool_call_id: id } : {}),
  }))

void test('trace.stored: a turn of three steps: its prompts are those that the model received, with history, passages and tool results', async (t) => {
  const { app } = await start(t, { agent: { knowledge: { max_tokens: 160, top_k: 5 } } })
  const { agentId } = app.caller
  const text = (word: string): string => `${word} may be returned within 30 days. `.repeat(2)
  for (const word of ['Monday', 'Tuesday'])
    await app.app.knowledge.index({ documentId: `doc_${word}`, agentId, title: `Returns on ${word}`, text: text(word) })
  app.model.script('Hello.')
  await app.chat('hi')
  app.model.script(
    ['Let me see.', call('book', { day: 'Monday' }, 'a'), call('look', { day: 'Tuesday' }, 'b')],
    [call('cancel', { day: 'Monday' }, 'c')],
    ['All done.', { usage: { prompt_tokens: 300, completion_tokens: 30, total_tokens: 330 } }],
  )
  const { json } = await app.chat('Monday returned')
  const trace = await traceOf(app, json['request_id'])
  assert.deepEqual([trace['status'], trace['run'], trace['message'], trace['complete']], ['completed', 1, 'Monday returned', true])
  const { version } = trace
  assert.deepEqual([trace['reply'], version.number, version.system_prompt], ['Let me see.\n\nAll done.', 1, 'You are a test.'])
  const [{ provider, model, parameters }] = spansOf(trace, 'model_call') as [Json]
  assert.deepEqual([version.model, version.temperature, version.max_output_tokens], [`${provider}/${model}`, ...Object.values(parameters)])
  assert.deepEqual(
    trace['spans'].map((span: Json) => span['type']),
    ['attempt', 'admission', 'retrieval', 'model_call', 'tool_call', 'tool_call', 'model_call', 'tool_call', 'model_call', 'settlement'],
  )

  const [retrieval] = spansOf(trace, 'retrieval')
  assert.equal(retrieval!['query'], 'Monday returned')
  assert.deepEqual(
    retrieval!['passages'].map((one: Json) => [one['document_id'], one['title'], one['text'], one['used']]),
    [
      ['doc_Monday', 'Returns on Monday', text('Monday').trim(), true],
      ['doc_Tuesday', 'Returns on Tuesday', text('Tuesday').trim(), false],
    ],
  )
  const calls = spansOf(trace, 'model_call')
  for (const [index, { messages, tools }] of calls.entries()) {
    const sent = app.model.calls[index + 1]!
    assert.deepEqual(messages, received(sent.messages), `call ${index + 1}`)
    assert.deepEqual(
      tools,
      (sent.body['tools'] as Json[]).map((tool) => tool['function']),
    )
  }
  assert.equal(calls[0]!['messages'].length, 4, 'the system prompt, the exchange before, and the message')
  assert.deepEqual(
    calls.map(({ step, number, provider, model, finish_reason, text: said, error }) => [
      step,
      number,
      provider,
      model,
      finish_reason,
      said,
      error,
    ]),
    [
      [1, 1, 'scripted', 'test-model', 'tool_calls', 'Let me see.', null],
      [2, 1, 'scripted', 'test-model', 'tool_calls', '', null],
      [3, 1, 'scripted', 'test-model', 'stop', 'All done.', null],
    ],
  )
  assert.deepEqual(calls[2]!['usage'], { prompt_tokens: 300, completion_tokens: 30, estimated: false })
  assert.equal(typeof calls[0]!['time_to_first_text_ms'], 'number')
  assert.equal(calls[1]!['time_to_first_text_ms'], null, 'no text')
  assert.deepEqual(
    spansOf(trace, 'tool_call').map(({ step, part, name, arguments: given, status, journal, recorded }) => [
      step,
      part,
      name,
      given,
      status,
      journal,
      recorded,
    ]),
    [
      [1, 1, 'book', '{"day":"Monday"}', 'answered', 'finished', 'trace'],
      [1, 2, 'look', '{"day":"Tuesday"}', 'answered', 'finished', 'trace'],
      [2, 1, 'cancel', '{"day":"Monday"}', 'answered', 'finished', 'trace'],
    ],
  )
  assert.match(spansOf(trace, 'tool_call')[0]!['result'], /\/book done/)
  const [settlement] = spansOf(trace, 'settlement')
  assert.equal(settlement!['charged_usd'], json['usage'].charged_usd)
  const held = Number(spansOf(trace, 'admission')[0]!['held_usd'])
  assert.ok(Number(settlement!['hold_released_usd']) >= held - Number(settlement!['charged_usd']), 'the hold only grew')
  for (const { start_ms: startMs, duration_ms: ms } of trace['spans'].slice(2, -1)) assert.ok(startMs >= 0 && ms >= 0)
  await app.verify()
})

void test('trace.stored log.cause-kind: a refused key: the words of the provider are in the trace, and not in the log', async () => {
  const lines: string[] = []
  const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) })
  await using app = await startTestApp({ log })
  app.model.script({ status: 401, body: { error: { message: 'Incorrect API key provided: the zebra key.' } } })
  const { json } = await app.chat('hello there')
  const trace = await traceOf(app, json['error'].request_id)
  assert.deepEqual([trace['status'], trace['message'], trace['complete']], ['released', 'hello there', true])
  const [failed] = spansOf(trace, 'model_call')
  assert.deepEqual([failed!['error'].kind, failed!['error'].cause_kind], ['refused', 'provider_401'])
  assert.match(failed!['error'].message, /Incorrect API key provided: the zebra key/)
  assert.match(spansOf(trace, 'attempt')[0]!['cause'], /zebra/)
  assert.equal(spansOf(trace, 'settlement')[0]!['charged_usd'], '0.00000000')
  assert.ok(lines.length > 0)
  assert.doesNotMatch(lines.join(''), /zebra|hello there/)
})

void test('trace.stored: a released turn that is sent again has two runs, each with its calls, its retries and its history', async () => {
  await using app = await startTestApp()
  await app.chat('first')
  const busy = { status: 503, headers: { 'retry-after': '0' }, body: { error: { message: 'overloaded' } } }
  app.model.script(busy, busy, busy)
  const key = randomUUID()
  const failed = await app.chat('second', { idempotencyKey: key })
  assert.equal(failed.status, 503)
  await app.chat('in between')
  app.model.script('Here you are.')
  const { json } = await app.chat('second', { idempotencyKey: key })
  assert.equal(json['request_id'], failed.json['error'].request_id)
  const trace = await traceOf(app, json['request_id'])
  assert.deepEqual([trace['status'], trace['run'], trace['complete']], ['completed', 2, true])
  assert.deepEqual(endsOf(trace), [
    [1, 1, 'released'],
    [2, 1, 'completed'],
  ])
  const calls = spansOf(trace, 'model_call')
  assert.deepEqual(
    calls.map(({ run, step, number, error, text }) => [run, step, number, error?.cause_kind ?? null, text]),
    [
      [1, 1, 1, 'provider_503', null],
      [1, 1, 2, 'provider_503', null],
      [1, 1, 3, 'provider_503', null],
      [2, 1, 1, null, 'Here you are.'],
    ],
  )
  assert.deepEqual(calls[0]!['messages'], received(app.model.calls[1]!.messages), 'before the message in between')
  assert.deepEqual(calls[3]!['messages'], received(app.model.calls.at(-1)!.messages), 'after it')
  assert.ok(calls[1]!['start_ms'] > calls[0]!['start_ms'])
  assert.ok(calls[3]!['start_ms'] >= spansOf(trace, 'settlement')[0]!['start_ms'])
  assert.equal(await storedTraces(app), 4)
  await app.verify()
})

void test('trace.stored: the text of a call that broke off is stored nowhere else, so it is in the trace', async () => {
  await using app = await startTestApp()
  app.model.script(['The plan costs ', cut('rst')])
  const { json } = await app.chat('what does it cost?')
  const [failed] = spansOf(await traceOf(app, json['error'].request_id), 'model_call')
  assert.deepEqual([failed!['text'], failed!['error'].cause_kind], ['The plan costs ', 'provider_interrupted'])
})

void test('trace.stored tools.caps: the calls of a step that were not made are in the trace of a turn that failed', async (t) => {
  const { app } = await start(t, { agent: { max_steps: 1 } })
  app.model.script(['One moment.', call('look', { day: 'Monday' }, 'a')])
  const { json } = await app.chat('go')
  const trace = await traceOf(app, json['error'].request_id)
  const [asked] = spansOf(trace, 'model_call')
  assert.deepEqual([asked!['text'], asked!['tool_calls']], ['One moment.', [{ id: 'a', name: 'look', arguments: '{"day":"Monday"}' }]])
  assert.deepEqual(spansOf(trace, 'tool_call'), [])
})

void test('trace.stored turn.cancel: a cancelled turn: the call was stopped, and its text is the reply', async () => {
  await using app = await startTestApp()
  const held = gate()
  app.model.script(['Once upon ', held])
  const sent = app.chat('tell me a story')
  await held.reached
  const [{ request_id: id }] = (await app.made('GET', '/turns?status=running'))['data']
  // The delta is on its way while the gate is reached.
  while (spansOf(await traceOf(app, id), 'model_call')[0]?.['time_to_first_text_ms'] === null) await new Promise(setImmediate)
  await fetch(`${app.url}/v1/agents/${app.caller.agentId}/turns/${id}/cancel`, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.caller.apiKey}` },
  })
  assert.equal((await sent).json['message'].content, 'Once upon ')
  held.open()
  const trace = await traceOf(app, id)
  const [stopped] = spansOf(trace, 'model_call')
  assert.deepEqual([trace['status'], stopped!['error'].kind, stopped!['text']], ['completed', 'stopped', 'Once upon '])
  assert.equal(await app.occurrences('Once upon '), 1, 'stored once')
})

void test('trace.stored: a running turn shows what it has done so far, and says that it is not complete', async (t) => {
  const { app, tools } = await start(t)
  const held = gate()
  tools.when('/look', held)
  app.model.script([call('look', { day: 'Monday' })], 'Done.')
  const sent = app.chat('go')
  await held.reached
  const [{ request_id: id }] = (await app.made('GET', '/turns?status=running'))['data']
  const running = await traceOf(app, id)
  assert.deepEqual([running['status'], running['complete']], ['running', false])
  assert.deepEqual(endsOf(running), [[1, 1, 'running']])
  const [looking] = spansOf(running, 'tool_call')
  assert.deepEqual([looking!['status'], looking!['duration_ms'], looking!['result']], ['running', null, null])
  assert.equal(spansOf(running, 'settlement').length, 0)
  held.open()
  assert.equal((await sent).status, 200)
  assert.equal((await traceOf(app, id))['complete'], true)
})

void test('trace.stored erase: the trace is erased with the end user, passages and words of the provider included', async () => {
  await using app = await startTestApp()
  const { agentId } = app.caller
  await app.app.knowledge.index({ documentId: 'doc_1', agentId, title: 'Plans', text: 'The quokka plan costs nothing.' })
  app.model.script({ status: 401, body: { error: { message: 'no wombat here' } } }, 'The quokka plan.')
  const refused = await app.chat('quokka plan', { user: 'ann' })
  const { json } = await app.chat('quokka plan', { user: 'ann' })
  assert.equal((await traceOf(app, json['request_id']))['complete'], true)
  assert.equal(await storedTraces(app), 2)
  await app.made('DELETE', `/agents/${agentId}/end-users?external_user_id=ann`)
  for (const id of [json['request_id'], refused.json['error'].request_id])
    assert.equal((await app.admin('GET', `/turns/${id}/trace`)).status, 404)
  assert.equal(await storedTraces(app), 0)
  assert.equal(await app.occurrences('wombat'), 0)
  assert.equal((await app.admin('GET', `/turns/${randomUUID()}/trace`)).status, 404)
  await app.verify()
})

void test('trace.stored: traces are deleted when they are older than the setting, in batches, and newer ones stay', async () => {
  await using app = await startTestApp()
  const log = pino({ level: 'silent' })
  const sweep = (traceDays: number): Promise<void> =>
    createErasure({ store: app.app.store, retentionDays: undefined, traceDays, log, newId: () => 'aud_1' }).sweep()
  const old = await app.chat('old')
  await app.moveClock(15 * dayMs)
  // Request IDs have the time of the process, which the test does not move.
  await sweep(16)
  assert.equal(await storedTraces(app), 1)
  await sweep(14)
  assert.equal(await storedTraces(app), 0)
  const trace = await traceOf(app, old.json['request_id'])
  assert.deepEqual([trace['complete'], trace['message'], endsOf(trace)], [false, 'old', [[1, 1, 'completed']]])
  await app.verify()
})

void test('trace.stored: TURNKEEP_TRACE_DAYS=0: nothing is recorded, and the journal still shows the steps', async (t) => {
  const { app } = await start(t, { env: { TURNKEEP_TRACE_DAYS: '0' } })
  app.model.script(['Let me see.', call('book', { day: 'Monday' })], 'Booked.')
  const { json } = await app.chat('go')
  assert.equal(await storedTraces(app), 0)
  const trace = await traceOf(app, json['request_id'])
  assert.equal(trace['complete'], false)
  assert.deepEqual(
    spansOf(trace, 'model_call').map(({ attempt, recorded, text, messages }) => [attempt, recorded, text, messages]),
    [[1, 'journal', 'Let me see.', null]],
  )
  assert.deepEqual(
    spansOf(trace, 'tool_call').map(({ name, status, journal, recorded }) => [name, status, journal, recorded]),
    [['book', 'answered', 'finished', 'journal']],
  )
})
