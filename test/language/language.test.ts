/** The text of the repository, and so its comments, messages and titles, is without the phrases of phrases.ts. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { phrases } from './phrases.ts'

const root = join(import.meta.dirname, '../..')

/** Not ours to word: recorded answers and documents of others, lists of packages, and this test's own list. */
const exempt = /^(test\/(data|golden|language)\/|package-lock\.json|LICENSE)/
const isText = /(\.(ts|tsx|js|mjs|md|json|yml|yaml|html|css|py|sh|sql)|Dockerfile|\.ci\/run)$/

const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((file) => isText.test(file) && !exempt.test(file))

function placesOf(pattern: RegExp): string[] {
  const all = new RegExp(pattern.source, `g${pattern.flags}`)
  return files.flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .flatMap((line, index) => [...line.matchAll(all)].map(([found]) => `${file}:${index + 1}: ${found}`)),
  )
}

describe('language', () => {
  test('the text of the whole repository is read', () => {
    for (const file of ['README.md', 'src/turn/turn.ts', 'packages/console/src/app.tsx', 'docs/rules.md', 'clients/python/README.md'])
      assert.ok(files.includes(file), file)
  })

  for (const { pattern, instead, left } of phrases)
    test(`no text has ${pattern.source}`, () => {
      const places = placesOf(pattern)
      const why =
        places.length > left ? `write instead: ${instead}\n${places.join('\n')}` : 'fewer are left now: lower `left` in phrases.ts'
      assert.equal(places.length, left, why)
    })
})
