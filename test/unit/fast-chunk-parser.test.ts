/** Chunks read by the fast chunk parser and by JSON.parse: whatever a server sends, both give the same result. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { ModelError } from '../../src/agent/models/model.ts'
import { ChatAnswer } from '../../src/agent/models/apis/chat-answer.ts'
import { AnswerBody } from '../../src/agent/models/transport/answer-body.ts'
import { FastChunkParser, stringOf } from '../../src/agent/models/apis/fast-chunk-parser.ts'
import { anyText } from '../support/any-text.ts'

/** A text as it may be written in JSON: plainly, or with every character escaped. */
const written = fc.record({ text: anyText(16), byNumber: fc.boolean() }).map(({ text, byNumber }) => {
  const units = Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`)
  return byNumber ? units.join('') : JSON.stringify(text).slice(1, -1)
})

/** What may be between the quotes: a text, or bytes that only look like one, from a broken or malicious server. */
const between = fc.oneof(
  { arbitrary: written, weight: 6 },
  {
    arbitrary: fc.constantFrom('word', ' word', 'mark', 'ma', '', 'a"b', 'a\\', '\\"', '\\\\', '\\u12', '\n', '\u0001', 'mark","x":"y'),
    weight: 3,
  },
  {
    arbitrary: fc.constantFrom(
      'a","content":"b',
      'a"},"finish_reason":"stop","x":{"y":"',
      'a"}}],"usage":{"prompt_tokens":1,"completion_tokens":2},"z":[{"delta":{"w":"',
      'x"}}],"error":{"message":"broken',
      'x\\",\\"content\\":\\"y',
    ),
    weight: 1,
  },
)

/** Chunks of Chat Completions with a placeholder: `§` where the text goes, and where a decoy of it does. */
const frames = [
  '{"id":"1","choices":[{"index":0,"delta":{"content":"§"},"finish_reason":null}]}',
  '{"id": "1", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "§", "refusal": null}, "finish_reason": null}], "usage": null}',
  '{"choices":[{"finish_reason":null,"index":0,"delta":{"content":"§"}}],"created":1,"id":"1"}',
  '{"choices":[{"delta":{"content":"§","reasoning_content":"thinks"}}]}',
  '{"choices":[{"delta":{"content":"§","tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]}}]}',
  '{"choices":[{"delta":{"content":"§","tool_calls":[],"reasoning":"","function_call":null}}]}',
  '{"choices":[{"delta":{"content":"§"},"finish_reason":"length"}]}',
  '{"choices":[{"delta":{"content":"§"}}],"usage":{"prompt_tokens":3,"completion_tokens":4}}',
  '{"choices":[{"delta":{"content":"first","content":"§"}}]}',
  '{"choices":[{"delta":{"content":"§","content":"last"}}]}',
  '{"choices":[{"delta":{"content":"§","cont\\u0065nt":"last"}}]}',
  '{"choices":[{"delta":{"content":"mark","x":{"content":"§"}}}]}',
  '{"metadata":{"content":"§"},"choices":[{"delta":{"content":"said"}}]}',
  '{"metadata":{"content":"§"},"choices":[{"delta":{"content":"mark"}}]}',
  '{"metadata":{"content":"said"},"choices":[{"delta":{"content":"§"}}]}',
  '{"note":"\\"content\\":\\"","choices":[{"delta":{"content":"§"}}]}',
  '{"choices":[{"delta":{"content":"§"}},{"delta":{"content":"another"}}]}',
  '{"choices":[{"delta":{"content":"said"}},{"delta":{"content":"§"}}]}',
  '{"choices":[{"delta":{"content":"said"}}],"choices":[{"delta":{"content":"§"}}]}',
  '{"choices":[{"delta":{"content":"§"}}],"obfuscation":"§"}',
  '{"choices":[{"delta":{"content":[{"type":"text","text":"§"}]}}]}',
  '{"choices":[{"message":{"content":"§"}}]}',
  '{"content":"§","choices":[]}',
  '{"__proto__":{"choices":[{"delta":{"content":"§"}}]},"choices":[{"delta":{"content":"said"}}]}',
  '{"choices":[{"delta":{"content":"§"}}],"error":null,"object":"error"}',
  '["content","§"]',
  '"content":"§"',
]

/** A stream: a few frames, each filled again and again. */
const chunks = fc
  .tuple(
    fc.uniqueArray(fc.constantFrom(...frames), { minLength: 1, maxLength: 3 }),
    fc.array(fc.tuple(fc.nat(9), between), { maxLength: 24 }),
  )
  .map(([chosen, filled]) => filled.map(([which, text]) => chosen[which % chosen.length]!.replaceAll('§', () => text)))

const stop = '{"choices":[{"delta":{},"finish_reason":"stop"}]}'
const finishing = (reason: string, text: string): string => `{"choices":[{"delta":{"content":"${text}"},"finish_reason":"${reason}"}]}`
const using = (tokens: number, text: string): string =>
  `{"choices":[{"delta":{"content":"${text}"}}],"usage":{"prompt_tokens":${tokens},"completion_tokens":1}}`

const textOf = (chunk: string): unknown => (JSON.parse(chunk) as any).choices[0].delta.content

test('fast chunk parser: reads the same text as JSON.parse, and the rest of the chunk equals that of the chunk it learned from', () => {
  let read = 0
  fc.assert(
    fc.property(chunks, (stream) => {
      const parser = new FastChunkParser(stringOf('content'), textOf)
      let learnt: any
      for (const chunk of stream) {
        const text = parser.read(chunk)
        if (text !== undefined) {
          read++
          const whole = JSON.parse(chunk)
          assert.equal(whole.choices[0].delta.content, text)
          whole.choices[0].delta.content = learnt.choices[0].delta.content
          assert.deepEqual(whole, learnt)
          continue
        }
        try {
          const found = textOf(chunk)
          if (typeof found !== 'string') continue
          learnt = JSON.parse(chunk)
          parser.learn(chunk, found)
        } catch {
          // not a chunk: it must not be learned
        }
      }
    }),
    { numRuns: 1500 },
  )
  assert(read > 100, `only ${read} chunks were read by a mould`)
})

/** Everything that a response does with these chunks. */
function outcomeOf(stream: string[]): unknown {
  const reported: unknown[] = []
  const answer = new ChatAnswer({ onText: (text) => reported.push(text), secret: 'key', request: { maxOutputTokens: 1, tools: [] } })
  const body = new AnswerBody(answer, 1)
  body.begin('text/event-stream')
  try {
    for (const chunk of stream) reported.push({ progress: body.take(Buffer.from(`data: ${chunk.replaceAll(/[\r\n]/g, ' ')}\n\n`)) })
    body.end()
    return { reported, step: answer.step() }
  } catch (error) {
    assert(error instanceof ModelError)
    return { reported, kind: error.kind, message: error.message }
  }
}

test('fast chunk parser: a response of similar chunks is read like one whose chunks all differ', () => {
  // White space before a chunk is ignored, and an amount of it that no other chunk has leaves the parser no pattern to match.
  const differing = (stream: string[]): string[] => stream.map((chunk, n) => (chunk === '[DONE]' ? chunk : ' '.repeat(n) + chunk))
  fc.assert(
    fc.property(chunks, fc.constantFrom(stop, '[DONE]', ''), (stream, last) => {
      const all = last === '' ? stream : [...stream, last]
      assert.deepEqual(outcomeOf(all), outcomeOf(differing(all)))
    }),
    {
      numRuns: 1500,
      examples: [
        [[finishing('length', 'a'), stop, finishing('length', 'c')], ''],
        [[using(1, 'a'), '{"choices":[],"usage":{"prompt_tokens":2,"completion_tokens":2}}', using(1, 'b')], stop],
      ],
    },
  )
})

test('fast chunk parser: similar chunks are parsed by JSON.parse twice and not each time, and one that differs is parsed', () => {
  let parsed = 0
  const parser = new FastChunkParser(stringOf('content'), (chunk) => {
    parsed++
    return textOf(chunk)
  })
  const chunk = (text: string, created = 1): string => JSON.stringify({ created, choices: [{ delta: { content: text } }] })
  parser.learn(chunk('a'), 'a')
  const texts = ['b', 'a line\n', 'Grüße, 世界 🌍', 'a "quoted" one', 'longer than what is copied as it is']
  for (const text of texts) assert.equal(parser.read(chunk(text)), text)
  assert.equal(parsed, 1)
  assert.equal(parser.read(chunk('b', 2)), undefined)
  parser.learn(chunk('b', 2), 'b')
  assert.equal(parser.read(chunk('c', 2)), 'c')
  assert.equal(parser.read(chunk('c', 1)), undefined)
})

test('fast chunk parser: a response whose chunks all differ soon uses JSON.parse alone', () => {
  let parsed = 0
  const parser = new FastChunkParser(stringOf('content'), (chunk) => {
    parsed++
    return textOf(chunk)
  })
  for (let created = 0; created < 20; created++) {
    const chunk = JSON.stringify({ created, choices: [{ delta: { content: 'a' } }] })
    assert.equal(parser.read(chunk), undefined)
    parser.learn(chunk, 'a')
  }
  assert.equal(parsed, 3)
})

test('fast chunk parser: a retained text does not retain the rest of the input', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const heap = (): number => (collect(), process.memoryUsage().heapUsed)
  const texts: string[] = []
  const answer = new ChatAnswer({ onText: (text) => texts.push(text), secret: '', request: { maxOutputTokens: 100_000, tools: [] } })
  const body = new AnswerBody(answer, 100_000)
  body.begin('text/event-stream')
  const before = heap()
  for (let n = 0; n < 500; n++) {
    const chunk = JSON.stringify({ choices: [{ delta: { content: `text number ${n}, which is not short` } }] })
    body.take(Buffer.from(`data: ${chunk}\n\n:${'.'.repeat(60_000)}\n`))
  }
  const grown = heap() - before
  assert.equal(texts.length, 500)
  assert(grown < 10_000_000, `${grown} bytes are kept of 30,000,000 that were read`)
})
