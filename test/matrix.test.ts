/**
 * The fault matrix has 74 rows, and each is either held by a test whose title begins with its number (`row 45 …`, `rows 45, 46 …`) or stands in
 * docs/exactly-once.md with the reason why none does. There each row has a line that says what comes of it, and names tests that carry its number.
 * Reads the titles as they are written; never runs a test. What a test of a row asserts is for people to judge.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { numbersIn, readExactlyOncePage } from './support/exactly-once-page.ts'
import type { ListedTest } from './support/exactly-once-page.ts'

const root = join(import.meta.dirname, '..')
/** As many as the matrix has. */
const lastRow = 74
const everyRow = Array.from({ length: lastRow }, (_, index) => index + 1)
const section = '## Rows without a test of their own'

/** A title's first words, also where a shared suite puts the store before them. */
const rowsIn = (title: string): number[] => {
  const [, numbers] = /^(?:(?:sqlite|postgres): )?rows? (\d+(?:, \d+)*)(?=[ ,:])/.exec(title) ?? []
  return numbers?.split(', ').map(Number) ?? []
}

/** Titles as the source has them: a string in the place of a title, and `${row}` for each `row: '…'` of the table that the file's tests are made of. */
function titlesOf(source: string): string[] {
  const given = titlesAsWritten(source)
  const inTable = [...source.matchAll(/\brow: '(.*?)'/g)].map(([, words]) => `${words} `)
  return given.flatMap((title) => (title.startsWith('${row}') ? inTable : [title]))
}

const titlesAsWritten = (source: string): string[] =>
  [...source.matchAll(/\b(?:test|check|describe)\(\s*(['"`])(.*?)\1[,\s]/gs)].map(([, , title]) => title!)

/** What the titles of a listed test may carry: where rows are put in from elsewhere, all that its file names so. */
function rowsOf({ file, words }: ListedTest): number[] {
  const source = readFileSync(join(root, file), 'utf8')
  const putIn = [...source.matchAll(/'(rows? \d[\d, ]*)/g)].flatMap(([, rows]) => rowsIn(`${rows!.trimEnd()} `))
  return titlesAsWritten(source)
    .filter((title) => words.some((part) => title.includes(part)))
    .flatMap((title) => (/^\$\{rows?\}/.test(title) ? putIn : rowsIn(title)))
}

const tested = new Map<number, string[]>()
for (const file of globSync(['test/**/*.ts', 'packages/*/test/**/*.ts'], {
  cwd: root,
  exclude: ['test/mutants/**', 'test/data/**', 'test/matrix.test.ts'],
}).toSorted())
  for (const title of titlesOf(readFileSync(join(root, file), 'utf8')))
    for (const row of rowsIn(title)) tested.set(row, [...(tested.get(row) ?? []), `${file}: ${title}`])

const { text, lines, tests } = readExactlyOncePage()
const [, told = ''] = text.split(`\n${section}\n`)
const reasons = new Map(
  [...told.split('\n## ')[0]!.matchAll(/^\| (\d[\d, ]*) \| ([^|]*\S) \|$/gm)].flatMap(([, numbers, reason]) =>
    numbers!.split(', ').map((number) => [Number(number), reason!] as const),
  ),
)

void test('matrix: titles are read as they are written', () => {
  const source = [
    "void test('row 7 one', async () => {})",
    'test(\n  `rows 8, 9 ${two}`, options, run)',
    'check("postgres: row 10, three", run)',
    "const table = [{ row: 'row 11, P0' }]; test(`${row}: four`, run)",
    "test('arrow 12 flies', run); test('row 13', run); test('five, row 14', run)",
  ].join('\n')
  assert.deepEqual(titlesOf(source).flatMap(rowsIn), [7, 8, 9, 10, 11])
})

void test('matrix: every row has a test or a written reason, and none has both', () => {
  assert.ok(text.includes(`\n${section}\n`), `docs/exactly-once.md has no "${section}"`)
  const bare = everyRow.filter((row) => !tested.has(row) && !reasons.has(row))
  assert.deepEqual(bare, [], 'these rows have neither')
  const both = everyRow.filter((row) => tested.has(row) && reasons.has(row))
  assert.deepEqual(both, [], 'these rows have a test, and a reason why they have none')
})

void test('matrix: every row has a line on the page, and each line names tests that carry its rows', () => {
  const shown = lines.filter((line) => 'test' in line && line['row'] !== '')
  for (const line of shown) {
    const named = numbersIn(line['test'])
    const carried = tests.filter(({ number }) => named.includes(number)).flatMap(rowsOf)
    const missing = numbersIn(line['row']).filter((row) => !carried.includes(row))
    assert.deepEqual(missing, [], `none of the tests ${named.join(', ')} carries these rows of ${JSON.stringify(line)}`)
  }
  const told = new Set([...shown.flatMap((line) => numbersIn(line['row'])), ...reasons.keys()])
  assert.deepEqual(
    everyRow.filter((row) => !told.has(row)),
    [],
    'these rows have no line',
  )
})

void test('matrix: no title and no reason names a row that is none', () => {
  const named = [...tested.keys(), ...reasons.keys()]
  assert.deepEqual(
    named.filter((row) => !everyRow.includes(row)),
    [],
  )
})
