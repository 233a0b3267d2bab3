/** GET /: the start page of each listener, as HTML and as JSON. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { ownVersion } from '../../src/observability/metrics.ts'
import { startTestApp } from '../support/test-app.ts'
import { startTestLayer } from '../support/test-http-layer.ts'

const linksOf = (page: string): string[] => [...page.matchAll(/href="([^"]*)"/g)].map(([, target]) => target!)
const htmlOf = async (url: string): Promise<string> => (await fetch(`${url}/`, { headers: { accept: 'text/html,*/*;q=0.8' } })).text()
const jsonOf = async (url: string): Promise<unknown> => (await fetch(`${url}/`, { headers: { accept: 'application/json' } })).json()

void test('start page: links to what the listener serves, and every link leads to a page', async () => {
  const version = ownVersion()
  await using shared = await startTestApp()
  assert.deepEqual(linksOf(await htmlOf(shared.url)), ['docs', 'console', 'admin/docs', 'healthz'])
  const admin = { console: '/console', admin_docs: '/admin/docs' }
  assert.deepEqual(await jsonOf(shared.url), { name: 'Turnkeep', version, docs: '/docs', ...admin, health: '/healthz' })
  for (const path of ['docs', 'admin/docs', 'healthz']) assert.equal((await fetch(`${shared.url}/${path}`)).status, 200, path)

  await using split = await startTestApp({ env: { TURNKEEP_ADMIN_PORT: '0' } })
  assert.deepEqual(linksOf(await htmlOf(split.url)), ['docs', 'healthz'])
  assert.deepEqual(await jsonOf(split.url), { name: 'Turnkeep', version, docs: '/docs', health: '/healthz' })
  assert.deepEqual(linksOf(await htmlOf(split.adminUrl)), ['console', 'admin/docs', 'healthz'])
  assert.deepEqual(await jsonOf(split.adminUrl), { name: 'Turnkeep', version, ...admin, health: '/healthz' })
  assert.equal((await fetch(`${split.url}/admin/docs`)).status, 404)
  assert.equal((await fetch(`${split.adminUrl}/admin/docs`)).status, 200)
})

void test('start page: shows name and version as HTML unless the caller asks for JSON', async () => {
  await using layer = await startTestLayer()
  for (const accept of ['*/*', 'text/html', 'text/html,application/json;q=0.9', 'text/plain']) {
    const response = await fetch(`${layer.url}/`, { headers: { accept } })
    assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'text/html; charset=utf-8'], accept)
    assert.ok((await response.text()).includes(`<h1>Turnkeep ${ownVersion()}</h1>`), accept)
  }
  for (const accept of ['application/json', 'Application/JSON, */*;q=0.1']) {
    const response = await fetch(`${layer.url}/`, { headers: { accept } })
    assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8', accept)
    assert.equal(response.headers.get('vary'), 'Accept')
  }
})

void test('start page: strict security headers, no script, nothing from elsewhere, and only the one style', async () => {
  await using layer = await startTestLayer()
  const response = await fetch(`${layer.url}/?x=1`)
  const page = await response.text()
  const style = /<style>([\s\S]*?)<\/style>/.exec(page)![1]!
  const hash = createHash('sha256').update(style).digest('base64')
  assert.deepEqual(
    ['content-security-policy', 'x-content-type-options', 'referrer-policy', 'cache-control', 'vary'].map((name) =>
      response.headers.get(name),
    ),
    [
      `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      'nosniff',
      'no-referrer',
      'no-cache',
      'Accept',
    ],
  )
  assert.doesNotMatch(page, /<script|\sstyle=|\son\w+=|https?:|\ssrc=|<form|<input/)
  assert.match(response.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/)
})

void test('start page: HEAD answers without a body, other methods get 405, and no key is needed', async () => {
  await using layer = await startTestLayer()
  const get = await fetch(`${layer.url}/`)
  const head = await fetch(`${layer.url}/`, { method: 'HEAD' })
  assert.deepEqual([head.status, await head.text()], [200, ''])
  assert.equal(head.headers.get('content-length'), get.headers.get('content-length'))
  const post = await fetch(`${layer.url}/`, { method: 'POST' })
  assert.deepEqual([post.status, post.headers.get('allow')], [405, 'GET, HEAD'])
  assert.equal(layer.spent, 0)
})
