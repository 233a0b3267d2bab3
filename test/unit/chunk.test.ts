/** Splitting documents into chunks. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { chunkDocument } from '../../src/agent/knowledge/chunk.ts'
import { anyText } from '../support/any-text.ts'

const visible = (text: string): string => text.replace(/\s/g, '')
const bytes = (text: string): number => Buffer.byteLength(text)

const piece = fc.oneof(
  anyText(60).map((text) => text.toWellFormed()),
  fc.constantFrom('# Title', '## Part', '### Deep', '#', '```', '\n', '\r\n', '\n\n', 'A sentence. ', '退款政策。', 'word '),
  fc.nat(3_000).map((length) => 'x'.repeat(length)),
  fc.nat(500).map((length) => 'Some words, and a stop. '.repeat(length)),
  fc.nat(1_500).map((length) => '💶'.repeat(length)),
)
const documents = fc.array(piece, { maxLength: 25 }).map((pieces) => pieces.join('\n'))

void test('knowledge: no text is lost, duplicated or moved, and no chunk is empty or over 1,200 bytes', () => {
  fc.assert(
    fc.property(documents, (document) => {
      const chunks = chunkDocument(document)
      assert.equal(visible(chunks.map(({ text }) => text).join('')), visible(document))
      for (const { text } of chunks) assert.ok(bytes(text) > 0 && bytes(text) <= 1_200 && text === text.trim())
    }),
    { numRuns: 300 },
  )
})

void test('knowledge: without headings two neighbors together exceed 800 bytes, so that chunks are not tiny', () => {
  const paragraphs = fc.array(
    fc.nat(120).map((words) => 'word '.repeat(words + 1).trim()),
    { minLength: 1, maxLength: 30 },
  )
  fc.assert(
    fc.property(paragraphs, (texts) => {
      const sizes = chunkDocument(texts.join('\n\n')).map(({ text }) => bytes(text))
      for (let n = 1; n < sizes.length; n++) assert.ok(sizes[n - 1]! + sizes[n]! > 800)
    }),
  )
})

void test('knowledge: a heading starts a chunk and stays with its text; each chunk knows its section path', () => {
  const document = '# Shop\n## Returns\nWithin 30 days.\n### Costs\nWe pay.\n\nAlways.\n## Hours\n```\n# not a heading\n```\n'
  assert.deepEqual(chunkDocument(document), [
    { headings: 'Shop › Returns', text: '# Shop\n\n## Returns\n\nWithin 30 days.' },
    { headings: 'Shop › Returns › Costs', text: '### Costs\n\nWe pay.\n\nAlways.' },
    { headings: 'Shop › Hours', text: '## Hours\n\n```\n# not a heading\n```' },
  ])
})

void test("knowledge: a skipped heading level leaves no gap in a chunk's section path and does not extend to text above it", () => {
  assert.deepEqual(
    chunkDocument('### Deep\ntext\n## Part\ntext\n#\ntext').map(({ headings }) => headings),
    ['Deep', 'Part', ''],
  )
})

void test('knowledge: a long text is split after a sentence, and every piece knows its heading', () => {
  const chunks = chunkDocument(`# Long\n${'Twelve words stand in this sentence and it is one of many. '.repeat(60)}`)
  assert.ok(chunks.length >= 3)
  for (const { headings, text } of chunks) {
    assert.equal(headings, 'Long')
    assert.match(text, /many\.$/)
  }
})

void test('knowledge: a megabyte of any text is split in linear time', { timeout: 10_000 }, () => {
  assert.equal(chunkDocument('x'.repeat(1_000_000)).length, Math.ceil(1_000_000 / 1_200))
  assert.deepEqual(chunkDocument(`#${' '.repeat(1_000_000)}`), [{ headings: '', text: '#' }])
  assert.deepEqual(chunkDocument(`x${' '.repeat(1_000_000)}x`), [{ headings: '', text: 'x\n\nx' }])
  const [first] = chunkDocument(`# ${'long '.repeat(200_000)}`)
  assert.equal(first?.headings.length, 120)
})
