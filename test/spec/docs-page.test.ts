/** /docs renders the description that /openapi.json serves, loads nothing from other origins and needs no authentication. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dereferenced } from '../support/dereferenced.ts'
import { startTestLayer } from '../support/test-http-layer.ts'
import type { TestLayer } from '../support/test-http-layer.ts'

type Described = { description?: string; properties?: Record<string, Described>; $ref?: string }
type Document = {
  paths: Record<
    string,
    Record<string, { operationId: string; summary: string; description?: string; parameters: { name: string; description?: string }[] }>
  >
  components: { schemas: Record<string, Described> }
}

const get = (layer: TestLayer, path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${layer.url}${path}`, { headers })
const pageOf = async (layer: TestLayer): Promise<string> => (await get(layer, '/docs')).text()
/** What a reader sees, without entities and markup. */
const shown = (page: string): string =>
  page
    .replace(/<[^>]+>/g, '')
    .replace(/&#39;/g, "'")
    .replace(/&quot;/g, '"')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&amp;/g, '&')
    .replace(/\s+/g, ' ')

void test('docs: the page has every endpoint, parameter, field and description of /openapi.json', async () => {
  await using layer = await startTestLayer()
  const text = shown(await pageOf(layer))
  const { paths, components } = dereferenced((await (await get(layer, '/openapi.json')).json()) as object) as Document
  const has = (words: string | undefined): void => {
    if (words !== undefined) assert.ok(text.includes(words.replace(/`|\s+/g, (found) => (found === '`' ? '' : ' '))), words)
  }
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, { summary, description, parameters }] of Object.entries(operations)) {
      for (const words of [`${method.toUpperCase()} ${path}`, summary, description]) has(words)
      for (const { name, description: said } of parameters) [name, said].forEach(has)
    }
  }
  for (const { properties = {} } of Object.values(components.schemas)) {
    for (const [name, { description }] of Object.entries(properties)) [name, description].forEach(has)
  }
})

void test('docs: each endpoint has a request in curl, TypeScript and Python, and the language tabs work without a script', async () => {
  await using layer = await startTestLayer()
  const page = await pageOf(layer)
  const { paths } = dereferenced((await (await get(layer, '/openapi.json')).json()) as object) as Document
  for (const { operationId } of Object.values(paths).flatMap((operations) => Object.values(operations))) {
    const section = new RegExp(`<section id="${operationId}"[\\s\\S]*?</section>`).exec(page)![0]
    for (const language of ['sh', 'typescript', 'python']) {
      assert.match(
        section,
        new RegExp(`<input\\s+type="radio"\\s+name="${operationId}-language"\\s+id="${operationId}-${language}"`),
        operationId,
      )
      assert.match(section, new RegExp(`data-language="${language}"`), operationId)
    }
  }
})

void test('docs: the base address is TURNKEEP_PUBLIC_URL, or else the address listened on', async () => {
  await using own = await startTestLayer()
  assert.ok(shown(await pageOf(own)).includes(`curl ${own.url}/v1/agents/$AGENT_ID/chat`))
  await using given = await startTestLayer({ publicUrl: 'https://chat.example.com/base' })
  const page = await pageOf(given)
  assert.ok(shown(page).includes('curl https://chat.example.com/base/v1/agents/$AGENT_ID/chat'))
  assert.ok(!page.includes('127.0.0.1'))
})

void test('docs: loads nothing from other origins, has no inline script or style, and no input accepts text', async () => {
  await using layer = await startTestLayer({ publicUrl: 'https://chat.example.com' })
  const response = await get(layer, '/docs')
  const page = await response.text()
  assert.equal(
    response.headers.get('content-security-policy'),
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  )
  const loaded = [...page.matchAll(/\s(?:src|href)="([^"#]+)"/g)].map(([, address]) => address!)
  assert.ok(loaded.length >= 4)
  for (const address of loaded) {
    assert.doesNotMatch(address, /^[a-z]+:|^\//, 'relative, so that a proxy may put a path in front')
    assert.equal((await get(layer, `/${address}`)).status, 200, address)
  }
  assert.doesNotMatch(page, /<style|\sstyle=|<script(?! src)|\son\w+=|<textarea|<form/)
  for (const [, type] of page.matchAll(/<input\s+type="(\w+)"/g)) assert.equal(type, 'radio')
  assert.equal([...page.matchAll(/<input/g)].length, [...page.matchAll(/<input\s+type="radio"/g)].length)
  for (const name of ['style.css', 'copy.js']) {
    const file = await (await get(layer, `/docs/${name}`)).text()
    assert.doesNotMatch(file, /https?:|\/\/\w|@import|url\(|fetch\(|localStorage|cookie/, name)
  }
})

void test('docs: every id is unique, and every link within the page leads to one', async () => {
  await using layer = await startTestLayer()
  const page = await pageOf(layer)
  const ids = [...page.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id!)
  assert.equal(new Set(ids).size, ids.length)
  for (const [, target] of page.matchAll(/href="#([^"]+)"/g)) assert.ok(ids.includes(target!), target)
})

void test('docs: order.request-id and caching: 304 for a known version, gzip where accepted, versioned files cached forever', async () => {
  await using layer = await startTestLayer()
  const first = await get(layer, '/docs')
  assert.deepEqual(
    ['content-type', 'cache-control', 'vary', 'x-content-type-options', 'referrer-policy'].map((name) => first.headers.get(name)),
    ['text/html; charset=utf-8', 'no-cache', 'Accept-Encoding', 'nosniff', 'no-referrer'],
  )
  assert.match(first.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/)
  const etag = first.headers.get('etag')!
  const plain = await get(layer, '/docs', { 'accept-encoding': 'gzip;q=0, identity' })
  assert.equal(plain.headers.get('content-encoding'), null)
  assert.equal(await plain.text(), await first.text())
  for (const known of [etag, `"other", ${etag}`, '*']) {
    const again = await get(layer, '/docs', { 'if-none-match': known })
    assert.deepEqual([again.status, again.headers.get('etag'), await again.text()], [304, etag, ''], known)
    assert.match(again.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/)
  }
  assert.equal((await get(layer, '/docs', { 'if-none-match': '"other"' })).status, 200)
  const style = await get(layer, '/docs/style.css')
  assert.equal(style.headers.get('cache-control'), 'public, max-age=31536000, immutable')
  assert.equal((await fetch(`${layer.url}/docs`, { method: 'POST' })).status, 405)
  assert.equal((await get(layer, '/docs/nothing.css')).status, 404)
})

void test('docs: a page is below 32 KiB on the wire, and so are its files', async () => {
  await using layer = await startTestLayer()
  let bytes = 0
  for (const path of ['/docs', '/docs/style.css', '/docs/copy.js', '/docs/icon.svg']) {
    // fetch decompresses; Content-Length is the length on the wire.
    const response = await get(layer, path, { 'accept-encoding': 'gzip' })
    assert.equal(response.headers.get('content-encoding'), 'gzip')
    bytes += Number(response.headers.get('content-length'))
  }
  assert.ok(bytes < 32 * 1024, `${bytes} bytes`)
})
