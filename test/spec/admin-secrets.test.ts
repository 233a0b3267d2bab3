/** faults.md, Security: no secret is in any answer that need not hold it, in the log, or in a byte of the data folder. */
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { startTestApp } from '../support/test-app.ts'

void test('security: a provider key and an API secret are in no file of the data folder, sealed and digested as they are', async () => {
  await using app = await startTestApp()
  const canary = 'sk-canary-1c5e3b7f90'
  const provider = await app.made('POST', '/providers', {
    name: 'sealed',
    kind: 'openai-compatible',
    base_url: app.model.baseUrl,
    api_key: canary,
  })
  const rotated = `${canary}-rotated`
  await app.made('PATCH', `/providers/${provider.id}`, { api_key: rotated })
  await app.made('POST', `/providers/${provider.id}/test`, { model: 'm' })
  await app.chat('hi')
  const secret = app.caller.apiKey.split('.')[1]!

  const files = await readdir(app.folder)
  assert.ok(files.includes('turnkeep.db'))
  let bytes = 0
  for (const file of files) {
    const content = await readFile(join(app.folder, file))
    bytes += content.length
    for (const hidden of [canary, secret, 'model-key']) assert.equal(content.indexOf(hidden), -1, `${file} holds a secret`)
  }
  assert.ok(bytes > 10_000, 'the database was read')
})
