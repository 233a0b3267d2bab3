/** /admin/docs renders the description of the admin API, beside that API, and needs no token. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dereferenced } from '../support/dereferenced.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Json } from '../support/test-app.ts'

const shown = (page: string): string =>
  page
    .replace(/<[^>]+>/g, '')
    .replace(/&#39;/g, "'")
    .replace(/&quot;/g, '"')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&amp;/g, '&')
    .replace(/\s+/g, ' ')

void test('docs: the reference of the admin API has every operation, parameter, field and description of its description', async () => {
  await using app = await startTestApp()
  const page = await (await fetch(`${app.url}/admin/docs`)).text()
  const text = shown(page)
  const document = await app.made('GET', '/openapi.json')
  const { paths, components, tags } = dereferenced(document)
  const has = (words: string | undefined): void => {
    if (words !== undefined) assert.ok(text.includes(words.replace(/`|\s+/g, (found) => (found === '`' ? '' : ' '))), words)
  }
  for (const { name, description } of tags) [name, description].forEach(has)
  for (const [path, operations] of Object.entries<Json>(paths))
    for (const [method, { operationId, summary, description, parameters = [] }] of Object.entries<Json>(operations)) {
      for (const words of [`${method.toUpperCase()} ${path}`, summary, description]) has(words)
      for (const { name, description: said } of parameters) [name, said].forEach(has)
      assert.equal(page.split(`id="${operationId}"`).length, 2, operationId)
    }
  const used = JSON.stringify(document)
  for (const [schema, { properties = {} }] of Object.entries<Json>(components.schemas))
    if (used.includes(`#/components/schemas/${schema}"`)) for (const name of Object.keys(properties)) has(name)
})

void test('docs: the reference of the admin API contains nothing of the installation, and loads only its own files', async () => {
  await using app = await startTestApp()
  const response = await fetch(`${app.url}/admin/docs`)
  const page = await response.text()
  assert.match(response.headers.get('content-security-policy')!, /^default-src 'none'; style-src 'self'; script-src 'self'/)
  assert.ok(!page.includes(app.caller.ownerId))
  for (const [, address] of page.matchAll(/(?:href|src)="(docs\/[^"]+)"/g)) {
    const file = await fetch(`${app.url}/admin/${address!}`)
    assert.deepEqual([file.status, file.headers.get('cache-control')], [200, 'public, max-age=31536000, immutable'], address)
  }
  assert.doesNotMatch(page, /(?:href|src)="(?:https?:)?\/\//)
  const again = await fetch(`${app.url}/admin/docs`, { headers: { 'if-none-match': response.headers.get('etag')! } })
  assert.equal(again.status, 304)
})
