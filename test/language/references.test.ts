/** Every reference resolves inside the repository: the paths, the headings and the rules that texts, comments and test titles name. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, test } from 'node:test'

const root = join(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

const tracked = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).trimEnd().split('\n')
const paths = new Set(tracked.flatMap((file) => [file, ...parentsOf(file)]))
/** Lists of packages, recorded files of others, and tests whose subject is a made-up file. */
const exempt = /^(package-lock\.json$|test\/(data|golden|mutants)\/|test\/language\/|test\/runner\/changed\.test\.ts$)/
const isText = /(\.(ts|tsx|js|mjs|md|json|yml|yaml|html|css|py|sh|conf|service|sql)|Dockerfile|\.ci\/run)$/
const texts = tracked.filter((file) => isText.test(file) && !exempt.test(file)).map((file) => ({ file, text: read(file) }))

const rules = new Set([...read('docs/rules.md').matchAll(/^\| `([a-z_.-]+)` \|/gm)].map(([, name]) => name!))
const rulePrefixes = [...new Set([...rules].filter((name) => name.includes('.')).map((name) => name.split('.')[0]!))]

type Reference = { place: string; name: string }

const find = (pattern: RegExp, among = texts): Reference[] =>
  among.flatMap(({ file, text }) =>
    text
      .split('\n')
      .flatMap((line, index) => [...line.matchAll(pattern)].map((found) => ({ place: `${file}:${index + 1}`, name: found[1]! }))),
  )

function parentsOf(file: string): string[] {
  const folder = dirname(file)
  return folder === '.' ? [] : [folder, ...parentsOf(folder)]
}

/** Files that examples and tests make up. */
const invented = new Set([
  'docs/returns.md',
  'docs/missing.md',
  'src/.env.ts',
  'src/old/client.ts',
  'src/store/postgres/migrations/9999-newer.sql',
])
/** Fields of the API that look like rules. */
const fields = new Set(['knowledge.language'])

/** Made by a build or a run, so not tracked. */
const isMade = (path: string): boolean => /(^|\/)(dist|artifacts|node_modules|data)(\/|$)/.test(path)

/** The anchors of the headings of a page, as GitHub makes them. */
function anchorsOf(page: string): Set<string> {
  const headings = [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
  return new Set(headings)
}

describe('references', () => {
  test('the paths that comments, messages and pages name exist', () => {
    const found = find(
      /(?<![\w./@-])((?:src|test|docs|packages|clients|bench|release|deploy|dev)\/[\w./-]*\w\.(?:ts|tsx|md|json|sql|py|sh|yaml|conf|service))(?![\w/])/g,
    )
    assert.ok(found.length > 500, `${found.length} found`)
    const folders = ['', 'packages/client']
    const isHere = ({ place, name }: Reference): boolean =>
      [dirname(place), ...folders].some((folder) => paths.has(normalize(join(folder, name))))
    assert.deepEqual(
      found.filter((one) => !isMade(one.name) && !invented.has(one.name) && !isHere(one)).map(({ place, name }) => `${place}: ${name}`),
      [],
    )
  })

  test('the headings that they name exist', () => {
    const found = find(/(?<![\w./@-])(docs\/[\w./-]+\.md#[\w-]+)/g)
    const missing = found.filter(({ name }) => {
      const [page, anchor] = name.split('#') as [string, string]
      return !paths.has(page) || !anchorsOf(page).has(anchor)
    })
    assert.deepEqual(
      missing.map(({ place, name }) => `${place}: ${name}`),
      [],
    )
  })

  test('the rules that comments and titles name are in docs/rules.md', () => {
    const name = `(?:${rulePrefixes.join('|')})\\.[a-z][a-z-]+`
    const code = texts.filter(({ file }) => /\.(ts|tsx|sql)$/.test(file))
    const found = [
      ...find(
        new RegExp(`\`(${name})\``, 'g'),
        code.map(({ file, text }) => ({ file, text: text.replaceAll(/^(?!\s*(\/\/|\*|\/\*)).*$/gm, '') })),
      ),
      ...find(new RegExp(`\\b(?:test|check|describe)\\(\\s*['"\`](?:fault\\.\\S+ )*(${name})\\b`, 'g'), code),
    ]
    assert.ok(found.length > 300, `${found.length} found`)
    assert.deepEqual(
      found.filter(({ name }) => !rules.has(name) && !fields.has(name)).map(({ place, name }) => `${place}: ${name}`),
      [],
    )
  })
})
