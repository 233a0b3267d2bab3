/** Admin API: the admin token is checked before anything else. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refused, startAdminApp } from '../support/admin-app.ts'
import { read } from '../support/test-app.ts'
import type { Answer } from '../support/test-app.ts'

const app = await startAdminApp()

const ask = async (authorization: string | undefined, path: string, init: RequestInit = {}): Promise<Answer> => {
  const headers: Record<string, string> = { ...(authorization === undefined ? {} : { authorization }), 'content-type': 'application/json' }
  return read(await fetch(`${app.app.adminUrl}/admin/v1${path}`, { ...init, headers }))
}

const wrong = {
  'no header': undefined,
  'an empty header': '',
  'another token': 'Bearer test-admin-tokeN',
  'a prefix of the token': 'Bearer test-admin',
  'the token with a suffix': 'Bearer test-admin-token2',
  'another scheme': 'Basic test-admin-token',
  'the token without a scheme': 'test-admin-token',
  'an API key': undefined,
}

for (const [what, authorization] of Object.entries(wrong)) {
  void test(`unauthorized: ${what} is the same 401, before path, method, query and body are read`, async () => {
    const given = what === 'an API key' ? `Bearer ${app.caller.apiKey}` : authorization
    const asked = [
      ask(given, '/owners'),
      ask(given, '/owners?limit=x'),
      ask(given, '/owners', { method: 'POST', body: '{nonsense' }),
      ask(given, '/nowhere'),
      ask(given, '/owners', { method: 'DELETE' }),
      ask(given, ''),
    ]
    for (const answer of asked) await refused(answer, 401, 'unauthorized')
    const messages = new Set((await Promise.all(asked)).map(({ json }) => json.error.message))
    assert.equal(messages.size, 1)
  })
}

void test('unauthorized: the scheme is case-insensitive', async () => {
  assert.equal((await ask('bEARER test-admin-token', '/owners')).status, 200)
})

void test('admin API: with the token, an unknown path is 404 and a wrong method is 405', async () => {
  await refused(app.admin('GET', '/nowhere'), 404, 'not_found')
  await refused(app.admin('DELETE', '/owners'), 405, 'method_not_allowed')
})

void test('unauthorized: the admin token cannot read a conversation on the public API', async () => {
  const answer = await app.chat('hi', { apiKey: 'test-admin-token' })
  assert.deepEqual([answer.status, answer.json.error.code], [401, 'invalid_api_key'])
})
