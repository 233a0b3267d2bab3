/** /console: serves the built page and no other file of the disk. docs/decisions/0027-console.md */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { TestContext } from 'node:test'
import { gunzipSync } from 'node:zlib'
import type { HttpLayerOptions } from '../../src/http/http.ts'
import { visit } from '../support/console-visitor.ts'
import { startTestApp } from '../support/test-app.ts'
import { startTestLayer } from '../support/test-http-layer.ts'
import type { TestLayer } from '../support/test-http-layer.ts'

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const html = '<!doctype html><title>Turnkeep</title><script type="module" src="/console/assets/app-1a2b3c4d.js"></script>\n'
const script = `export const words = '${'to be compressed '.repeat(500)}'\n`
const picture = randomBytes(2000)

const parent = await mkdtemp(join(tmpdir(), 'turnkeep-console-'))
after(() => rm(parent, { recursive: true }))
const folder = join(parent, 'dist')
await mkdir(join(folder, 'assets'), { recursive: true })
await writeFile(join(parent, 'secret.txt'), 'a secret beside the page')
await writeFile(join(folder, 'index.html'), html)
await writeFile(join(folder, 'icon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>')
await writeFile(join(folder, 'assets/app-1a2b3c4d.js'), script)
await writeFile(join(folder, 'assets/picture-5e6f.png'), picture)

/** An HTTP layer with an admin API that no test here calls. */
async function openLayer(t: TestContext, consoleFolder: string): Promise<TestLayer> {
  const admin = {
    admin: {},
    adminToken: 'x',
    limits: { rate: 1000, parallel: 100 },
    turns: {},
    erasure: {},
    apiUrl: () => null,
  } as unknown as HttpLayerOptions['admin']
  const layer = await startTestLayer({ ...(admin ? { admin } : {}), consoleFolder })
  t.after(() => layer.close())
  return layer
}

void test('console: serves the page at each of its addresses, with a content security policy that loads nothing from other origins', async (t) => {
  const layer = await openLayer(t, folder)
  for (const path of [
    '/console',
    '/console/',
    '/console?x=1',
    '/console/agents',
    '/console/agents/agt_1/versions',
    '/console/index.html',
  ]) {
    const answer = await visit(layer.url, path)
    assert.deepEqual([answer.status, answer.text], [200, html], path)
    const { headers } = answer
    assert.equal(headers['content-type'], 'text/html; charset=utf-8')
    assert.equal(headers['cache-control'], 'no-cache')
    assert.equal(headers['content-security-policy'], policy)
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['referrer-policy'], 'no-referrer')
    assert.equal(headers['cross-origin-opener-policy'], 'same-origin')
    assert.match(String(headers['x-request-id']), /^[0-9a-f-]{36}$/)
    assert.equal(headers['set-cookie'], undefined)
  }
})

void test('console: assets with a hash in their name are cached for a year, others are revalidated; the content type follows the file name', async (t) => {
  const layer = await openLayer(t, folder)
  const known = [
    ['assets/app-1a2b3c4d.js', 'text/javascript; charset=utf-8', 'public, max-age=31536000, immutable'],
    ['assets/picture-5e6f.png', 'image/png', 'public, max-age=31536000, immutable'],
    ['icon.svg', 'image/svg+xml', 'no-cache'],
  ] as const
  for (const [name, type, cacheControl] of known) {
    const { status, headers } = await visit(layer.url, `/console/${name}`)
    assert.deepEqual([status, headers['content-type'], headers['cache-control']], [200, type, cacheControl])
    assert.equal(headers['content-security-policy'], policy)
  }
  assert.deepEqual((await visit(layer.url, '/console/assets/picture-5e6f.png')).bytes, picture)
})

void test('console: compresses for clients that accept it, with the same bytes each time; images are sent unchanged', async (t) => {
  const layer = await openLayer(t, folder)
  const headers = { 'accept-encoding': 'br, gzip, deflate' }
  const packed = await visit(layer.url, '/console/assets/app-1a2b3c4d.js', { headers })
  assert.deepEqual([packed.headers['content-encoding'], packed.headers['vary']], ['gzip', 'Accept-Encoding'])
  assert.ok(packed.bytes.length < script.length / 10)
  assert.equal(gunzipSync(packed.bytes).toString(), script)
  assert.deepEqual((await visit(layer.url, '/console/assets/app-1a2b3c4d.js', { headers })).bytes, packed.bytes)
  for (const refused of ['', 'identity', 'gzip;q=0']) {
    const plain = await visit(layer.url, '/console/assets/app-1a2b3c4d.js', { headers: { 'accept-encoding': refused } })
    assert.deepEqual([plain.headers['content-encoding'], plain.text], [undefined, script])
  }
  const unpacked = await visit(layer.url, '/console/assets/picture-5e6f.png', { headers })
  assert.deepEqual([unpacked.headers['content-encoding'], unpacked.bytes], [undefined, picture])
})

void test('console: 304 for a cached version, HEAD has the headers of GET, other methods are 405', async (t) => {
  const layer = await openLayer(t, folder)
  for (const path of ['/console', '/console/agents', '/console/icon.svg', '/console/assets/app-1a2b3c4d.js']) {
    const whole = await visit(layer.url, path)
    const again = await visit(layer.url, path, { headers: { 'if-none-match': `"other", ${String(whole.headers['etag'])}` } })
    assert.deepEqual([again.status, again.text, again.headers['content-security-policy']], [304, '', policy], path)
    assert.equal((await visit(layer.url, path, { headers: { 'if-none-match': 'W/"other"' } })).status, 200)
    const head = await visit(layer.url, path, { method: 'HEAD' })
    assert.deepEqual([head.status, head.text], [200, ''])
    for (const name of ['content-length', 'content-type', 'etag', 'cache-control', 'content-security-policy'])
      assert.equal(head.headers[name], whole.headers[name], `${path} ${name}`)
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const refused = await visit(layer.url, path, { method })
      assert.deepEqual([refused.status, refused.json['error'].code, refused.headers['allow']], [405, 'method_not_allowed', 'GET, HEAD'])
    }
  }
})

void test('console: a missing asset is the 404 envelope, and no path leads out of the folder', async (t) => {
  const layer = await openLayer(t, folder)
  const outside = [
    '/console/assets/app-00000000.js',
    '/console/secret.txt',
    '/console/../secret.txt',
    '/console/%2e%2e/secret.txt',
    '/console/..%2fsecret.txt',
    '/console/assets/..%2f..%2fsecret.txt',
    '/console/assets/../../secret.txt',
    '/console/..%5csecret.txt',
    '/console/.%00./secret.txt',
    `/console/${encodeURIComponent(join(parent, 'secret.txt'))}`,
    `/console/${join(parent, 'secret.txt')}`,
    '/console//secret.txt',
    '/console/..',
    '/console/%2e%2e/%2e%2e/etc/passwd',
    '/console/assets/../index.html',
    '/console/__proto__.js',
    '/consolex/index.html',
  ]
  for (const path of outside) {
    const answer = await visit(layer.url, path)
    assert.deepEqual([answer.status, answer.json['error']?.code], [404, 'not_found'], path)
    assert.ok(!answer.text.includes('a secret'), path)
  }
  // A path without a file extension is an address of the page, whatever else it looks like.
  for (const path of ['/console/assets', '/console/constructor', '/console/agents/caf%C3%A9%40example'])
    assert.deepEqual([(await visit(layer.url, path)).text, path], [html, path])
})

void test('console: a rebuild beside a running server is served from the next page load on', async (t) => {
  const fresh = join(parent, 'fresh')
  const layer = await openLayer(t, fresh)
  const missing = await visit(layer.url, '/console')
  assert.deepEqual([missing.status, missing.headers['content-type']], [404, 'text/plain; charset=utf-8'])
  assert.match(missing.text, /^The console is not built\. .*npm run build:console/)
  assert.equal(missing.headers['cache-control'], 'no-store')
  assert.equal((await visit(layer.url, '/console/assets/app.js')).json['error'].code, 'not_found')

  await mkdir(join(fresh, 'assets'), { recursive: true })
  for (const [version, at] of [
    ['first', 1000],
    ['second', 2000],
  ] as const) {
    await writeFile(join(fresh, 'assets', `${version}-1.js`), version)
    await writeFile(join(fresh, 'index.html'), version)
    await utimes(join(fresh, 'index.html'), at, at)
    assert.equal((await visit(layer.url, '/console')).text, version)
    assert.equal((await visit(layer.url, `/console/assets/${version}-1.js`)).text, version)
  }
  await rm(fresh, { recursive: true })
  assert.equal((await visit(layer.url, '/console')).status, 404)
})

void test('console: is served on the port of the admin API, and on no other', async (t) => {
  const bare = await startTestLayer({ consoleFolder: folder })
  t.after(() => bare.close())
  for (const path of ['/console', '/console/assets/app-1a2b3c4d.js'])
    assert.equal((await visit(bare.url, path)).json['error'].code, 'not_found')
  await using app = await startTestApp({ env: { TURNKEEP_ADMIN_PORT: '0' } })
  for (const path of ['/console', '/console/', '/console/agents', '/admin/v1/session'])
    assert.equal((await visit(app.url, path)).json['error'].code, 'not_found', path)
  assert.equal((await visit(app.adminUrl, '/console')).status, 200)
})

void test('console: the page that npm ci builds is complete, needs no inline script or style, and refers to no other origin', async () => {
  assert.ok(existsSync(join(import.meta.dirname, '../../packages/console/dist/index.html')), 'npm run build:console')
  await using app = await startTestApp()
  const page = await visit(app.adminUrl, '/console/')
  assert.deepEqual([page.status, page.headers['content-security-policy']], [200, policy])
  const named = [...page.text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address!)
  assert.ok(named.some((address) => address.endsWith('.js')) && named.some((address) => address.endsWith('.css')), page.text)
  for (const address of named) {
    assert.match(address, /^\/console\//)
    assert.equal((await visit(app.adminUrl, address)).status, 200, address)
  }
  assert.doesNotMatch(page.text, /<style|<script(?![^>]* src=)| on\w+=/)
})
