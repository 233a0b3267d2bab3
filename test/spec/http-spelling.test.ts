/** `order.spelling`: a rule of a proxy about a path cannot be passed with another spelling of it. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { spellingsOf } from '../support/path-spellings.ts'
import { exchange } from '../support/raw-socket.ts'
import type { RawAnswer } from '../support/raw-socket.ts'
import { adminToken, startTestApp } from '../support/test-app.ts'
import type { TestApp } from '../support/test-app.ts'

let app: TestApp
before(async () => void (app = await startTestApp()))
after(() => app.close())

async function ask(target: string, token = adminToken, method = 'GET'): Promise<RawAnswer> {
  const lines = [`${method} ${target} HTTP/1.1`, 'Host: x', 'Connection: close', `Authorization: Bearer ${token}`]
  return (await exchange(Number(new URL(app.url).port), `${lines.join('\r\n')}\r\n\r\n`))[0]!
}

/** Every route that a proxy may deny, and the public ones. */
const routes = (): [target: string, token: string][] => [
  ['/admin/v1/owners', adminToken],
  [`/admin/v1/agents/${app.caller.agentId}`, adminToken],
  ['/admin/v1/session/options', adminToken],
  ['/admin/docs', adminToken],
  ['/console', adminToken],
  ['/metrics', adminToken],
  ['/healthz', ''],
  ['/docs', ''],
  ['/v1/models', app.caller.apiKey],
  [`/v1/agents/${app.caller.agentId}/conversations`, app.caller.apiKey],
]

/** The page of the console is 404 without the error envelope if it was not built. */
async function isServed(target: string, token: string): Promise<boolean> {
  const { status, json } = await ask(target, token)
  return status === 200 || (target.includes('/console') && json === undefined)
}

void test('order.spelling: another spelling of a route is 404, whoever asks', async () => {
  for (const [path, token] of routes()) {
    for (const target of [path, `http://x${path}`, `${path}?limit=1`]) assert.ok(await isServed(target, token), target)
    for (const spelling of spellingsOf(path))
      for (const given of [token, 'wrong']) {
        const { status, json, body } = await ask(spelling, given)
        // 400: Node's parser refuses a target that starts with a backslash or with a letter that is no scheme.
        assert.ok(status === 404 || (status === 400 && spelling.startsWith('\\')), `${spelling}: ${status} ${body}`)
        assert.equal(json?.error.code, status === 404 ? 'not_found' : 'bad_request', spelling)
      }
  }
})

void test('order.spelling: no other method of a route is revealed by another spelling', async () => {
  for (const path of [
    '/%61dmin/v1/owners',
    '/admin/v1/%6fwners',
    '/admin/v1//owners',
    '/v1/agents/..%2f..%2fadmin/chat',
    '/v1/agents//chat',
  ])
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const answer = await ask(path, adminToken, method)
      assert.deepEqual([answer.status, answer.headers['allow']], [404, undefined], `${method} ${path}`)
    }
})

void test('order.spelling: a query may contain anything, and a part that is data may be percent-encoded', async () => {
  const encoded = app.caller.agentId.replace('_', '%5F')
  const paths = [`/admin/v1/agents/${encoded}`, '/admin/v1/owners?', '/console/', '/console/agents/caf%C3%A9', '/console?from=%2f..%5c//x']
  for (const path of paths) assert.ok(await isServed(path, adminToken), path)
  const query = 'external_user_id=a%2F..%5C%2e/../b'
  assert.ok(await isServed(`/v1/agents/${encoded}/conversations?${query}`, app.caller.apiKey))
})
