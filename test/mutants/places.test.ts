/**
 * An edit of a mutant finds its place after any refactoring, and no other place. The mutants of this repository stay where they are while
 * their files are moved, laid out differently and renamed in.
 */
import assert from 'node:assert/strict'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import fc from 'fast-check'
import { plantedBugs } from '../chaos/planted-bugs.ts'
import { edit } from './mutant.ts'
import type { Edit } from './mutant.ts'
import { mutants } from './mutants.ts'
import { Places } from './places.ts'
import { tokensOf } from './tokens.ts'

const root = join(import.meta.dirname, '../..')
const definitions = [
  ...mutants.map(({ rule, removes, edits }) => ({ name: `${rule}: ${removes}`, edits })),
  ...plantedBugs.map(({ name, edits }) => ({ name, edits })),
]

/** A repository with these files below src/. */
function placesIn(t: TestContext, files: Record<string, string>): Places {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-test-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, 'src', file)), { recursive: true })
    writeFileSync(join(folder, 'src', file), text)
  }
  return new Places(folder)
}

/** The edited files, or why the edits do not fit. */
function placed(places: Places, ...edits: Edit[]): Record<string, string> | string {
  const found = places.place(edits)
  return found.kind === 'stale' ? found.because : Object.fromEntries(found.files)
}

const fence = edit('if (turn.fence !== fence) return lost(turn)', 'if (!turn) return lost(turn)')

describe('mutants: an edit', () => {
  const refactorings: { title: string; files: Record<string, string>; after: Record<string, string> }[] = [
    {
      title: 'applies to the code as it was written',
      files: { 'a.ts': 'const one = 1\nif (turn.fence !== fence) return lost(turn)\n' },
      after: { 'src/a.ts': 'const one = 1\nif (!turn) return lost(turn)\n' },
    },
    {
      title: 'follows its code to another file',
      files: { 'a.ts': 'const one = 1\n', 'deep/b.ts': '  if (turn.fence !== fence) return lost(turn)\n' },
      after: { 'src/deep/b.ts': '  if (!turn) return lost(turn)\n' },
    },
    {
      title: 'ignores layout, comments and the commas of the formatter',
      files: { 'a.ts': 'if (\n  turn.fence !== fence // another run\n)\n  return lost(\n    turn,\n  )\n' },
      after: { 'src/a.ts': 'if (!turn) return lost(turn)\n' },
    },
    {
      title: 'uses the names that the place has now',
      files: { 'a.ts': 'if (run.token !== token) return refuse(run)\n' },
      after: { 'src/a.ts': 'if (!run) return refuse(run)\n' },
    },
    {
      title: 'takes the place whose names have changed least',
      files: { 'a.ts': 'if (run.token !== token) return refuse(run)\n', 'b.ts': 'if (turn.fence !== fence) return gone(turn)\n' },
      after: { 'src/b.ts': 'if (!turn) return gone(turn)\n' },
    },
  ]
  for (const { title, files, after } of refactorings) test(title, (t) => assert.deepEqual(placed(placesIn(t, files), fence), after))

  const refused: { title: string; files: Record<string, string>; edits: Edit[]; because: RegExp }[] = [
    {
      title: 'a literal, a keyword or an operator that differs',
      files: { 'a.ts': 'if (turn.fence === fence) return lost(turn)\n' },
      edits: [fence],
      because: /^no such code in src\/: if \(turn/,
    },
    {
      title: 'one name for what had two',
      files: { 'a.ts': 'if (turn.fence !== fence) return fence(turn)\n' },
      edits: [fence],
      because: /^no such code/,
    },
    {
      title: 'two names for what had one',
      files: { 'a.ts': 'if (turn.fence !== fence) return lost(run)\n' },
      edits: [fence],
      because: /^no such code/,
    },
    {
      title: 'a word in a string that differs',
      files: { 'a.ts': "const sql = 'where run = ?'\n" },
      edits: [edit('where turn = ?')],
      because: /^no such code/,
    },
    {
      title: 'two places that fit as well',
      files: { 'a.ts': 'if (a.b !== b) return c(a)\n', 'b.ts': 'if (d.e !== e) return f(d)\n' },
      edits: [fence],
      because: /^its code is in several places, among them src\/a\.ts:1 and src\/b\.ts:1: if/,
    },
    {
      title: 'edits of one place',
      files: { 'a.ts': 'const limit = 3\n' },
      edits: [edit('const limit', 'const bound'), edit('limit = 3', 'limit = 4')],
      because: /^two of its edits overlap in src\/a\.ts/,
    },
  ]
  for (const { title, files, edits, because } of refused)
    test(`does not fit: ${title}`, (t) => assert.match(String(placed(placesIn(t, files), ...edits)), because))

  test('applies to the first place below its mark, in whichever file that is', (t) => {
    const places = placesIn(t, {
      'a.ts': 'release()\n',
      'b.ts': 'release()\n// mutant: the-end\nif (ended) {\n  free()\n}\nrelease()\n',
    })
    const marked = edit('release()', '', { at: 'the-end' })
    assert.deepEqual(placed(places, marked), { 'src/b.ts': 'release()\n// mutant: the-end\nif (ended) {\n  free()\n}\n\n' })
    assert.match(String(placed(places, edit('release()', '', { at: 'the-start' }))), /^no such code in src\/ below "mutant: the-start"/)
  })

  test('finds SQL in strings and in files, and a migration of one store', (t) => {
    const places = placesIn(t, {
      'a.ts': 'const statement = `update turns\n  set hold = ${hold} where id = ?`\n',
      'sqlite/1.sql': 'create unique index one on turns (id);\n',
      'postgres/1.sql': '-- create unique index one on turns (id)\ncreate unique index one on turns (id);\n',
    })
    assert.deepEqual(placed(places, edit('update turns set hold', 'update turns set held')), {
      'src/a.ts': 'const statement = `update turns set held = ${hold} where id = ?`\n',
    })
    const both = edit('unique index one', 'index one')
    assert.match(String(placed(places, both)), /several places/)
    assert.deepEqual(placed(places, { ...both, within: 'src/postgres/' }), {
      'src/postgres/1.sql': '-- create unique index one on turns (id)\ncreate index one on turns (id);\n',
    })
  })

  test('takes the comma of an element that it removes, written or not', (t) => {
    const places = placesIn(t, { 'a.ts': "const a = { b: 'c', d: 'e' }\nconst f = {\n  g: 'h',\n}\nconst i = { j: 'k' }\n" })
    assert.deepEqual(placed(places, edit("b: 'c',"), edit("g: 'h',"), edit("j: 'k',")), {
      'src/a.ts': "const a = {  d: 'e' }\nconst f = {\n  \n}\nconst i = {  }\n",
    })
  })

  test('several edits are planted together, and a replacement is not a pattern', (t) => {
    const places = placesIn(t, { 'a.ts': 'one(1, 2)\n', 'b.ts': 'one(3)\n' })
    assert.deepEqual(placed(places, edit('one(1', 'one(4'), edit('3', '5'), edit('2', '$&')), {
      'src/a.ts': 'one(4, $&)\n',
      'src/b.ts': 'one(5)\n',
    })
  })
})

describe('mutants: the definitions', () => {
  const places = new Places(root)

  test('each edit has one place in the source', () => {
    const stale = definitions.flatMap(({ name, edits }) => {
      const found = places.place(edits)
      return found.kind === 'stale' ? [`${name}: ${found.because}`] : []
    })
    assert.deepEqual(stale, [])
  })

  test('after one renaming, no edit moves to another place', () => {
    const unclear = definitions.flatMap(({ name, edits }) => places.unclear(edits).map((what) => `${name}: ${what}`))
    assert.deepEqual(unclear, [])
  })

  test('each mark in the source is there once and belongs to an edit', () => {
    const used = new Set(definitions.flatMap(({ edits }) => edits.flatMap(({ at }) => at ?? [])))
    assert.deepEqual(places.marks().toSorted(), [...used].toSorted())
  })

  test('moved, laid out differently and with other names, the source has the same places', (t) => {
    const sources = globSync('src/**/*.{ts,sql}', { cwd: root }).map((file) => [file, readFileSync(join(root, file), 'utf8')] as const)
    // Names that more than one mutant mentions, so that a renaming meets several. One that only a replacement mentions would have to be renamed
    // there, too.
    const added = (name: string): boolean =>
      definitions.some(({ edits }) => edits.some(({ find, replace }) => replace.includes(name) && !find.includes(name)))
    const found = definitions.flatMap(({ edits }) => edits.flatMap(({ find }) => find.match(/\b[a-z]+[A-Z]\w*/g) ?? []))
    const names = [...new Set(found)].filter((name) => !added(name))
    const before = definitions
      .filter(({ edits }) => edits.every(({ within }) => within === undefined))
      .map(({ name, edits }) => ({ name, edits, placed: places.place(edits) }))
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.integer({ min: 2, max: 9 }), (name, indent) => {
        const refactored = sources.map(
          ([file, text]) => [`moved/${file.slice('src/'.length)}`, refactor(file, text, name, indent)] as const,
        )
        const after = placesIn(t, Object.fromEntries(refactored))
        // Those that mention the name, and some of the others.
        const chosen = before.filter(({ edits }, index) => index % 30 === indent || edits.some(({ find }) => find.includes(name)))
        const lost = chosen.flatMap(({ name: what, edits, placed: then }) => {
          const now = after.place(edits)
          if (then.kind === 'stale' || now.kind === 'stale') return [`${what}: ${now.kind === 'stale' ? now.because : then.kind}`]
          const isSame = [...then.files].every(([file, text]) => {
            const found = now.files.get(file.replace('src/', 'src/moved/'))
            return found !== undefined && tokenTexts(file, found) === tokenTexts(file, refactor(file, text, name, indent))
          })
          return isSame && now.files.size === then.files.size ? [] : [`${what}: another place`]
        })
        assert.deepEqual(lost, [])
      }),
      { numRuns: 1 },
    )
  })
})

/** Renames a name in code, not in strings or SQL, and changes the white space between tokens. */
function refactor(file: string, text: string, name: string, indent: number): string {
  if (file.endsWith('.sql')) return text.replaceAll(/\n +/g, `\n${' '.repeat(indent)}`)
  let [renamed, at] = ['', 0]
  for (const token of tokensOf(file, text).tokens) {
    if (!token.isName || token.text !== name) continue
    renamed += `${text.slice(at, token.start)}${name}Renamed`
    at = token.start + token.text.length
  }
  return (renamed + text.slice(at)).replaceAll(/\n +(?=[\w.])/g, `\n${' '.repeat(indent)}`)
}

const tokenTexts = (file: string, text: string): string =>
  tokensOf(file, text)
    .tokens.map((token) => token.text)
    .join(' ')
