/**
 * docs/fault-matrix.md against the tests: each fault has one row, an everyday test in the fast or ci tier and a strongest one in the deep tier, and
 * no other fault is named anywhere. Reads files and never runs a test; whether a test asserts what its row says is for a reviewer to judge.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { kinds } from './chaos/schedule.ts'
import { runsIn, stores, tierOf } from './runner/tiers.ts'

const root = join(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const page = 'docs/fault-matrix.md'
const rowCount = 78

type NamedTest = { file: string; part: string }
type Row = { fault: string; everyday: string; strongest: string }

const rows: Row[] = [...read(page).matchAll(/^\| `(fault\.[^`]*)` \|(.*)\|$/gm)].map(([, fault, cells]) => {
  const [happens, holds, everyday, strongest, ...more] = cells!.split('|').map((cell) => cell.trim())
  assert.ok(happens && holds && everyday && strongest && more.length === 0, `${fault} does not have five cells`)
  return { fault: fault!, everyday, strongest }
})
const names = new Set(rows.map(({ fault }) => fault))

/**
 * A name with a hyphen is the name of a fault wherever it occurs; one without a hyphen only after a quotation mark, because code reads properties of
 * variables that are called `fault`.
 */
const faultsIn = (text: string): string[] =>
  [...text.matchAll(/(?<![\w.])fault\.[a-z0-9]+(?:-[a-z0-9]+)+(?!\w)|(?<=['"`])fault\.[a-z0-9]+(?=['"`: ])/g)].map(([name]) => name)

/**
 * The titles in a source file. One that starts with a variable, such as `${fault}: …`, represents each fault that the file has in quotation
 * marks.
 */
function titlesOf(source: string): string[] {
  const quoted = [...source.matchAll(/(?<==|: |\[|, |\? )\s*'((?:fault\.[a-z0-9-]+ ?)+[^']*)'/g)].map(([, faults]) => faults!)
  return [...source.matchAll(/\b(?:test|check|describe)\(\s*(['"`])(.*?)\1[,\s]/gs)].flatMap(([, , title]) => {
    const [, rest] = /^\$\{\w+\}:? (.*)$/s.exec(title!) ?? []
    return rest === undefined ? [title!] : [title!, ...quoted.map((faults) => `${faults} ${rest}`)]
  })
}

const titlesByFile = new Map(
  globSync(['test/**/*.ts', 'packages/*/test/**/*.ts'], {
    cwd: root,
    exclude: ['test/mutants/**', 'test/data/**', 'test/fault-matrix.test.ts'],
  })
    .toSorted()
    .map((file) => [file, titlesOf(read(file))] as const),
)

function namedTest(cell: string): NamedTest | undefined {
  const [, file, part] = /^`(test\/\S+\.ts)`: "(.+)"$/.exec(cell) ?? []
  return file === undefined ? undefined : { file, part: part! }
}

function assertCarries(fault: string, { file, part }: NamedTest): void {
  const titles = (titlesByFile.get(file) ?? assert.fail(`${fault}: there is no ${file}`)).filter((title) => title.includes(part))
  assert.ok(titles.length > 0, `${fault}: ${file} has no test "${part}"`)
  assert.ok(
    titles.some((title) => faultsIn(`'${title}'`).includes(fault)),
    `${fault}: the title of "${part}" in ${file} does not name the fault`,
  )
}

/** The test files that run what this file has: the file itself, or those that import it. */
function testFilesOf(file: string): string[] {
  if (file.endsWith('.test.ts')) return [file]
  return [...titlesByFile.keys()].filter((other) => other.endsWith('.test.ts') && read(other).includes(`/${basename(file)}'`))
}

void test('fault matrix: titles and names are read as they are written', () => {
  const source = [
    "void test('fault.one-two: first', run)",
    'test(\n  `fault.three-four second ${what}`, options, run)',
    "const cases = [['x', 'fault.five-six', 1]]; test(`${name}: third`, run)",
    "contest('fault.seven-eight no title', run)",
  ].join('\n')
  assert.deepEqual(titlesOf(source), ['fault.one-two: first', 'fault.three-four second ${what}', '${name}: third', 'fault.five-six third'])
  assert.deepEqual(faultsIn("'fault.sigterm: x', fault.way, (fault.a-b) `fault.c-d` default.e-f ${fault.name} fault.ways.x"), [
    'fault.sigterm',
    'fault.a-b',
    'fault.c-d',
  ])
})

void test(`fault matrix: ${rowCount} faults, each with one row and a test that carries its name`, () => {
  assert.equal(rows.length, rowCount)
  assert.equal(names.size, rowCount, 'a fault has two rows')
  const carried = new Set([...titlesByFile.values()].flat().flatMap((title) => faultsIn(`'${title}'`)))
  assert.deepEqual(
    [...names].filter((fault) => !carried.has(fault)),
    [],
    'no title of a test names these',
  )
})

void test('fault matrix: every fault that is named in src, test and docs has a row', () => {
  const files = globSync(['src/**/*.ts', 'test/**/*.ts', 'docs/**/*.md', '*.md'], { cwd: root, exclude: ['test/fault-matrix.test.ts'] })
  assert.ok(files.length > 400)
  const unknown = files.flatMap((file) =>
    faultsIn(read(file))
      .filter((fault) => !names.has(fault))
      .map((fault) => `${file}: ${fault}`),
  )
  assert.deepEqual(unknown, [])
})

void test('fault matrix: the everyday test of each fault exists, carries its name and runs in the fast or ci tier', () => {
  for (const { fault, everyday } of rows) {
    const named = namedTest(everyday) ?? assert.fail(`${fault}: not a test: ${everyday}`)
    assertCarries(fault, named)
    const tiers = testFilesOf(named.file).flatMap((file) => stores.map((store) => tierOf(file, store)))
    assert.ok(tiers.includes('fast') || tiers.includes('ci'), `${fault}: ${named.file} runs neither in the fast nor in the ci tier`)
  }
})

void test('fault matrix: the strongest test of each fault runs in the deep tier, or is the everyday test', () => {
  const steps = [...read('test/deep.ts').matchAll(/\bnode\('([^']+)'|\{ name: '([^']+)'/g)].map(([, one, other]) => one ?? other)
  for (const { fault, strongest } of rows) {
    if (strongest === 'same') continue
    const named = namedTest(strongest)
    if (named) {
      assertCarries(fault, named)
      const isDeep = testFilesOf(named.file).some((file) => stores.some((store) => runsIn('deep', file, store)))
      assert.ok(isDeep, `${fault}: ${named.file} does not run in the deep tier`)
      continue
    }
    const [, step] = /^`([^`]+)`$/.exec(strongest) ?? []
    assert.ok(step !== undefined && steps.includes(step), `${fault}: no step of test/deep.ts is called ${strongest}`)
    assert.ok(faultsOfStep(step).includes(fault), `${fault}: the step "${step}" does not make it`)
  }
})

/** The faults that a step causes: the kinds of a chaos run on its store, and the head comments of its load and of the simulation. */
function faultsOfStep(step: string): string[] {
  if (step === 'simulation') return faultsIn(headOf('test/simulation/commands.ts'))
  const store = /^chaos on (SQLite|PostgreSQL)$/.exec(step)?.[1] === 'SQLite' ? 'sqlite' : 'postgres'
  const planned = Object.values(kinds).filter((kind) => kind.stores.includes(store))
  return [...planned.flatMap(({ faults }) => faults), ...faultsIn(headOf('test/chaos/workload.ts'))]
}

const headOf = (file: string): string => read(file).split('*/')[0]!
