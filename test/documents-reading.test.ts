/**
 * Documents read in their process: real ones of every type, and difficult ones, each refused with a reason that makes sense on its own.
 * test/data/documents/README.md says how the files were made.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { after, test } from 'node:test'
import { setImmediate as nextTick, setTimeout as delay } from 'node:timers/promises'
import { createDeflate } from 'node:zlib'
import { createExtractor } from '../src/agent/documents/extractor.ts'
import type { Extractor, ReadDocument } from '../src/agent/documents/extractor.ts'
import { DocumentRefused, maxHeapMegabytes, maxOutsideBytes } from '../src/agent/documents/limits.ts'
import { startReadingProcess } from '../src/agent/documents/reading-process.ts'
import type { Chunk } from '../src/agent/knowledge/chunk.ts'
import { confinement } from '../src/process/confinement.ts'
import { docxEntries, wordDocument, zipFile } from './support/zip-file.ts'

const folder = join(import.meta.dirname, 'data', 'documents')
const file = (name: string): Buffer => readFileSync(join(folder, name))

const logged: { fields: object; message: string }[] = []
const log = { warn: (fields: object, message: string) => void logged.push({ fields, message }) }
const extractor = createExtractor({ log })
after(() => extractor.close())

type Given = {
  fileName?: string | null
  mediaType?: string | null
  isText?: boolean
  by?: Extractor
  onProgress?: (share: number) => void
  signal?: AbortSignal
}

function read(bytes: Buffer, { by = extractor, ...given }: Given = {}): Promise<ReadDocument> {
  const defaults = { fileName: null, mediaType: null, isText: false, onProgress: () => undefined, signal: new AbortController().signal }
  return by.read({ ...defaults, ...given, parts: inParts(bytes) })
}

/** As the store keeps it; small ones too are stored in several parts. */
async function* inParts(bytes: Buffer): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const size = Math.min(256 * 1024, Math.ceil(bytes.length / 3))
  for (let at = 0; at < bytes.length; at += size) yield new Uint8Array(bytes.subarray(at, at + size))
}

async function chunksOf(bytes: Buffer, given: Given = {}): Promise<{ chunks: Chunk[]; title: string | null }> {
  const { title, chunks: count, bytes: size } = await read(bytes, given)
  assert.equal(size, bytes.length)
  const chunks: Chunk[] = []
  for (let from = 0; from < count; from += 50) chunks.push(...(await (given.by ?? extractor).take(from, 50, new AbortController().signal)))
  assert.equal(chunks.length, count)
  return { chunks, title }
}

const named = (name: string): Promise<{ chunks: Chunk[]; title: string | null }> => chunksOf(file(name), { fileName: name })
const textOf = (chunks: Chunk[]): string => chunks.map(({ text }) => text).join('\n\n')
const wayTo = (chunks: Chunk[], words: string): string => {
  const found = chunks.find(({ text }) => text.replaceAll('\n', ' ').includes(words))
  assert.ok(found, `"${words}" is in no chunk`)
  return found.headings
}

async function reason(bytes: Buffer, given: Given = {}): Promise<string> {
  const error: unknown = await read(bytes, given).then(
    (answer) => assert.fail(`it was read: ${JSON.stringify(answer)}`),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof DocumentRefused, String(error))
  assert.match(error.message, /^(?:This|Reading this) .*\.$|^According to its (?:name|content type), this file is .*\.$/s)
  return error.message
}

void test('documents: Markdown is read unchanged, each passage with its headings', async () => {
  const { chunks } = await named('handbook.md')
  assert.equal(wayTo(chunks, 'A film is lent for seven days'), 'Borrowing › Deadlines')
  assert.equal(wayTo(chunks, 'Pay the deposit of €15'), 'Rooms › Booking')
  assert.equal(wayTo(chunks, '三体'), 'The catalogue')
})

void test('documents: a DOCX file becomes headings, lists and rows of a table', async () => {
  const { chunks } = await named('handbook.docx')
  assert.equal(wayTo(chunks, 'A film is lent for seven days'), 'Borrowing › Deadlines')
  assert.equal(wayTo(chunks, '| Net loft | 12 | 9:00 to 18:00 |'), 'Rooms')
  assert.match(textOf(chunks), /1\. +Ask at the desk, or write to the warden\.\n2\. +Say/)
  assert.match(textOf(chunks), /- +concerts with brass instruments,\n- +cooking,/)
  assert.match(textOf(chunks), /Größe und Grenzen, L’Étranger and 三体/)
})

void test('documents: a PDF becomes paragraphs, each with its page; ligatures and kerned words are words', async () => {
  const { chunks } = await named('handbook.pdf')
  assert.ok(chunks.every(({ headings }) => headings === 'Page 1'))
  const text = textOf(chunks)
  assert.match(text, /A film is lent for seven days, a musical score for fifty-six\ndays\. Nobody/)
  assert.match(text, /\n\nDeadlines\nA book is lent/)
  assert.match(text, /Größe und Grenzen, L’Étranger/)
  assert.match(text, /Net loft 12 9:00 to 18:00/)
})

void test('documents: 300 pages of PDF are read page by page, with progress, and each passage names its page', async () => {
  const shares: number[] = []
  const { chunks } = await chunksOf(file('log-book.pdf'), { fileName: 'log-book.pdf', onProgress: (share) => shares.push(share) })
  assert.equal(chunks.length, 300)
  assert.equal(wayTo(chunks, 'KX-18423'), 'Page 217')
  assert.match(chunks[216]!.text, /^Day 217\n\nThe Petrel came in with the tide and unloaded 651 crates of/)
  assert.ok(shares.length > 0 && shares.every((share, n) => share > (shares[n - 1] ?? 0) && share <= 1), `progress: ${shares}`)
})

void test('documents: a PDF that needs a password only for editing is read like any other', async () => {
  const { chunks } = await named('owner-password.pdf')
  assert.match(textOf(chunks), /never more than €8\.00 for one book/)
})

void test('documents: a title of a mebibyte is cut to 500 characters, because it becomes part of every passage and citation', async () => {
  const bytes = Buffer.from(`<html><head><title>${'Title '.repeat(175_000)}</title></head><body><p>Some words.</p></body></html>`)
  const { title } = await chunksOf(bytes, { fileName: 'page.html' })
  assert.equal(title, 'Title '.repeat(100).slice(0, 500))
})

void test('documents: from an HTML page the article and the title are read, without menus, scripts and styles', async () => {
  const { chunks, title } = await named('page.html')
  const text = textOf(chunks)
  assert.equal(title, 'Ferries & fares – Harbour Line')
  assert.match(wayTo(chunks, 'A single crossing costs €9.50, a return on the same day €14.'), /^Fares$/)
  assert.equal(chunks[0]!.headings, '')
  assert.match(chunks[0]!.text, /^# Ferries & fares – Harbour Line\n/)
  assert.match(text, /provided that they keep off the benches & the engine room/)
  assert.match(text, /\| Single \| €9\.50 \| €4\.75 \|\n\| Week \\\| month \|/)
  for (const around of ['menu', 'footer', 'tracker', 'color: red', 'written by a script', '<', '&amp;'])
    assert.ok(!text.includes(around), `${around} is in it`)
})

void test('documents: a page in windows-1252 is read with its declared encoding, without one, and with that of the response', async () => {
  const old = file('old-page.windows-1252')
  const withoutWord = Buffer.from(old.toString('latin1').replace('<meta charset="windows-1252" />', ''), 'latin1')
  assert.ok(withoutWord.length < old.length)
  for (const [bytes, mediaType] of [
    [old, 'text/html'],
    [withoutWord, 'text/html'],
    [withoutWord, 'text/html; charset="ISO-8859-1"'],
  ] as const) {
    const { chunks, title } = await chunksOf(bytes, { mediaType })
    assert.equal(title, 'Ferries & fares – Harbour Line')
    assert.match(textOf(chunks), /the islands of Großoog and Île/)
  }
  const cyrillic = Buffer.from(
    '<html><head><meta charset="windows-1251"></head><body><p>\xcf\xf0\xe8\xe2\xe5\xf2</p></body></html>',
    'latin1',
  )
  assert.equal(textOf((await chunksOf(cyrillic, { fileName: 'a.html' })).chunks), 'Привет')
})

void test('documents: a page without an article is read whole, except for elements marked as navigation and the like', async () => {
  const questions = Array.from({ length: 30 }, (_, n) => `<dt>Question ${n}?</dt><dd>Answer ${n}.</dd>`).join('')
  const page = `<html><head><title>Questions</title></head><body><nav>menu of all</nav><script>tracker()</script><style>p { color: red }</style><h2>Short ones</h2><dl>${questions}</dl><footer>imprint</footer></body></html>`
  const { chunks, title } = await chunksOf(Buffer.from(page), { fileName: 'questions.html' })
  const text = textOf(chunks)
  assert.equal(title, 'Questions')
  for (let n = 0; n < 30; n++) assert.ok(text.includes(`Question ${n}?`) && text.includes(`Answer ${n}.`), text)
  assert.ok(!/menu|imprint|tracker|color/.test(text), text)
})

void test('documents: a page with omitted tags, as HTML allows, is read as browsers read it', async () => {
  const head = '<title>Hours</title>'
  const pages = [
    '<p>Open till six.',
    `<body>X</body>`,
    `<!doctype html>${head}<p>X`,
    `<html>${head}<p>X</html>`,
    `<head>${head}</head><body><p>X`,
    'X',
  ]
  for (const page of [...pages, `<html><head>${head}<body><p>X</html>`, `<html lang=en><head>${head}</head><p>X</p></html>`]) {
    const { chunks, title } = await chunksOf(Buffer.from(page.replace('X', 'Open till six.')), { fileName: 'a.html' })
    assert.equal(title, page.includes(head) ? 'Hours' : null, page)
    assert.equal(textOf(chunks), page.includes(head) ? '# Hours\n\nOpen till six.' : 'Open till six.', page)
  }
})

void test('documents: if the text around an article is most of a page, it is not left out', async () => {
  const story = `<article><p>${'The library lends to anyone who lives here, for as long as the tide allows. '.repeat(12)}</p></article>`
  const entries = Array.from({ length: 120 }, (_, n) => `<div class="entry"><h3>Question ${n}?</h3><span>Answer ${n}.</span></div>`)
  const page = (count: number): Buffer =>
    Buffer.from(`<body><main>${story}</main><div class="sidebar">${entries.slice(0, count).join('')}</div></body>`)
  const whole = textOf((await chunksOf(page(120), { fileName: 'a.html' })).chunks)
  assert.ok(whole.includes('for as long as the tide allows') && whole.includes('Answer 119.'), whole)
  const article = textOf((await chunksOf(page(5), { fileName: 'a.html' })).chunks)
  assert.ok(article.includes('for as long as the tide allows') && !article.includes('Answer 4.'), article)
})

void test('documents: UTF-16 with its mark, UTF-8 with its mark, and an encoding named by the content type', async () => {
  const { chunks } = await named('utf-16.txt')
  assert.equal(wayTo(chunks, '三体'), 'The catalogue')
  const marked = await chunksOf(Buffer.from('\ufeff# Größe\n\nzwölf'), { fileName: 'a.md' })
  assert.deepEqual(marked.chunks, [{ headings: 'Größe', text: '# Größe\n\nzwölf' }])
  const latin = await chunksOf(Buffer.from('Größe', 'latin1'), { mediaType: 'text/plain; charset=iso-8859-1' })
  assert.equal(textOf(latin.chunks), 'Größe')
})

void test('text.well-formed: a zero byte in a text is removed, and no passage contains one', async () => {
  const { chunks } = await chunksOf(Buffer.from('The harbour\0 is open from nine to five, and closed on Sundays.'), { fileName: 'a.txt' })
  assert.equal(textOf(chunks), 'The harbour is open from nine to five, and closed on Sundays.')
})

void test('documents: 9 MiB of text are read, in lines and in one line', async () => {
  const sentence = 'Some words of a long line about harbours, and a stop. '
  for (const text of [`${sentence.repeat(8)}\n\n`, sentence]) {
    const bytes = Buffer.alloc(9 * 1024 * 1024, text)
    const { chunks } = await read(bytes, { fileName: 'long.txt' })
    assert.ok(chunks > 7_000 && chunks < 12_000, `${chunks} chunks`)
  }
})

void test('documents: content sent as text stays text, whatever it looks like', async () => {
  const { chunks } = await chunksOf(Buffer.from('%PDF-1.7 is how a PDF file begins.'), { isText: true })
  assert.equal(textOf(chunks), '%PDF-1.7 is how a PDF file begins.')
})

const elf = Buffer.from('\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0', 'latin1')
const png = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1')
const oldOffice = Buffer.from('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', 'latin1')

const refusals: { what: string; bytes: () => Buffer; given: Given; reason: RegExp }[] = [
  { what: 'an empty file', bytes: () => Buffer.alloc(0), given: { fileName: 'a.md' }, reason: /^This document is empty\.$/ },
  { what: 'white space', bytes: () => Buffer.from(' \n\n \t'), given: { fileName: 'a.md' }, reason: /^This document contains no text\.$/ },
  {
    what: 'an HTML page of scripts',
    bytes: () => Buffer.from('<body><script>x()</script></body>'),
    given: { fileName: 'a.html' },
    reason: /^This page is empty without JavaScript/,
  },
  {
    what: 'a scanned PDF',
    bytes: () => file('scanned.pdf'),
    given: { fileName: 'scanned.pdf' },
    reason: /^This PDF contains no text: its pages are images/,
  },
  {
    what: 'a PDF with a password',
    bytes: () => file('encrypted.pdf'),
    given: { fileName: 'a.pdf' },
    reason: /^This PDF is protected by a password/,
  },
  { what: 'a damaged PDF', bytes: () => file('damaged.pdf'), given: { fileName: 'a.pdf' }, reason: /^This PDF is damaged/ },
  {
    what: 'a PDF of 2,001 pages',
    bytes: () => file('many-pages.pdf'),
    given: { fileName: 'a.pdf' },
    reason: /^This PDF has 2001 pages\. The limit is 2000\./,
  },
  {
    what: 'a PNG called a PDF',
    bytes: () => png,
    given: { fileName: 'a.pdf' },
    reason: /^According to its name, this file is a PDF, but it is a PNG image\./,
  },
  {
    what: 'a program called a DOCX file',
    bytes: () => elf,
    given: { fileName: 'a.docx' },
    reason: /^According to its name, this file is a DOCX file, but it is a program\./,
  },
  {
    what: 'a program without a name',
    bytes: () => elf,
    given: {},
    reason: /^This is a program\. Documents are Markdown, text, HTML, PDF or DOCX\.$/,
  },
  {
    what: 'a text called a PDF',
    bytes: () => Buffer.from('hello'),
    given: { fileName: 'a.PDF' },
    reason: /^According to its name, this file is a PDF, but its content is something else/,
  },
  {
    what: 'a PDF called a text',
    bytes: () => file('handbook.pdf'),
    given: { fileName: 'a.txt' },
    reason: /^According to its name, this file is a text file, but it is a PDF\./,
  },
  {
    what: 'a PDF answered as HTML',
    bytes: () => file('handbook.pdf'),
    given: { mediaType: 'text/html; charset=utf-8' },
    reason: /^According to its content type, this file is an HTML page, but it is a PDF\./,
  },
  {
    what: 'a text in another encoding',
    bytes: () => Buffer.from('\xcf\xf0\xe8\xe2\xe5\xf2 \xec\xe8\xf0', 'latin1'),
    given: { fileName: 'a.txt' },
    reason: /^This file is not valid UTF-8/,
  },
  {
    what: 'UTF-16 with half a character',
    bytes: () => Buffer.from([0xff, 0xfe, 0x00, 0xd8, 0x41, 0x00]),
    given: { fileName: 'a.txt' },
    reason: /^This file declares the encoding utf-16le but is not/,
  },
  {
    what: 'a text in an unknown encoding',
    bytes: () => Buffer.from('hello'),
    given: { mediaType: 'text/plain; charset=klingon' },
    reason: /unsupported encoding "klingon"/,
  },
  {
    what: 'a text full of control characters',
    bytes: () => Buffer.from('\x01\x02\x03 abc'),
    given: { fileName: 'a.txt' },
    reason: /too many control characters/,
  },
  {
    what: 'more than 10 MiB of text',
    bytes: () => Buffer.alloc(10 * 1024 * 1024 + 1, 'Some words. '),
    given: { fileName: 'a.txt' },
    reason: /more than 10 MiB of text/,
  },
  {
    what: 'more than 20,000 passages',
    bytes: () => Buffer.from('# A\nb\n'.repeat(20_001)),
    given: { fileName: 'a.md' },
    reason: /more than 20000 passages/,
  },
  {
    what: 'a workbook called a DOCX file',
    bytes: () =>
      zipFile([
        { name: '[Content_Types].xml', data: Buffer.from('<x/>') },
        { name: 'xl/workbook.xml', data: Buffer.from('<x/>') },
      ]),
    given: { fileName: 'a.docx' },
    reason: /^This is an Excel workbook/,
  },
  {
    what: 'a ZIP archive',
    bytes: () => zipFile([{ name: 'readme.txt', data: Buffer.from('hello') }]),
    given: {},
    reason: /^This is a ZIP archive/,
  },
  {
    what: 'a truncated DOCX file',
    bytes: () => file('handbook.docx').subarray(0, 9_000),
    given: { fileName: 'a.docx' },
    reason: /^This DOCX file is damaged/,
  },
  {
    what: 'a DOCX file without a text',
    bytes: () => zipFile(docxEntries('<w:docum')),
    given: { fileName: 'a.docx' },
    reason: /^This DOCX file is damaged/,
  },
  {
    what: 'an encrypted DOCX file',
    bytes: () => Buffer.concat([oldOffice, Buffer.alloc(600), Buffer.from('EncryptedPackage', 'utf16le')]),
    given: { fileName: 'a.docx' },
    reason: /encrypted with a password/,
  },
  {
    what: 'an encrypted entry',
    bytes: () => zipFile(docxEntries('<x/>').map((entry) => ({ ...entry, encrypted: true }))),
    given: { fileName: 'a.docx' },
    reason: /protected by a password/,
  },
  {
    what: 'a Word 97 file',
    bytes: () => Buffer.concat([oldOffice, Buffer.alloc(600)]),
    given: { fileName: 'a.docx' },
    reason: /before 2007; save it as DOCX/,
  },
  { what: 'a zip bomb', bytes: bomb, given: { fileName: 'a.docx' }, reason: /^This DOCX file decompresses to more than 64 MiB/ },
  {
    what: 'a zip bomb that declares a small size',
    bytes: () => bomb(1_000),
    given: { fileName: 'a.docx' },
    reason: /^This DOCX file is damaged/,
  },
]

/** At most 20 MiB as it is sent, 80 MiB decompressed. */
function bomb(saidSize?: number): Buffer {
  const entries = docxEntries(Buffer.alloc(80 * 1024 * 1024, ' '))
  return zipFile(entries.map((entry) => (entry.name === 'word/document.xml' && saidSize !== undefined ? { ...entry, saidSize } : entry)))
}

for (const { what, bytes, given, reason: expected } of refusals) {
  void test(`documents: ${what} is refused with the reason`, async () => {
    assert.match(await reason(bytes(), given), expected)
  })
}

void test('documents: pictures and entities of a DOCX file are neither decompressed nor expanded', async () => {
  const text = '<w:p><w:r><w:t>The harbour is open.</w:t></w:r></w:p>'
  const picture = { name: 'word/media/image1.png', data: Buffer.alloc(80 * 1024 * 1024) }
  const sound = await chunksOf(zipFile([...docxEntries(wordDocument(text)), picture]), { fileName: 'a.docx' })
  assert.equal(textOf(sound.chunks), 'The harbour is open.')
  const laughs = Array.from({ length: 9 }, (_, n) => `<!ENTITY l${n + 1} "${`&l${n};`.repeat(10)}">`).join('')
  const document = `<!DOCTYPE x [<!ENTITY l0 "lol">${laughs}]>${wordDocument(text.replace('open', '&l9;'))}`
  const outcome = await chunksOf(zipFile(docxEntries(document)), { fileName: 'a.docx' }).then(
    ({ chunks }) => textOf(chunks),
    (error: unknown) => String(error),
  )
  assert.ok(outcome.length < 1_000, outcome.slice(0, 1_000))
})

void test('documents: a PDF whose pages exceed their memory limit is aborted, and the next document is read', async () => {
  const swollen = await swellingPdf(200)
  assert.ok(swollen.length < 1024 * 1024)
  const strict = createExtractor({ log, maxOutsideBytes: 64 * 1024 * 1024 })
  try {
    assert.match(await reason(swollen, { fileName: 'a.pdf', by: strict }), /^Reading this document needs too much memory/)
    assert.equal((await read(file('handbook.pdf'), { fileName: 'a.pdf', by: strict })).chunks, 2)
  } finally {
    await strict.close()
  }
})

void test('documents: a page that fills the heap ends its reader, not the server, and the next document is read', async () => {
  const small = createExtractor({ log, maxHeapMegabytes: 64 })
  try {
    const page = Buffer.alloc(8 * 1024 * 1024, '<p>x')
    assert.match(await reason(page, { fileName: 'a.html', by: small }), /^Reading this document needs too much memory/)
    assert.equal((await read(file('handbook.md'), { fileName: 'a.md', by: small })).chunks, 7)
  } finally {
    await small.close()
  }
})

void test('documents: a document that takes too long is aborted with the reason, and the next document is read', async () => {
  const hasty = createExtractor({ log, maxReadMs: 100, patience: 10_000 })
  try {
    const slow = Buffer.from(`<body>${'<div><a href="/">hello</a></div>'.repeat(50_000)}`)
    assert.match(await reason(slow, { fileName: 'a.html', by: hasty }), /^Reading this document took more than 0\.1 seconds of CPU time/)
  } finally {
    await hasty.close()
  }
  // One that does not compute but waits is ended by the clock.
  const impatient = createExtractor({ log, patience: 0.0005 })
  try {
    assert.match(await reason(file('log-book.pdf'), { by: impatient }), /^Reading this document took more than 60 seconds of CPU time/)
  } finally {
    await impatient.close()
  }
  const patient = createExtractor({ log })
  try {
    const aborted = new AbortController()
    const reading = read(file('log-book.pdf'), {
      by: patient,
      signal: aborted.signal,
      onProgress: () => aborted.abort(new Error('enough')),
    })
    await assert.rejects(reading, /^Error: enough$/)
    assert.equal((await read(file('handbook.pdf'), { by: patient })).chunks, 2)
  } finally {
    await patient.close()
  }
})

void test('documents: a process that is ended while it starts is gone, with what it has started', async () => {
  const confined = await confinement()
  const endSoon = async (): Promise<string> => {
    const process = startReadingProcess({ heapMegabytes: maxHeapMegabytes, outsideBytes: maxOutsideBytes }, confined)
    const until = performance.now() + Math.random() * 12
    while (performance.now() < until) await nextTick()
    return Promise.race([process.end(new Error('enough')).then(() => 'gone'), delay(30_000, 'still there', { ref: false })])
  }
  for (let round = 0; round < 40; round++)
    for (const state of await Promise.all(Array.from({ length: 6 }, endSoon))) assert.equal(state, 'gone')
})

void test('documents: an aborted document leaves nothing behind for the next one', async () => {
  async function* broken(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    yield new Uint8Array(Buffer.from('half of a text'))
    throw new Error('the store is away')
  }
  const given = { fileName: 'a.txt', mediaType: null, isText: false, onProgress: () => undefined, signal: new AbortController().signal }
  await assert.rejects(extractor.read({ ...given, parts: broken() }), /the store is away/)
  assert.equal(textOf((await chunksOf(Buffer.from('a whole text'), { fileName: 'a.txt' })).chunks), 'a whole text')
})

void test('documents: the reading process exits when it is idle, and is started again for the next document', async () => {
  const brief = createExtractor({ log, idleMs: 20 })
  assert.equal((await read(file('handbook.md'), { by: brief })).chunks, 7)
  brief.release()
  await new Promise((resolve) => setTimeout(resolve, 200))
  await assert.rejects(brief.take(0, 1, new AbortController().signal), /nothing was read/)
  assert.equal((await read(file('handbook.md'), { by: brief })).chunks, 7)
  await brief.close()
})

void test('documents: the server serves others while a document is read; what each document costs', async (t) => {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  const fresh = createExtractor({ log })
  let served = 0
  // At every turn of the event loop and not by a timer, so that a busy machine does not look like a blocked loop.
  let others: NodeJS.Immediate
  const serve = (): void => {
    served++
    others = setImmediate(serve)
  }
  serve()
  try {
    for (const name of ['handbook.docx', 'page.html', 'handbook.pdf', 'log-book.pdf', 'log-book.pdf']) {
      const [before, startedAt] = [served, performance.now()]
      delay.reset()
      delay.enable()
      await read(file(name), { fileName: name, by: fresh })
      delay.disable()
      t.diagnostic(
        `${name}: ${Math.round(performance.now() - startedAt)} ms, ${process.memoryUsage.rss() >> 20} MB, loop p99 ${(delay.percentile(99) / 1e6).toFixed(1)} ms`,
      )
      if (name === 'log-book.pdf') assert.ok(served - before > 100, `${served - before} other things were done meanwhile`)
    }
  } finally {
    clearImmediate(others!)
    await fresh.close()
  }
})

void test('documents: the messages of a library are logged and never part of a reason', async () => {
  logged.length = 0
  assert.doesNotMatch(await reason(file('damaged.pdf'), { fileName: 'a.pdf' }), /Invalid|Exception/)
  assert.match(JSON.stringify(logged), /InvalidPDFException/)
})

/** One page whose content is this many MiB of spaces. */
async function swellingPdf(mebibytes: number): Promise<Buffer> {
  const deflate = createDeflate({ level: 9 })
  const pieces: Buffer[] = []
  deflate.on('data', (piece: Buffer) => pieces.push(piece))
  const block = Buffer.alloc(1024 * 1024, ' ')
  for (let n = 0; n < mebibytes; n++) if (!deflate.write(block)) await new Promise((resolve) => deflate.once('drain', resolve))
  const ended = new Promise((resolve) => deflate.once('end', resolve))
  deflate.end('BT /F 12 Tf (hello) Tj ET')
  await ended
  const content = Buffer.concat(pieces)
  const head = `%PDF-1.4
1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj
2 0 obj <</Type/Pages/Kids[3 0 R]/Count 1>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>> endobj
4 0 obj <</Length ${content.length}/Filter/FlateDecode>>
stream
`
  // Without a table of positions: readers search for the objects themselves.
  return Buffer.concat([Buffer.from(head), content, Buffer.from('\nendstream endobj\ntrailer <</Root 1 0 R>>\n%%EOF\n')])
}
