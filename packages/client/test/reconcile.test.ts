/**
 * The output of a stream over any attempts, compared with the rule in its simplest form: as long as one text is a prefix of the other, only
 * the rest is emitted.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Reconciler } from '../src/reconcile.ts'
import type { ChatStreamEvent } from '../src/reconcile.ts'
import type { ChatReply } from '../src/client.ts'

const ids = { requestId: 'r', conversationId: 'c' }
const replyOf = (content: string): ChatReply => ({
  ...ids,
  message: { id: 'm', role: 'assistant', content, createdAt: 't' },
  usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2, chargedUsd: '0.00000001' },
})

type Attempt = { created: boolean; deltas: string[] }

function run(attempts: Attempt[], content: string): ChatStreamEvent[] {
  const reconciler = new Reconciler()
  const leaving = attempts.flatMap(({ created, deltas }) => {
    reconciler.begin()
    return [
      ...(created ? reconciler.take({ type: 'response.created', ...ids }) : []),
      ...deltas.flatMap((delta) => reconciler.take({ type: 'response.output_text.delta', delta })),
    ]
  })
  return [...leaving, ...reconciler.take({ type: 'response.completed', ...replyOf(content) })]
}

/** Texts only; null is a reset. */
function runPlainly(attempts: Attempt[], content: string): (string | null)[] {
  const left: (string | null)[] = []
  let shown = ''
  const compare = (text: string, whole: boolean): void => {
    if (!whole && shown.startsWith(text)) return
    if (!text.startsWith(shown)) {
      left.push(null)
      shown = ''
    }
    if (text !== shown) left.push(text.slice(shown.length))
    shown = text
  }
  for (const { deltas } of attempts) for (const [index] of deltas.entries()) compare(deltas.slice(0, index + 1).join(''), false)
  compare(content, true)
  return left
}

// Two letters, so that attempts first agree and then differ.
const deltas = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', '😀'), maxLength: 3 }), { maxLength: 6 })
const attempts = fc.array(fc.record({ created: fc.boolean(), deltas }), { minLength: 1, maxLength: 4 })
const calls = fc.oneof(
  fc.record({ attempts, content: deltas.map((texts) => texts.join('')) }),
  // A last attempt with all of the text, most of it, or more.
  fc.record({ attempts, rest: fc.integer({ min: -2, max: 2 }) }).map(({ attempts: all, rest }) => {
    const said = all.at(-1)?.deltas.join('') ?? ''
    return { attempts: all, content: rest < 0 ? said.slice(0, rest) : said + 'a'.repeat(rest) }
  }),
)

test('the deltas since the last reset add up to the completed content, over any attempts; created is emitted once, completed once and last', () => {
  fc.assert(
    fc.property(calls, ({ attempts: all, content }) => {
      const events = run(all, content)
      const types = events.map(({ type }) => type)
      const sinceReset = events.slice(types.lastIndexOf('response.output_text.reset') + 1)
      assert.equal(sinceReset.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join(''), content)
      assert.equal(types.filter((type) => type === 'response.created').length, 1)
      assert.equal(types.indexOf('response.completed'), types.length - 1)
    }),
    { numRuns: 2_000 },
  )
})

test('only new text is emitted, and there is no reset while attempts agree', () => {
  fc.assert(
    fc.property(calls, ({ attempts: all, content }) => {
      const left = run(all, content).flatMap((event) => {
        if (event.type === 'response.output_text.delta') return [event.delta]
        return event.type === 'response.output_text.reset' ? [null] : []
      })
      assert.deepEqual(left, runPlainly(all, content))
    }),
    { numRuns: 2_000 },
  )
})

test('created comes first even if the first attempt did not have it, and a completed event alone implies it', () => {
  assert.deepEqual(
    run([{ created: false, deltas: [] }], 'Hi').map(({ type }) => type),
    ['response.created', 'response.output_text.delta', 'response.completed'],
  )
})

/**
 * A turn that is run in several versions, and a reader who is cut off and continues in the newest one: after its position if the text
 * before it is the same, and otherwise from the start, after a reset by the service.
 */
const versions = fc.array(deltas, { minLength: 1, maxLength: 4 }).map((all) => all.map((texts) => texts.join('')))
type Cut = { chars: number; replays: boolean }
const cuts = fc.array(fc.record({ chars: fc.nat(6), replays: fc.boolean() }), { minLength: 4, maxLength: 4 })

function runContinued(texts: string[], breaks: Cut[]): ChatStreamEvent[] {
  const reconciler = new Reconciler()
  const left = reconciler.take({ type: 'response.created', ...ids })
  let at = 0
  for (const [index, text] of texts.entries()) {
    const before = texts[index - 1]?.slice(0, at) ?? ''
    const { chars, replays } = breaks[index]!
    if (index > 0 && replays) {
      reconciler.begin()
      left.push(...reconciler.take({ type: 'response.created', ...ids }))
    }
    if (index > 0 && !replays && !text.startsWith(before)) left.push(...reconciler.take({ type: 'response.output_text.reset' }))
    if (index > 0 && (replays || !text.startsWith(before))) at = 0
    for (const delta of text.slice(at, at + chars)) left.push(...reconciler.take({ type: 'response.output_text.delta', delta }))
    at = Math.min(text.length, at + chars)
  }
  return [...left, ...reconciler.take({ type: 'response.completed', ...replyOf(texts.at(-1)!) })]
}

test('a stream that is continued has each text once, one created, and a reset only if the text differs', () => {
  fc.assert(
    fc.property(versions, cuts, (texts, breaks) => {
      const events = runContinued(texts, breaks)
      const types = events.map(({ type }) => type)
      const sinceReset = events.slice(types.lastIndexOf('response.output_text.reset') + 1)
      assert.equal(sinceReset.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join(''), texts.at(-1))
      assert.equal(types.filter((type) => type === 'response.created').length, 1)
      assert.equal(types.indexOf('response.completed'), types.length - 1)
      if (new Set(texts).size === 1) assert.ok(!types.includes('response.output_text.reset'))
    }),
    { numRuns: 2_000 },
  )
})

test('a reader who has the text before the first event gets no created; a reset, or a reply that ends otherwise, starts over', () => {
  const take = (...events: Parameters<Reconciler['take']>[0][]): string[] => {
    const reconciler = new Reconciler({ continues: true })
    return events
      .flatMap((event) => reconciler.take(event))
      .map((event) => ('delta' in event ? event.delta : event.type.split('.').at(-1)!))
  }
  const delta = (text: string) => ({ type: 'response.output_text.delta', delta: text }) as const
  const completed = (content: string) => ({ type: 'response.completed', ...replyOf(content) }) as const
  assert.deepEqual(take(delta('lo'), completed('Hello')), ['lo', 'completed'])
  assert.deepEqual(take(completed('Hello')), ['completed'])
  assert.deepEqual(take(delta('lo'), completed('Hello Ann')), ['lo', 'reset', 'Hello Ann', 'completed'])
  assert.deepEqual(take({ type: 'response.created', ...ids }, delta('Hello'), completed('Hello')), ['reset', 'Hello', 'completed'])
  assert.deepEqual(take({ type: 'response.output_text.reset' }, delta('By'), completed('Bye')), ['reset', 'By', 'e', 'completed'])
})

test('the id of an event is on the last event that is passed on for it', () => {
  const reconciler = new Reconciler()
  reconciler.take({ type: 'response.output_text.delta', delta: 'ab' })
  reconciler.begin()
  assert.deepEqual(reconciler.take({ type: 'response.output_text.delta', delta: 'a', id: '1' }), [])
  assert.deepEqual(reconciler.take({ type: 'response.output_text.delta', delta: 'c', id: '2' }), [
    { type: 'response.output_text.reset' },
    { type: 'response.output_text.delta', delta: 'ac', id: '2' },
  ])
})
