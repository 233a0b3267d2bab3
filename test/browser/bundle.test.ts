/** The console as it is served: small, complete, and with a content security policy that loads nothing from other origins. */
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { builtConsole, noConsole } from '../support/browser.ts'

// What a slow connection loads in a few seconds.
const maxBytes = 250_000

const files = (): string[] =>
  readdirSync(builtConsole, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))

const sizeOf = (file: string): number => gzipSync(readFileSync(file), { level: 9 }).length
const kilobytes = (bytes: number): string => `${(bytes / 1000).toFixed(1)} kB`

/** A chunk and everything that it imports statically; dynamic imports are not among them. */
function loadedWith(chunk: string, into = new Set<string>()): Set<string> {
  if (into.has(chunk)) return into
  into.add(chunk)
  const code = readFileSync(join(builtConsole, 'assets', chunk), 'utf8')
  for (const [, imported] of code.matchAll(/(?:\bfrom|\bimport)\s*["']\.\/([^"']+\.js)["']/g)) loadedWith(imported!, into)
  return into
}

void test('console: no page loads more than 250 kB, compressed, before it is shown', { skip: noConsole() }, (t) => {
  const page = readFileSync(join(builtConsole, 'index.html'), 'utf8')
  const entry = /src="\/console\/assets\/([^"]+\.js)"/.exec(page)![1]!
  const style = files().filter((file) => file.endsWith('.css'))
  const shell = loadedWith(entry)
  const code = readFileSync(join(builtConsole, 'assets', entry), 'utf8')
  const later = [...code.matchAll(/\bimport\(\s*[`"']\.\/([^`"']+\.js)[`"']/g)].map(([, chunk]) => chunk!)
  // The lazy pages of app.tsx.
  assert.ok(later.length >= 12, `${later.length} pages`)
  const pages = later
    .map((chunk) => {
      const needed = [...loadedWith(chunk, new Set(shell))].map((name) => join(builtConsole, 'assets', name))
      return { chunk, bytes: [...needed, ...style].reduce((sum, file) => sum + sizeOf(file), 0) }
    })
    .toSorted((a, b) => b.bytes - a.bytes)
  const total = files().reduce((sum, file) => sum + sizeOf(file), 0)
  t.diagnostic(`${pages.map(({ chunk, bytes }) => `${chunk} ${kilobytes(bytes)}`).join(', ')}; all files together ${kilobytes(total)}`)
  assert.ok(pages[0]!.bytes <= maxBytes, `${pages[0]!.chunk}: ${pages[0]!.bytes} bytes`)
})

void test('console: the styles of every used component are included', { skip: noConsole() }, () => {
  const read = (end: string): string =>
    files()
      .filter((file) => file.endsWith(end))
      .map((file) => readFileSync(file, 'utf8'))
      .join('\n')
  const classes = (text: string): Set<string> => new Set(text.match(/\bm_[0-9a-f]{6,}\b/g))
  const [used, styled] = [classes(read('.js')), classes(read('.css'))]
  const known = classes(readFileSync(createRequire(import.meta.url).resolve('@mantine/core/styles.css'), 'utf8'))
  assert.ok(used.size > 50)
  assert.deepEqual(
    [...used].filter((name) => known.has(name) && !styled.has(name)),
    [],
  )
})

void test('console: none of its files loads anything from another origin', { skip: noConsole() }, () => {
  const page = readFileSync(join(builtConsole, 'index.html'), 'utf8')
  for (const [, address] of page.matchAll(/(?:src|href)="([^"]*)"/g)) assert.match(address!, /^\/console\//)
  assert.ok(!/<script(?![^>]*\bsrc=)[^>]*>/.test(page), 'the page contains an inline script')
  for (const file of files().filter((name) => name.endsWith('.css')))
    assert.ok(!/url\(\s*["']?(?:https?:)?\/\//.test(readFileSync(file, 'utf8')), `${file} loads from elsewhere`)
})
