/**
 * Small files that take much CPU time: each is read or refused with a reason, within the time that its size allows, and the next document is
 * read by the same reader. The kinds of such files, not their times.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createExtractor } from '../src/agent/documents/extractor.ts'
import { DocumentRefused, maxReadMs, readMsOf } from '../src/agent/documents/limits.ts'
import { docxEntries, wordDocument, zipFile } from './support/zip-file.ts'

const extractor = createExtractor({ log: { warn: () => undefined } })
after(() => extractor.close())

type Outcome = { chunks: number } | { reason: string }

/** Reads it, and checks that the CPU time that is charged to the owner is that of its size at most. */
async function outcomeOf(bytes: Buffer, fileName: string, by = extractor): Promise<Outcome & { spentMs: number }> {
  const spent: number[] = []
  async function* parts(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    yield new Uint8Array(bytes)
  }
  const given = { fileName, mediaType: null, isText: false, onProgress: () => undefined, signal: new AbortController().signal }
  const outcome = await by.read({ ...given, parts: parts(), onSpent: (cpuMs) => void spent.push(cpuMs) }).then(
    ({ chunks }) => ({ chunks }),
    (error: unknown) => {
      assert.ok(error instanceof DocumentRefused, `${fileName}: ${String(error)}`)
      return { reason: error.message }
    },
  )
  assert.equal(spent.length, 1, 'the time is reported once')
  // It is measured every 100 ms.
  assert.ok(spent[0]! > 0 && spent[0]! <= 2 * readMsOf(bytes.length), `${fileName}: ${spent[0]} ms`)
  return { ...outcome, spentMs: spent[0]! }
}

const size = 60_000
const filled = (piece: string, start = '', end = ''): Buffer => Buffer.from(start + piece.repeat(size / piece.length) + end)
const page = (piece: string, start = '', end = ''): Buffer => filled(piece, `<body>${start}`, `${end} The end`)
const word = (piece: string, start = '', end = ''): Buffer => zipFile(docxEntries(wordDocument(filled(piece, start, end).toString())))

const tooDeep = /^This document is nested too deeply: more than 512 elements are inside each other\./
const damaged = /^This DOCX file is damaged/
/** Kinds of files: which reason they are refused for, or that they are read. */
const kinds: Record<string, Record<string, [Buffer, RegExp | 'read']>> = {
  'a.html': {
    'unclosed elements': [page('<div>'), tooDeep],
    'unclosed elements in a line': [page('<b>'), tooDeep],
    'unclosed elements with text': [page('<section>x '), tooDeep],
    'nested tables': [page('<table><tr><td>'), tooDeep],
    'nested lists': [page('<ul><li>'), tooDeep],
    'nested drawings': [page('<svg><g>'), tooDeep],
    'unclosed paragraphs': [page('<p>some words'), 'read'],
    'unclosed items with paragraphs': [page('<li><p>some words', '<ul>'), 'read'],
    'unclosed cells': [page('<tr><td>one<td>two', '<table>'), 'read'],
    'many elements': [page('<div>x</div>'), 'read'],
    'many attributes': [Buffer.from(`<p ${Array.from({ length: 8_000 }, (_, n) => `a${n}=1`).join(' ')}>text`), 'read'],
    'many links': [page('<a href="https://example.com/">x</a> '), 'read'],
    'many line breaks': [page('a<br>'), 'read'],
    'one row of many cells': [page('<td>x</td>', '<table><tr>', '</tr><tr><td>y</td></tr></table>'), 'read'],
    'cells that claim to span many': [page('<tr><td colspan=9999 rowspan=65000>x</td></tr>', '<table>', '</table>'), 'read'],
    entities: [page('&amp;'), 'read'],
    'unclosed titles': [Buffer.concat([filled('<title>'), Buffer.from('</title>x')]), 'read'],
    'unclosed comments': [page('<!--', 'text'), 'read'],
    'unclosed tags': [page('<html ', 'text'), /contains no text/],
    'hidden panels': [page('<p style="display:none">word</p>'), 'read'],
  },
  'a.md': {
    quotes: [filled('>', '', ' x'), 'read'],
    'nested lists': [Buffer.from(Array.from({ length: 400 }, (_, depth) => `${' '.repeat(depth)}- x`).join('\n')), 'read'],
    brackets: [filled('['), 'read'],
    'a wide table': [Buffer.from(`${'|a'.repeat(size / 4)}\n${'|-'.repeat(size / 4)}\n`), 'read'],
    entities: [filled('&amp;'), 'read'],
    'empty lines': [filled('\n', 'a', 'b'), 'read'],
    fences: [filled('```\n'), 'read'],
    'marks above a letter': [filled('\u0301', 'a'), 'read'],
  },
  'a.docx': {
    'nested tables': [word('<w:tbl><w:tr><w:tc>'), tooDeep],
    'nested text boxes': [word('<w:p><w:r><w:drawing><w:txbxContent>'), tooDeep],
    'unclosed paragraphs': [word('<w:p>'), tooDeep],
    'unclosed tags': [word('<w:p '), damaged],
    'unclosed quotes': [word('<w:p w:a="'), damaged],
    'unclosed comments': [word('<!--', '<w:p><w:r><w:t>text</w:t></w:r></w:p>'), damaged],
    'many paragraphs': [word('<w:p><w:r><w:t>x</w:t></w:r></w:p>'), 'read'],
    'many cells': [word('<w:tc><w:p><w:r><w:t>x</w:t></w:r></w:p></w:tc>', '<w:tbl><w:tr>', '</w:tr></w:tbl>'), 'read'],
    'a part that decompresses to 80 MiB': [
      zipFile([...docxEntries(wordDocument('<w:p/>')), { name: 'word/a.xml', data: Buffer.alloc(80 * 1024 * 1024, ' ') }]),
      /^This DOCX file decompresses to more than 64 MiB/,
    ],
  },
  'a.pdf': {
    'nested arrays': [pdf(`/Kids ${'['.repeat(size)}`), /^This PDF/],
    'nested dictionaries': [pdf(`/Kids ${'<</A'.repeat(size / 4)}`), /^This PDF/],
    'a tree of pages that contains itself': [pdf('/Kids [2 0 R 2 0 R] /Count 100000'), /^This PDF/],
    'many pages of the same object': [pdf(`/Kids [${'3 0 R '.repeat(3_000)}] /Count 3000`), /^This PDF/],
    'many objects': [
      pdf('/Kids [3 0 R] /Count 1', Array.from({ length: 2_000 }, (_, n) => `${n + 10} 0 obj <<>> endobj`).join('\n')),
      /^This PDF contains no text/,
    ],
  },
}

/** A PDF without a table of its objects, so that its reader looks for them. */
function pdf(pages: string, more = ''): Buffer {
  const objects = `1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj\n2 0 obj <</Type/Pages ${pages}>> endobj\n3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>> endobj`
  return Buffer.from(`%PDF-1.4\n${objects}\n${more}\ntrailer <</Root 1 0 R>>\n%%EOF`)
}

for (const [fileName, files] of Object.entries(kinds))
  void test(`knowledge.bounded: heavy files like ${fileName} are read or refused with a reason within the time of their size`, async (t) => {
    for (const [kind, [bytes, expected]] of Object.entries(files)) {
      const outcome = await outcomeOf(bytes, fileName)
      t.diagnostic(`${kind}: ${Math.round(outcome.spentMs)} ms for ${bytes.length} bytes`)
      if (expected === 'read') assert.ok('chunks' in outcome && outcome.chunks > 0, `${kind}: ${JSON.stringify(outcome)}`)
      else assert.match('reason' in outcome ? outcome.reason : 'it was read', expected, kind)
    }
    assert.ok('chunks' in (await outcomeOf(Buffer.from('A short line.'), 'a.txt')))
  })

void test('knowledge.bounded: a small file may take less CPU time than a large one, and is refused with the limit for its size', async () => {
  assert.ok(readMsOf(1_000) < maxReadMs / 5)
  assert.ok(readMsOf(1024 * 1024) > readMsOf(1_000) && readMsOf(20 * 1024 * 1024) === maxReadMs)
  // Read for longer than its size allows, on any machine: a row of cells in a table, whose work grows with the square of its length.
  const slow = Buffer.from(`<body><table><tr>${'<td>x</td>'.repeat(40_000)}</tr><tr><td>y</td></tr></table>`)
  const hasty = createExtractor({ log: { warn: () => undefined }, readMsOf: () => 50 })
  try {
    const outcome = await outcomeOf(slow, 'a.html', hasty)
    assert.match(
      'reason' in outcome ? outcome.reason : 'it was read',
      /^Reading this document took more than 0\.05 seconds of CPU time, the limit for its size\./,
    )
    assert.ok('chunks' in (await outcomeOf(Buffer.from('A short line.'), 'a.txt')))
  } finally {
    await hasty.close()
  }
})
