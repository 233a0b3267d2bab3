/**
 * The patterns of the three descriptions mean the same to every reader: ECMAScript with the `u` flag and without it, as generators and validators
 * of other makers compile them, and Python.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import fc from 'fast-check'
import { startTestApp } from '../support/test-app.ts'
import type { Json } from '../support/test-app.ts'

/** How many texts each pattern is compared on, besides those that match it. */
const textsForEach = 300
const matching = 50

function* keywordsOf(value: unknown, keyword: string): Generator<unknown> {
  if (typeof value !== 'object' || value === null) return
  for (const [name, inner] of Object.entries(value)) {
    if (name === keyword) yield inner
    yield* keywordsOf(inner, keyword)
  }
}

const inPython = `
import json, re, sys
given = json.load(sys.stdin)
print(json.dumps([[re.search(one["pattern"], text) is not None for text in one["texts"]] for one in given]))
`

// A line break at the very end is left out: Python's $ also matches before it, as in every pattern of every description.
const anyText = fc
  .oneof(
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.string({
      unit: fc.constantFrom('p', 'C', 's', '0', '7', '.', '-', '/', 'a', '\u0000', '\u001f', '\u0085', '\u00a0', '\ufeff'),
      maxLength: 12,
    }),
    fc.string({ unit: fc.constantFrom('\u0661', '\u{1d7d8}', '😀', 'é', '\u2028', '\n', 'x', '1', '.'), maxLength: 12 }),
  )
  .map((text) => text.replace(/\n+$/, '').toWellFormed())

void test('openapi: every pattern means the same with and without the u flag, and in Python', async (t) => {
  await using app = await startTestApp()
  const read = async (url: string): Promise<Json> => (await fetch(url)).json() as Promise<Json>
  const documents = [
    await read(`${app.url}/openapi.json`),
    await read(`${app.url}/openai/openapi.json`),
    await app.made('GET', '/openapi.json'),
  ]
  assert.deepEqual([...keywordsOf(documents, 'patternProperties')], [])
  const patterns = [...new Set(keywordsOf(documents, 'pattern'))].map(String)
  assert.ok(patterns.length >= 5, patterns.join(' '))
  const compared = patterns.map((pattern) => {
    const unicode = new RegExp(pattern, 'u')
    const texts = [
      ...fc.sample(anyText, textsForEach),
      ...fc.sample(fc.stringMatching(unicode), matching).filter((text) => text.isWellFormed() && !text.endsWith('\n')),
    ]
    const expected = texts.map((text) => unicode.test(text))
    assert.ok(expected.includes(true), `no text matches ${pattern}`)
    for (const [at, text] of texts.entries())
      assert.equal(new RegExp(pattern).test(text), expected[at], `${pattern} ${JSON.stringify(text)}`)
    return { pattern, texts, expected }
  })
  const python = spawnSync('python3', ['-c', inPython], { input: JSON.stringify(compared), encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
  if (python.error) return t.skip('needs python3')
  assert.equal(python.status, 0, python.stderr)
  for (const [n, results] of (JSON.parse(python.stdout) as boolean[][]).entries())
    for (const [at, result] of results.entries())
      assert.equal(result, compared[n]!.expected[at], `Python: ${compared[n]!.pattern} ${JSON.stringify(compared[n]!.texts[at])}`)
})
