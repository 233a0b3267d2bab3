/** The console's form of a provider: when it asks for the API key again. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { movesToAnotherServer } from '../../packages/console/src/pages/providers/same-server.ts'

const stored = 'http://gateway.example:8000/v1'

test('console: a base URL with another scheme, host or port moves the provider to another server', () => {
  for (const same of [stored, ` ${stored} `, 'http://gateway.example:8000', 'http://GATEWAY.example:8000/v2?x=1', ''])
    assert.equal(movesToAnotherServer(stored, same), false, same)
  for (const other of ['https://gateway.example:8000/v1', 'http://gateway.example/v1', 'http://gateway.example.evil:8000/v1'])
    assert.equal(movesToAnotherServer(stored, other), true, other)
  assert.equal(movesToAnotherServer(null, 'https://api.openai.com/v1'), false, 'only the server knows the default URL')
})
