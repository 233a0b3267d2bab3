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

void test('chunks: each piece of a long HTML table in Markdown starts with its first row, however its tags are written', () => {
  const styles = [
    {
      open: '<table>',
      head: ['<thead>', '<tr>', '<th>Plan</th>', '<th>Price</th>', '</tr>', '</thead>', '<tbody>'],
      cell: 'td',
      close: '</tr>',
    },
    { open: '<table border="1">', head: ['<tr><td>Plan</td><td>Price</td></tr>'], cell: 'td', close: '</tr>' },
    { open: '  <TABLE class="x">', head: ['  <TR><TH>Plan<TH>Price'], cell: 'TD', close: '' },
  ]
  for (const { open, head, cell, close } of styles) {
    const rows = Array.from({ length: 120 }, (_, at) =>
      `<tr>\n<${cell}>Plan ${at} for a team</${cell}>\n<${cell}>${at}.50 EUR</${cell}>\n${close}`.trimEnd(),
    )
    const document = ['Prices:', open, ...head, ...rows, '</table>', 'All prices are net.'].join('\n')
    const chunks = chunkDocument(document)
    const withRows = chunks.filter(({ text }) => /Plan \d/.test(text))
    assert.ok(withRows.length > 3)
    for (const { text } of withRows) {
      assert.match(text, /Plan[^\d]{1,40}Price/, text.slice(0, 200))
      // No row is split.
      assert.equal(text.match(/Plan \d+/g)!.length, text.match(/\d\.50 EUR/g)!.length)
    }
    assert.ok(chunks.some(({ text }) => text.includes('All prices are net.')))
    for (let at = 0; at < 120; at++) assert.equal(chunks.filter(({ text }) => text.includes(`Plan ${at} for`)).length, 1)
  }
})

void test('chunks: HTML without cells, an unfinished table and a table of many columns are read as far as they say something', () => {
  assert.deepEqual(
    chunkDocument('<table>\nno cells\n</table>').map(({ text }) => text),
    ['<table>\nno cells\n</table>'],
  )
  assert.deepEqual(
    chunkDocument('<table>\n<tr><td>a').map(({ text }) => text),
    ['<table>\n<tr><td>a'],
  )
  const names = Array.from({ length: 30 }, (_, at) => `<th style="width: 20px">Column number ${at}</th>`).join('')
  const row = `<tr>${Array.from({ length: 30 }, (_, at) => `<td>${at}</td>`).join('')}</tr>`
  const chunks = chunkDocument(`<table>\n<tr>${names}</tr>\n${`${row}\n`.repeat(20)}</table>`)
  const last = chunks.at(-1)!.text
  assert.match(last, /^\| Colu\w* *\| Colu/)
})
