/**
 * Documents as people have them: what public reports say that other readers lost, variations of it, and a set of files that programs made.
 * A part that is not read is a warning, never a silence. documents/table.json says what each file must give, documents/make.sh made them.
 */
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { createExtractor } from '../../src/agent/documents/extractor.ts'
import { extractDocument } from '../../src/agent/documents/extract.ts'
import { DocumentRefused } from '../../src/agent/documents/limits.ts'
import { readWarnings, warningKinds, warningMessage } from '../../src/document-warnings.ts'
import { docxEntries, zipFile } from '../support/zip-file.ts'

const inputs = join(import.meta.dirname, 'inputs')
const made = join(import.meta.dirname, 'documents')

type Outcome = { text: string; passages: string[]; title: string | null; warnings: string[]; reason?: string }

async function read(bytes: Uint8Array, fileName: string): Promise<Outcome> {
  try {
    const source = { bytes: new Uint8Array(bytes), fileName, mediaType: null, isText: false }
    const { chunks, title, warnings } = await extractDocument(source, () => undefined)
    const passages = chunks.map(({ text }) => text)
    return { text: passages.join('\n\n'), passages, title, warnings: warnings.map(({ kind, count }) => `${kind} ${count ?? ''}`.trim()) }
  } catch (error) {
    if (!(error instanceof DocumentRefused)) throw error
    return { text: '', passages: [], title: null, warnings: [], reason: error.message }
  }
}

const input = (name: string): Promise<Outcome> => read(readFileSync(join(inputs, name)), name)
const html = (body: string): Promise<Outcome> =>
  read(Buffer.from(`<!doctype html><meta charset=utf-8><title>A page</title><body>${body}`), 'a.html')
const names =
  'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office"'
const run = (text: string): string => `<w:r><w:t xml:space="preserve">${text}</w:t></w:r>`
const paragraph = (text: string, properties = ''): string => `<w:p><w:pPr>${properties}</w:pPr>${run(text)}</w:p>`

function docx(body: string, parts: Record<string, string> = {}): Promise<Outcome> {
  const entries = docxEntries(`<w:document ${names}><w:body>${body}<w:sectPr/></w:body></w:document>`)
  for (const [name, xml] of Object.entries(parts)) entries.push({ name: `word/${name}.xml`, data: Buffer.from(xml) })
  return read(zipFile(entries), 'a.docx')
}

// Cases.

void test('documents: a PDF whose Japanese font names a character map of Adobe is read, also in the confined process', async () => {
  const expected = /年次報告書の概要[\s\S]*返品は購入後三十日以内に限ります。/
  assert.match((await input('jp-90ms.pdf')).text, expected)
  const extractor = createExtractor({ log: { warn: () => undefined } })
  after(() => extractor.close())
  const bytes = readFileSync(join(inputs, 'jp-90ms.pdf'))
  async function* parts(): AsyncGenerator<Uint8Array> {
    yield new Uint8Array(bytes)
  }
  const signal = new AbortController().signal
  const given = { fileName: 'a.pdf', mediaType: null, isText: false, onProgress: () => undefined, signal, parts: parts() }
  const { chunks, warnings } = await extractor.read(given)
  assert.match((await extractor.take(0, chunks, signal)).map(({ text }) => text).join('\n'), expected)
  assert.deepEqual(readWarnings(warnings), [])
  await extractor.close()
})

void test('documents: the values of a PDF form follow their labels', async () => {
  assert.match((await input('form.pdf')).text, /Customer number: +ZK-55120/)
})

void test('documents: numbers, headers and footers of a DOCX file are read', async () => {
  assert.match((await input('numbered.docx')).text, /§ 5 First duty\n§ 6 Second duty/)
  assert.match((await input('header.docx')).text, /Contract number WOMBAT-7781/)
  const footer = `<w:ftr ${names}>${paragraph('Version 7 of May')}</w:ftr>`
  const number = `<w:ftr ${names}>${paragraph('Page 2 of 9')}</w:ftr>`
  const { text } = await docx(paragraph('Body'), { footer1: footer, footer2: footer, footer3: number })
  assert.deepEqual([text.match(/Version 7 of May/g)?.length, /Page 2/.test(text)], [1, false])
})

void test('documents: every panel of a page is read, however the page hides it; what is hidden in a line is not', async () => {
  const { text } = await input('tabs.html')
  for (const word of ['Basic', 'Premium', 'Enterprise', 'Education']) assert.match(text, new RegExp(`${word} costs`))
  const other = await html(`<main><h1>Rates</h1><details><summary>Groups</summary><p>Groups of ten pay eighty euros.</p></details>
    <x-tabs><template shadowrootmode="open"><p>Members pay nine euros for a visit.</p></template></x-tabs>
    <p style="color: red; display:none !important">Guides enter without a ticket.</p><p>Open <span aria-hidden="true">→</span><i hidden>glyph</i> daily.</p></main>`)
  for (const words of ['Groups of ten pay', 'Members pay nine', 'Guides enter without']) assert.match(other.text, new RegExp(words))
  assert.doesNotMatch(other.text, /→|glyph/)
})

void test('documents: a page that is empty without JavaScript fails with what to do; one with a little text has a warning', async () => {
  const advice = /^This page is empty without JavaScript.*save it as HTML or PDF/
  assert.match((await input('jsonld.html')).reason ?? '', advice)
  for (const body of [
    '<div id="app">Loading…</div><script src="a.js"></script>',
    '<app-root></app-root><script>1</script>',
    '<noscript>Enable JavaScript to run this app.</noscript><div id="root"></div><script src="a.js"></script>',
  ])
    assert.match((await html(body)).reason ?? body, advice)
  assert.deepEqual((await html('<p>Port office</p><div id="root"></div><script src="a.js"></script>')).warnings, ['scripts'])
  assert.deepEqual((await html('<p>Port office</p><script src="a.js"></script>')).warnings, [])
  assert.match((await html('<p> </p>')).reason ?? '', /contains no text/)
})

void test('documents: soft hyphens and other invisible characters within words are removed', async () => {
  assert.match((await input('softhyphen.html')).text, /Kostenerstattung dauert.*Supercalifragil.*Zerowidth words/s)
  assert.equal((await read(Buffer.from('Reise\u00adkosten und Ha\u2060fen'), 'a.md')).text, 'Reisekosten und Hafen')
  // In Thai, a zero-width space is all that separates two words.
  assert.equal((await read(Buffer.from('ท่า\u200bเรือ'), 'a.md')).text, 'ท่า\u200bเรือ')
})

void test('documents: text boxes, fields, notes and choices of a DOCX file are read', async () => {
  const box = (words: string): string => `<w:txbxContent>${paragraph(words)}</w:txbxContent>`
  const { text, warnings } = await docx(
    `<w:p>${run('Before')}<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wp:inline><wps:txbx>${box('In a box')}</wps:txbx></wp:inline></w:drawing></mc:Choice>
      <mc:Fallback><w:pict><v:shape><v:textbox>${box('In a box')}</v:textbox></v:shape></w:pict></mc:Fallback></mc:AlternateContent></w:r></w:p>
    <w:p><w:r><w:pict><v:shape><v:textbox>${box('In an old box')}</v:textbox></v:shape></w:pict></w:r></w:p>
    <w:p>${run('Table ')}<w:fldSimple w:instr=" SEQ Table ">${run('3')}</w:fldSimple>${run(': Tides')}</w:p>
    <w:p>${run('Season: ')}<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:ddList><w:result w:val="1"/><w:listEntry w:val="summer"/><w:listEntry w:val="winter"/></w:ddList></w:ffData></w:fldChar></w:r></w:p>
    <w:p><w:r><w:ruby><w:rt>${run('みなと')}</w:rt><w:rubyBase>${run('港')}</w:rubyBase></w:ruby></w:r></w:p>`,
  )
  assert.equal(text.match(/In a box/g)?.length, 1)
  for (const words of ['In an old box', 'Table 3: Tides', 'Season: winter', '港']) assert.ok(text.includes(words), `${words} in ${text}`)
  assert.deepEqual(warnings, [])
})

void test('documents: what a DOCX file has besides text is a warning with its number', async () => {
  const drawing = (inside: string, alternative = ''): string =>
    `<w:p><w:r><w:drawing><wp:inline><wp:docPr id="1" name="x" descr="${alternative}"/>${inside}</wp:inline></w:drawing></w:r></w:p>`
  const picture = '<pic:pic xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"/>'
  const { text, warnings } = await docx(
    `${paragraph('Words')}${drawing(picture)}${drawing(picture, 'A lighthouse at night')}${drawing('<c:chart/>')}
    <w:p><w:r><w:object><o:OLEObject ProgID="Equation.3"/></w:object></w:r><w:r><w:object><o:OLEObject ProgID="Excel.Sheet.12"/></w:object></w:r>
    <w:r><w:commentReference w:id="0"/></w:r><m:oMath><m:r><m:t>a=b</m:t></m:r></m:oMath></w:p>`,
  )
  assert.match(text, /A lighthouse at night[\s\S]*a=b/)
  assert.deepEqual(warnings.toSorted(), ['charts 1', 'comments 1', 'embedded_files 1', 'equations 1', 'old_equations 1', 'pictures 1'])
  for (const kind of warningKinds)
    assert.match(warningMessage({ kind, count: kind === 'scripts' || kind === 'encoding' ? null : 2 }), /^[A-Z2].*\.$/)
})

void test('documents: an equation of Word is a line of text', async () => {
  const t = (text: string): string => `<m:r><m:t>${text}</m:t></m:r>`
  const part = (name: string, inside: string): string => `<m:${name}>${inside}</m:${name}>`
  const cases: [string, string][] = [
    [part('f', part('num', t('a')) + part('den', t('b'))), '(a)/(b)'],
    [part('sSup', part('e', t('x')) + part('sup', t('2'))), 'x^(2)'],
    [part('rad', part('deg', '') + part('e', t('y'))), 'sqrt(y)'],
    [
      part('nary', `<m:naryPr><m:chr m:val="∑"/></m:naryPr>${part('sub', t('i=1'))}${part('sup', t('n'))}${part('e', t('i'))}`),
      '∑_(i=1)^(n) i',
    ],
    [part('d', part('e', t('p'))), '(p)'],
    [part('m', part('mr', part('e', t('1')) + part('e', t('2'))) + part('mr', part('e', t('3')) + part('e', t('4')))), '[1, 2; 3, 4]'],
    [part('func', part('fName', t('sin')) + part('e', t('z'))), 'sin(z)'],
  ]
  for (const [xml, expected] of cases) {
    const { text } = await docx(`<w:p>${run('Value:')}<m:oMathPara><m:oMath>${xml}</m:oMath></m:oMathPara></w:p>`)
    assert.equal(text.replace(/\s+/g, ' '), `Value: ${expected}`)
  }
})

// Variations.

const tables = 40
const lists = 150
const encodings = 150

const cell = fc.stringMatching(/^[A-Za-z0-9]{1,12}( [a-z]{1,8})?$/)
const table = fc.tuple(fc.integer({ min: 2, max: 6 }), fc.integer({ min: 1, max: 70 })).chain(([columns, rows]) =>
  fc.record({
    header: fc.array(cell, { minLength: columns, maxLength: columns }),
    rows: fc.array(fc.array(cell, { minLength: columns, maxLength: columns }), { minLength: rows, maxLength: rows }),
    before: fc.constantFrom('', 'Some words above the table.'),
    markup: fc.integer({ min: 0, max: 3 }),
  }),
)
type Table = { header: string[]; rows: string[][]; before: string; markup: number }

const writers: Record<string, (table: Table) => Promise<Outcome>> = {
  Markdown: ({ header, rows, before, markup }) => {
    const line = (cells: string[]): string => (markup % 2 === 0 ? `| ${cells.join(' | ')} |` : cells.join(' | '))
    const rule = line(header.map((_, index) => ['---', ':--', '--:', ':-:'][(index + markup) % 4]!))
    // A table may follow its paragraph without a blank line.
    const start = before === '' ? '' : `${before}${markup > 1 ? '\n\n' : '\n'}`
    return read(Buffer.from(`${start}${[line(header), rule, ...rows.map(line)].join('\n')}\n`), 'a.md')
  },
  HTML: ({ header, rows, before, markup }) => {
    const row = (cells: string[], name: string): string => `<tr>${cells.map((text) => `<${name}>${text}</${name}>`).join('')}</tr>`
    const head = row(header, markup === 3 ? 'td' : 'th')
    const body = rows.map((cells) => row(cells, 'td')).join('')
    const whole = markup === 0 ? `<thead>${head}</thead><tbody>${body}</tbody>` : head + body
    return html(`<main><p>${before}</p><table>${whole}</table></main>`)
  },
  DOCX: ({ header, rows, before, markup }) => {
    const row = (cells: string[], properties = ''): string =>
      `<w:tr>${properties}${cells.map((text) => `<w:tc>${paragraph(text)}</w:tc>`).join('')}</w:tr>`
    const mark = markup % 2 === 0 ? '<w:trPr><w:tblHeader/></w:trPr>' : ''
    return docx(`${before === '' ? '' : paragraph(before)}<w:tbl>${row(header, mark)}${rows.map((cells) => row(cells)).join('')}</w:tbl>`)
  },
}

const cellsOf = (line: string): string[] =>
  line
    .replace(/^\||\|$/g, '')
    .split('|')
    .map((text) => text.trim())

for (const [format, write] of Object.entries(writers))
  void test(`documents: every passage of a table in ${format} starts its rows with the header, and no row is lost`, async () => {
    await fc.assert(
      fc.asyncProperty(table, async (given) => {
        const { passages } = await write(given)
        const found: string[][] = []
        for (const passage of passages) {
          const lines = passage.split('\n').filter((line) => line.includes('|'))
          if (lines.length === 0) continue
          assert.deepEqual(cellsOf(lines[0]!), given.header)
          assert.match(lines[1]!, /^[|:\- ]+$/)
          found.push(...lines.slice(2).map(cellsOf))
          assert.ok(Buffer.byteLength(passage) <= 1_200)
        }
        assert.deepEqual(found, given.rows)
      }),
      { numRuns: tables },
    )
  })

void test('documents: the price list of 200 articles has its header in every passage', async () => {
  const { passages } = await input('bigtable.md')
  assert.ok(passages.length > 3)
  for (const passage of passages) assert.match(passage, /Article \| Material \| Price in EUR \| Delivery weeks/)
})

void test('documents: a header of several rows, spanning cells, and a header longer than a passage', async () => {
  const { text } = await html(`<main><table><tr><th rowspan=2>Berth<th colspan=2>2026</tr><tr><th>Summer<th>Winter</tr>
    <tr><td rowspan=2>Quay A<td>31<td>12</tr><tr><td>33<td>14</tr></table></main>`)
  assert.match(
    text,
    /\| Berth \| 2026 Summer \| 2026 Winter \|\n\| --- \| --- \| --- \|\n\| Quay A \| 31 \| 12 \|\n\| Quay A \| 33 \| 14 \|/,
  )
  const wide = Array.from({ length: 12 }, (_, column) => `Column ${column} ${'with a long name '.repeat(9)}`)
  const rows = Array.from({ length: 60 }, (_, row) => `| ${wide.map((__, column) => row * column).join(' | ')} |`)
  const { passages } = await read(Buffer.from([`| ${wide.join(' | ')} |`, `|${'---|'.repeat(12)}`, ...rows].join('\n')), 'a.md')
  for (const passage of passages.filter((one) => /^\| 0 /m.test(one))) assert.match(passage, /^\| Column 0 .*\| Column 1 /)
  const values = await html('<main><table><tr><th>Height<td>3 m</tr><tr><th>Width<td>4 m</tr></table></main>')
  assert.doesNotMatch(values.text, /---/)
})

// Lists: two uses of one list, which continue each other unless the second restarts, and a list of its own.

type Used = { use: 1 | 2 | 3; level: number }
const list = fc.record({
  starts: fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 3, maxLength: 3 }),
  formats: fc.array(fc.constantFrom('decimal', 'lowerLetter', 'upperRoman', 'decimalZero'), { minLength: 3, maxLength: 3 }),
  restartAt: fc.option(fc.integer({ min: 1, max: 90 }), { nil: undefined }),
  items: fc.array(fc.record({ use: fc.constantFrom<1 | 2 | 3>(1, 2, 3), level: fc.integer({ min: 0, max: 2 }) }), {
    minLength: 1,
    maxLength: 25,
  }),
})

/** As Word counts: an item ends the deeper levels; a level that was skipped has its first number. */
function countLabels({ starts, restartAt, items }: { starts: number[]; restartAt: number | undefined; items: Used[] }): number[][] {
  const counters: Record<string, (number | undefined)[]> = { shared: [], own: [] }
  let hasRestarted = false
  return items.map(({ use, level }) => {
    const counts = counters[use === 3 ? 'own' : 'shared']!
    const isRestart = use === 2 && level === 0 && restartAt !== undefined && !hasRestarted
    if (isRestart) hasRestarted = true
    const first = (at: number): number => (use === 2 && at === 0 && restartAt !== undefined ? restartAt : starts[at]!)
    counts[level] = isRestart ? restartAt : counts[level] === undefined ? first(level) : counts[level] + 1
    for (let above = 0; above < level; above++) counts[above] ??= first(above)
    counts.length = level + 1
    return counts.map((count) => count!)
  })
}

const shown: Record<string, (value: number) => string> = {
  decimal: String,
  decimalZero: (value) => String(value).padStart(2, '0'),
  lowerLetter: (value) => (value < 1 ? String(value) : String.fromCharCode(97 + ((value - 1) % 26)).repeat(Math.ceil(value / 26))),
  upperRoman: (value) => {
    const ones = ['', 'I', 'II', 'III', 'IV', 'V', 'VI', 'VII', 'VIII', 'IX']
    const tens = ['', 'X', 'XX', 'XXX', 'XL', 'L', 'LX', 'LXX', 'LXXX', 'XC', 'C', 'CX']
    return value < 1 ? String(value) : `${tens[Math.floor(value / 10)]}${ones[value % 10]}`
  },
}

void test('documents: the numbers of a DOCX list are those that Word shows, with levels, starts, restarts and several lists', async () => {
  await fc.assert(
    fc.asyncProperty(list, async (given) => {
      const { starts, formats, restartAt, items } = given
      const level = (at: number): string => {
        const text = Array.from({ length: at + 1 }, (_, above) => `%${above + 1}.`).join('')
        return `<w:lvl w:ilvl="${at}"><w:start w:val="${starts[at]}"/><w:numFmt w:val="${formats[at]}"/><w:lvlText w:val="${text}"/></w:lvl>`
      }
      const rules = (id: number): string => `<w:abstractNum w:abstractNumId="${id}">${[0, 1, 2].map(level).join('')}</w:abstractNum>`
      const restart = restartAt === undefined ? '' : `<w:lvlOverride w:ilvl="0"><w:startOverride w:val="${restartAt}"/></w:lvlOverride>`
      const use = (id: number, rule: number, more = ''): string =>
        `<w:num w:numId="${id}"><w:abstractNumId w:val="${rule}"/>${more}</w:num>`
      const numbering = `<w:numbering ${names}>${rules(0)}${rules(1)}${use(1, 0)}${use(2, 0, restart)}${use(3, 1)}</w:numbering>`
      const body = items.map(({ use: id, level: at }, index) =>
        paragraph(`item${index}`, `<w:numPr><w:ilvl w:val="${at}"/><w:numId w:val="${id}"/></w:numPr>`),
      )
      const { text } = await docx(body.join(''), { numbering })
      const expected = countLabels(given).map(
        (counts, index) => `${counts.map((count, at) => `${shown[formats[at]!]!(count)}.`).join('')} item${index}`,
      )
      assert.deepEqual(
        text
          .split('\n')
          .map((line) => line.trim())
          .filter(Boolean),
        expected,
      )
    }),
    { numRuns: lists },
  )
})

void test('documents: numbers of headings and lists come from their styles, and number 0 takes a paragraph out of its list', async () => {
  const styles = `<w:styles ${names}><w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>
    <w:style w:type="paragraph" w:styleId="Clause"><w:name w:val="Clause"/><w:basedOn w:val="Heading1"/></w:style></w:styles>`
  const level = (at: number, style: string): string =>
    `<w:lvl w:ilvl="${at}"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:pStyle w:val="${style}"/><w:lvlText w:val="${at === 0 ? '%1' : '%1.%2'}"/></w:lvl>`
  const numbering = `<w:numbering ${names}><w:abstractNum w:abstractNumId="4">${level(0, 'Heading1')}${level(1, 'Clause')}</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="4"/></w:num></w:numbering>`
  const style = (name: string): string => `<w:pStyle w:val="${name}"/>`
  const body = [
    paragraph('Scope', style('Heading1')),
    paragraph('First', style('Clause')),
    paragraph('Terms', style('Heading1')),
    paragraph('Second', style('Clause')),
    paragraph('Third', style('Clause')),
    paragraph('Free', `${style('Clause')}<w:numPr><w:numId w:val="0"/></w:numPr>`),
  ]
  const { text } = await docx(body.join(''), { styles, numbering })
  assert.deepEqual(
    text.split(/\n+/).map((line) => line.trim()),
    ['# 1 Scope', '1.1 First', '# 2 Terms', '2.1 Second', '2.2 Third', 'Free'],
  )
})

void test('documents: a text in UTF-16 is read with and without its mark, in both orders', async () => {
  const words = fc.array(fc.stringMatching(/^[A-Za-zÄÖÜäöüßéèžščŁłабвгдежзийклмн0-9]{1,12}[.,]?$/), { minLength: 4, maxLength: 60 })
  await fc.assert(
    fc.asyncProperty(words, fc.boolean(), fc.boolean(), async (given, hasMark, isBig) => {
      const text = given.join(' ')
      const bytes = Buffer.from(`${hasMark ? '\ufeff' : ''}${text}`, 'utf16le')
      const { text: found, reason } = await read(isBig ? bytes.swap16() : bytes, 'a.txt')
      assert.equal(reason, undefined)
      assert.equal(found.replace(/\s+/g, ' '), text)
    }),
    { numRuns: encodings },
  )
})

// Real files.

type Row = {
  file: string
  program: string
  kind: string
  finds: string[]
  lacks?: string[]
  warnings: string[]
  fails?: string
  table?: string
}

void test('documents: files that programs made are read, with the warnings of the table', async (t) => {
  const rows = JSON.parse(readFileSync(join(made, 'table.json'), 'utf8')) as Row[]
  const present = readdirSync(made).filter((name) => name !== 'table.json' && name !== 'make.sh')
  assert.deepEqual(present.toSorted(), rows.map(({ file }) => file).toSorted())
  assert.ok(rows.length >= 60)
  const wrong: string[] = []
  for (const { file, finds, lacks = [], warnings, fails, table: header } of rows) {
    const { text, passages, warnings: found, reason = '' } = await read(readFileSync(join(made, file)), file)
    const flat = text.replace(/\s+/g, ' ')
    if (fails === undefined ? reason !== '' : !reason.includes(fails))
      wrong.push(`${file}: it ${reason === '' ? 'was read' : `failed: ${reason}`}`)
    for (const words of finds) if (!flat.includes(words)) wrong.push(`${file}: "${words}" is not in ${flat.slice(0, 300)}`)
    for (const words of lacks) if (flat.includes(words)) wrong.push(`${file}: "${words}" was read`)
    if (warnings.toSorted().join() !== found.toSorted().join()) wrong.push(`${file}: has the warnings ${found.join(', ') || 'none'}`)
    if (header !== undefined && !passages.some((passage) => passage.includes(header))) wrong.push(`${file}: has no table with a header`)
  }
  assert.deepEqual(wrong, [])
  t.diagnostic(`${rows.length} files of ${new Set(rows.map(({ program }) => program)).size} programs`)
})
