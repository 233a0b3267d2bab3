/**
 * What model servers and gateways really send: beside what an API documents, in other places, in other words. Cases that were reported for
 * programs of the same kind, and variations of each kind over the four dialects, streamed and whole.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { ModelError } from '../../src/agent/models/model.ts'
import { answerKinds, bodyOf, inEvents, readBody, readCalls, streamOf, wholeOf } from '../support/dialect-answers.ts'
import type { AnswerKind, Read, Said } from '../support/dialect-answers.ts'

/** Generated variations of each kind. */
const variations = 100

type Json = Record<string, any>
type Changes = (event: Json) => Json[]

const input = (name: string): string => readFileSync(new URL(`inputs/${name}.sse`, import.meta.url), 'utf8')
const kind = fc.constantFrom(...answerKinds)
const transport = fc.constantFrom('stream' as const, 'whole' as const)
const usual: Said = { text: ['hel', 'lo'] }
const counts = ({ usage }: Read): unknown => usage && [usage.promptTokens, usage.completionTokens]

/** Reads an answer in one of its two forms. `change` replaces each event. */
function read(of: AnswerKind, how: 'stream' | 'whole', said: Said, change: Changes = (event) => [event]): Read {
  if (how === 'whole')
    return readBody(of, [
      change(wholeOf(of, said))
        .map((value) => JSON.stringify(value))
        .join('\n'),
    ])
  return readBody(of, [bodyOf(of, streamOf(of, said).flatMap(change))])
}

function failureOf(run: () => Read): ModelError {
  try {
    run()
  } catch (error) {
    assert(error instanceof ModelError, String(error))
    return error
  }
  assert.fail('it is an answer')
}

const check = <Values extends [unknown, ...unknown[]]>(
  ...args: [...{ [At in keyof Values]: fc.Arbitrary<Values[At]> }, (...values: Values) => void]
): void =>
  // fast-check's types cannot follow the tuple.
  fc.assert((fc.property as unknown as (...given: unknown[]) => fc.IProperty<Values>)(...args), { numRuns: variations })

// Strict where everyone else is tolerant

test('field: what nothing here needs is skipped and counted: events, blocks, fields and null', () => {
  const word = fc.stringMatching(/^[a-z]{3,12}$/).map((name) => `x_${name}`)
  const insert: Record<AnswerKind, (name: string) => Json> = {
    'openai-compatible': (name) => ({ object: name, [name]: 1 }),
    openai: (name) => ({ type: `response.${name}`, [name]: { delta: 'no' } }),
    anthropic: (name) => ({ type: name, usage: { input_tokens: 1 }, delta: { text: 'no' } }),
    google: (name) => ({ [name]: [{ text: 'no' }] }),
  }
  check(kind, word, fc.nat(3), (of: AnswerKind, name: string, times: number) => {
    const said = read(of, 'stream', usual, (event) => [
      ...Array.from({ length: times }, () => insert[of](name)),
      { ...event, [name]: null, [`${name}2`]: {} },
    ])
    assert.deepEqual([said.text, said.finishReason, counts(said)], ['hello', 'stop', [500, 77]])
    assert.equal(
      (said.skipped ?? []).some(({ what, count }) => what.includes(name) && count >= times),
      times > 0,
      JSON.stringify(said.skipped),
    )
  })
})

test('field: optional fields that are null are absent, in every dialect', () => {
  const nulls: Record<AnswerKind, Json> = {
    'openai-compatible': { usage: null, error: null, choices: [], system_fingerprint: null, x_groq: null },
    openai: { type: 'response.in_progress', response: null, error: null, item: null, delta: null },
    anthropic: { type: 'content_block_start', index: null, content_block: null, error: null, usage: null },
    google: { candidates: null, usageMetadata: null, promptFeedback: null, error: null },
  }
  for (const of of answerKinds) assert.equal(read(of, 'stream', usual, (event) => [nulls[of], event]).text, 'hello', of)
})

test('field: a body is read as what it is, whatever its content type', () => {
  const types = fc.constantFrom(
    '',
    'text/plain',
    'application/octet-stream',
    'application/json',
    'text/event-stream',
    'application/x-ndjson',
  )
  check(kind, transport, types, fc.nat(20), (of: AnswerKind, how: 'stream' | 'whole', mediaType: string, at: number) => {
    const body = how === 'stream' ? bodyOf(of, streamOf(of, usual)) : ` \n${JSON.stringify(wholeOf(of, usual))}`
    const said = readBody(of, [body.slice(0, at), body.slice(at)], { mediaType })
    assert.deepEqual([said.text, counts(said)], ['hello', [500, 77]])
  })
})

test('field: a finish reason of any name ends an answer', () => {
  const names = fc.constantFrom('eos', 'END_TURN', 'stop_sequence', 'Complete', 'unheard_of')
  check(
    fc.constantFrom('openai-compatible' as const, 'anthropic' as const, 'google' as const),
    transport,
    names,
    (of: AnswerKind, how: 'stream' | 'whole', name: string) => {
      const renamed = JSON.parse(JSON.stringify(how === 'stream' ? streamOf(of, usual) : wholeOf(of, usual)), (key, value: unknown) =>
        ['finish_reason', 'stop_reason', 'finishReason'].includes(key) && value !== null ? name : value,
      ) as Json[]
      const said = readBody(of, [how === 'stream' ? bodyOf(of, renamed) : JSON.stringify(renamed)])
      assert.deepEqual([said.text, said.finishReason], ['hello', name === 'unheard_of' ? 'other' : 'stop'])
    },
  )
})

test('field: an Anthropic event of a new type does not end the answer', () => {
  const said = readBody('anthropic', [input('09-anthropic-unknown-event')])
  assert.deepEqual(
    [said.text, counts(said), said.skipped],
    [
      'hello',
      [100, 10],
      [
        { what: 'event vertex_event', count: 1 },
        { what: 'usage 100/–', count: 1 },
        { what: 'usage –/10', count: 1 },
      ],
    ],
  )
})

// The last value wins

test('billing.token-kinds: usage that is followed by zeros, or inside the choice, is billed', () => {
  for (const name of ['01-chat-usage-zeros-last', '02-chat-usage-in-choice'])
    assert.deepEqual(counts(readBody('openai-compatible', [input(name)])), [500, 77], name)
})

test('billing.token-kinds: reports of one call are merged, and an empty or smaller one replaces nothing', () => {
  const names: Record<AnswerKind, (report: Json) => Json> = {
    'openai-compatible': (usage) => ({ choices: [], usage }),
    openai: (usage) => ({ type: 'response.x_usage', usage }),
    anthropic: (usage) => ({ type: 'message_delta', delta: {}, usage }),
    google: (usageMetadata) => ({ usageMetadata }),
  }
  const small = fc.constantFrom<Json>(
    {},
    { prompt_tokens: 0, completion_tokens: 0, input_tokens: 0, output_tokens: 0, promptTokenCount: 0, candidatesTokenCount: 0 },
    { prompt_tokens: 500, input_tokens: 500, promptTokenCount: 500 },
    { completion_tokens: 3, output_tokens: 3, candidatesTokenCount: 3 },
    { prompt_tokens: null, input_tokens: null },
    { completion_tokens: '76', output_tokens: '76', candidatesTokenCount: '76' },
    { prompt_tokens: 499.9, input_tokens: 499.9 },
  )
  check(kind, fc.array(small, { maxLength: 4 }), fc.boolean(), (of: AnswerKind, reports: Json[], areLast: boolean) => {
    const extra = reports.map((report) => names[of](report))
    const events = streamOf(of, usual)
    // The last event of these dialects ends the answer.
    const end = of === 'openai' || of === 'anthropic' ? events.splice(-1) : []
    const all = areLast ? [...events, ...extra, ...end] : [...events.slice(0, 1), ...extra, ...events.slice(1), ...end]
    assert.deepEqual(counts(readBody(of, [bodyOf(of, all)])), [500, 77])
  })
})

test('billing.token-kinds: usage is found under other names and in other places', () => {
  const places: Json[] = [
    { x_groq: { usage: { prompt_tokens: 500, completion_tokens: 77 } } },
    { timings: { prompt_n: 20, cache_n: 480, predicted_n: 77 } },
    { usageMetadata: { promptTokenCount: 500, candidatesTokenCount: 70, thoughtsTokenCount: 7 } },
    { usage: { input_tokens: 500, output_tokens: 77 } },
    { usage: { prompt_tokens: '500', completion_tokens: 77.5 } },
    { usage: { input_tokens: 20, cache_read_input_tokens: 480, output_tokens: 77 } },
  ]
  for (const place of places)
    for (const how of ['stream', 'whole'] as const) {
      const said = read('openai-compatible', how, { ...usual, usage: null }, (event) =>
        how === 'whole' || event['choices'][0]?.finish_reason ? [{ ...event, ...place }] : [event],
      )
      assert.deepEqual(counts(said), [500, 77], JSON.stringify(place))
    }
})

test('billing.usage-missing: an answer without any usage has none', () => {
  check(kind, transport, (of: AnswerKind, how: 'stream' | 'whole') => {
    assert.equal(read(of, how, { ...usual, usage: null }).usage, undefined)
  })
})

// One outcome folded into another

test('field: a refusal is the text of the answer, and ends it as refused', () => {
  const said = readBody('openai-compatible', [input('03-chat-refusal')])
  assert.deepEqual([said.text, said.finishReason], ['I cannot help.', 'refused'])
  check(kind, transport, fc.stringMatching(/^[A-Z][a-z ]{3,30}\.$/), (of: AnswerKind, how: 'stream' | 'whole', refusal: string) => {
    const refused = read(of, how, { refusal })
    assert.equal(refused.text, refusal)
    if (of !== 'google') assert.equal(refused.finishReason, 'refused')
  })
})

test('field: a content filter ends an answer as filtered, with and without text', () => {
  check(
    fc.constantFrom('openai-compatible' as const, 'openai' as const, 'google' as const),
    transport,
    fc.boolean(),
    (of: AnswerKind, how: 'stream' | 'whole', hasText: boolean) => {
      const said = read(of, how, { ...(hasText ? { text: ['hel'] } : {}), finish: 'filtered' })
      assert.deepEqual([said.text, said.finishReason], [hasText ? 'hel' : '', 'filtered'])
    },
  )
  for (const blockReason of ['SAFETY', 'PROHIBITED_CONTENT', 'BLOCKLIST', 'NEW_REASON'])
    assert.equal(readBody('google', [inEvents([{ promptFeedback: { blockReason } }])]).finishReason, 'filtered')
  for (const finishReason of ['SAFETY', 'RECITATION', 'PROHIBITED_CONTENT', 'BLOCKLIST', 'SPII'])
    assert.equal(readBody('google', [inEvents([{ candidates: [{ finishReason }] }])]).finishReason, 'filtered', finishReason)
  const inStream = failureOf(() => readBody('openai-compatible', [inEvents([{ error: { code: 'content_filter', message: 'no' } }])]))
  assert.deepEqual([inStream.kind, inStream.causeKind], ['refused', 'filtered'])
})

test('fault.model-error-in-200: an error in whatever form ends the answer as an error, wherever it is', () => {
  const forms = fc.constantFrom<Json | string>(
    { error: { message: 'overloaded' } },
    { error: 'overloaded' },
    { type: 'error', error: { type: 'overloaded_error', message: 'overloaded' } },
    { type: 'error', message: 'overloaded' },
    'event: error\ndata: {"message":"overloaded"}\n\n',
    { error: { code: 503, status: 'UNAVAILABLE' } },
  )
  check(kind, forms, fc.nat(2), (of: AnswerKind, form: Json | string, at: number) => {
    const events: (Json | string)[] = streamOf(of, usual)
    const error = failureOf(() => readBody(of, [inEvents([...events.slice(0, at), form, ...events.slice(at)])]))
    assert.equal(error.kind, 'unavailable')
    if (typeof form !== 'string') assert.equal(failureOf(() => readBody(of, [JSON.stringify(form)])).kind, 'unavailable')
  })
  for (const of of answerKinds) {
    for (const body of ['<html>502</html>', '', 'upstream error', '{"detail":"no"}', '{"message":"no","code":500}', 'data: <html>\n\n'])
      assert.equal(failureOf(() => readBody(of, [body], { mediaType: '' })).kind, 'unavailable', `${of} ${body}`)
  }
  const failed = inEvents([{ type: 'response.failed', response: { status: 'failed', error: { code: 'server_error', message: 'no' } } }])
  assert.equal(failureOf(() => readBody('openai', [failed])).causeKind, 'provider_error')
})

test('fault.model-stream-truncated: a stream that is cut without its end is never an answer', () => {
  const cuts = fc.nat({ max: 10_000 })
  check(kind, cuts, (of: AnswerKind, place: number) => {
    const events = streamOf(of, usual)
    // From the event on that says why the answer ended, it is complete.
    const finish = events.findIndex(
      (event) => /"(stop|end_turn|STOP|completed)"/.test(JSON.stringify(event)) && event['type'] !== 'response.created',
    )
    const whole = inEvents(events.slice(0, finish + 1)).trimEnd()
    assert.equal(failureOf(() => readBody(of, [whole.slice(0, place % whole.length)])).kind, 'unavailable')
  })
})

// Reasoning

const notations: [string, string][] = [
  ['<think>', '</think>'],
  ['<thinking>', '</thinking>'],
  ['<thought>', '</thought>'],
  ['<reasoning>', '</reasoning>'],
  ['<Think>', '</THINK>'],
  ['[THINK]', '[/THINK]'],
  ['<|channel|>analysis<|message|>', '<|end|><|start|>assistant<|channel|>final<|message|>'],
  ['<|channel|>analysis ', '<|channel|>final '],
  ['◁think▷', '◁/think▷'],
  ['<seed:think>', '</seed:think>'],
]
/** Text of a few words, cut anywhere. */
const words = fc.stringMatching(/^[A-Z][a-z]{1,8}( [a-z]{1,8}){0,6}[.!?]$/)
const split = (text: string, cuts: number[]): string[] => {
  const places = [...new Set([0, ...cuts.map((cut) => cut % (text.length + 1)), text.length])].toSorted((a, b) => a - b)
  return places.slice(1).map((end, n) => text.slice(places[n], end))
}
const cuts = fc.array(fc.nat({ max: 500 }), { maxLength: 60 })

test('tools.private: reasoning that only a closing mark ends is taken back, and held the next time', () => {
  const said = readBody('openai-compatible', [input('04-chat-closing-think-only')])
  assert.deepEqual([said.text, said.shown, said.resets], ['hello', 'hello', 0])
  const closings = fc.constantFrom('</think>', '</thinking>', '[/THINK]', '◁/think▷')
  check(
    kind,
    transport,
    words,
    words,
    closings,
    cuts,
    fc.boolean(),
    (of: AnswerKind, how: 'stream' | 'whole', reasoning: string, reply: string, closing: string, at: number[], holds: boolean) => {
      const text = split(`${reasoning}\n${closing}\n\n${reply}`, at)
      const body = how === 'stream' ? bodyOf(of, streamOf(of, { text })) : JSON.stringify(wholeOf(of, { text }))
      const taken = readBody(of, [body], { holds })
      assert.deepEqual([taken.text, taken.shown], [reply, reply])
      if (holds) assert.equal(taken.resets, 0)
    },
  )
})

test('tools.private: reasoning in any notation, nested, repeated or never closed, is never text', () => {
  const shapes = fc.constantFrom('one', 'two', 'nested', 'open')
  check(
    kind,
    transport,
    fc.constantFrom(...notations),
    words,
    words,
    shapes,
    cuts,
    (
      of: AnswerKind,
      how: 'stream' | 'whole',
      [opening, closing]: [string, string],
      reasoning: string,
      reply: string,
      shape: string,
      at: number[],
    ) => {
      const nests = !opening.startsWith('<|')
      const block =
        shape === 'nested' && nests ? `${opening}a${opening}b${closing}${reasoning}${closing}` : `${opening}${reasoning}${closing}`
      const text = shape === 'open' ? `${opening}${reasoning}` : `${block}${shape === 'two' && nests ? `\n${block}` : ''}\n\n${reply}`
      const said = read(of, how, { text: split(text, at) })
      assert.deepEqual([said.text.trim(), said.shown.trim()], shape === 'open' ? ['', ''] : [reply, reply])
      assert.equal(said.resets, 0)
    },
  )
})

test('tools.private: a reply that is about the marks stays whole', () => {
  const replies = fc.constantFrom(
    'Models write <think>x</think> before the answer.',
    'Use `</think>` to close it.',
    'Text:\n```\nreasoning\n</think>\nanswer\n```\n',
    'The </think> tag ends it.',
    'a < b, [1] and [TODO] stay; <b>bold</b> too',
    'Write "</think>" at the end.',
    'analysis of the data',
  )
  check(kind, transport, replies, cuts, (of: AnswerKind, how: 'stream' | 'whole', reply: string, at: number[]) => {
    const said = read(of, how, { text: split(reply, at) })
    assert.deepEqual([said.text, said.shown, said.resets], [reply, reply, 0])
  })
})

test('tools.private: reasoning in a field of its own is never text', () => {
  check(kind, transport, words, (of: AnswerKind, how: 'stream' | 'whole', reasoning: string) => {
    assert.equal(read(of, how, { ...usual, reasoning }).text, 'hello')
  })
  const parts = [
    { type: 'thinking', thinking: [{ type: 'text', text: 'no' }] },
    { type: 'text', text: 'hello' },
    { type: 'new', text: 'no' },
  ]
  for (const fields of [
    { content: parts },
    { content: 'hello', reasoning: 'no' },
    { content: 'hello', reasoning_details: [{ type: 'reasoning.text', text: 'no' }] },
  ])
    assert.equal(
      readBody('openai-compatible', [bodyOf('openai-compatible', [{ choices: [{ delta: fields, finish_reason: 'stop' }] }])]).text,
      'hello',
    )
})

// Tool calls

const bern = { name: 'get_weather', arguments: '{"city":"Bern"}' }

test('field: a tool call with another finish reason, a second id, an empty object first, or arguments encoded twice', async () => {
  for (const name of [
    '05-chat-tool-finish-tool-use',
    '06-chat-tool-other-id-later',
    '07-chat-tool-empty-object-first',
    '08-chat-tool-arguments-encoded-twice',
  ]) {
    const { finishReason, toolCalls } = await readCalls('openai-compatible', input(name))
    assert.deepEqual(
      [finishReason, toolCalls.map(({ name: called, arguments: args }) => [called, args])],
      ['tool_calls', [['get_weather', '{"city":"Bern"}']]],
      name,
    )
  }
})

const call = (delta: Json): Json => ({ choices: [{ index: 0, delta: { tool_calls: [delta] }, finish_reason: null }] })
const finished = (finish_reason: string | null): Json => ({ choices: [{ index: 0, delta: {}, finish_reason }] })

test('field: the pieces of a tool call are put together, however a server writes them', async () => {
  const noise = fc.record({
    hasIndex: fc.boolean(),
    hasId: fc.boolean(),
    repeatsName: fc.boolean(),
    otherIds: fc.boolean(),
    first: fc.constantFrom<unknown>(undefined, null, '', '{}', {}),
    finish: fc.constantFrom('tool_calls', 'tool_use', 'function_call', 'stop'),
    at: fc.array(fc.nat(14), { maxLength: 5 }),
  })
  await fc.assert(
    fc.asyncProperty(noise, async ({ hasIndex, hasId, repeatsName, otherIds, first, finish, at }) => {
      const index = hasIndex ? { index: 0 } : {}
      const pieces = split(bern.arguments, at)
      const events = [
        call({ ...index, ...(hasId ? { id: 'a' } : {}), type: 'function', function: { name: bern.name, arguments: first } }),
        ...pieces.map((piece, n) =>
          call({
            ...index,
            ...(hasId && otherIds && hasIndex ? { id: `b${n}` } : {}),
            function: { ...(repeatsName && hasIndex && !otherIds ? { name: bern.name } : {}), arguments: piece },
          }),
        ),
        finished(finish),
      ]
      const { toolCalls, finishReason } = await readCalls('openai-compatible', bodyOf('openai-compatible', events))
      assert.deepEqual(
        [finishReason, toolCalls.map(({ name, arguments: args }) => [name, args])],
        ['tool_calls', [[bern.name, bern.arguments]]],
      )
    }),
    { numRuns: variations },
  )
})

test('field: arguments as an object, encoded once or twice too often, or null; the older function_call; a call within the text', async () => {
  const encoded = (times: number): unknown =>
    Array.from({ length: times }).reduce<unknown>((value) => JSON.stringify(value), JSON.parse(bern.arguments))
  const callsIn = async (delta: Json): Promise<unknown> =>
    (await readCalls('openai-compatible', bodyOf('openai-compatible', [{ choices: [{ index: 0, delta }] }, finished(null)]))).toolCalls.map(
      (one) => [one.name, one.arguments],
    )
  for (const times of [0, 1, 2, 3])
    assert.deepEqual(
      await callsIn({ tool_calls: [{ index: 0, function: { name: bern.name, arguments: encoded(times) } }] }),
      [[bern.name, bern.arguments]],
      String(times),
    )
  assert.deepEqual(await callsIn({ tool_calls: [{ function: { name: bern.name, arguments: null } }] }), [[bern.name, '{}']])
  assert.deepEqual(await callsIn({ function_call: bern }), [[bern.name, bern.arguments]])
  for (const text of [
    `<tool_call>\n{"name":"get_weather","arguments":{"city":"Bern"}}\n</tool_call>`,
    `<tool_call><function=get_weather><parameter=city>Bern</parameter></function></tool_call>`,
  ])
    for (const of of answerKinds) {
      const said = readBody(of, [bodyOf(of, streamOf(of, { text: ['Let me look.\n', ...text] }))])
      assert.deepEqual(
        [said.text.trim(), said.finishReason, said.toolCalls.map(({ name, arguments: args }) => [name, args])],
        ['Let me look.', 'tool_calls', [[bern.name, bern.arguments]]],
        of,
      )
    }
  const talks = '`<tool_call>{"name":"get_weather"}</tool_call>` is how, and <tool_call>x</tool_call> is not'
  assert.deepEqual(
    [readBody('openai-compatible', [bodyOf('openai-compatible', streamOf('openai-compatible', { text: [talks] }))]).text],
    [talks],
  )
})

test('field: the digits of a number reach the tool, in every dialect, streamed and whole', () => {
  const digits = fc.bigInt({ min: 2n ** 53n, max: 10n ** 30n }).map(String)
  check(kind, transport, digits, (of: AnswerKind, how: 'stream' | 'whole', id: string) => {
    const args = `{"id":${id}}`
    const said =
      how === 'stream'
        ? read(of, 'stream', { call: { name: bern.name, arguments: args } })
        : read(of, 'whole', { call: { name: bern.name, arguments: args } })
    assert.deepEqual(
      said.toolCalls.map((one) => one.arguments),
      [args],
    )
  })
})

test('field: a thought signature beside a function goes back with the next request', () => {
  for (const fields of [
    { thoughtSignature: 's' },
    { extra_content: { google: { thought_signature: 's' } } },
    { provider_specific_fields: { thought_signature: 's' } },
  ]) {
    const delta = call({ index: 0, id: 'a', type: 'function', ...fields, function: bern })
    const { continuation } = readBody('openai-compatible', [bodyOf('openai-compatible', [delta, finished('tool_calls')])])
    assert.deepEqual(continuation, { of: 'chat', call_fields: [fields] })
  }
})
