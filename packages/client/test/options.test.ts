/** What is checked before anything is sent, and that the API key is never shown. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { inspect } from 'node:util'
import * as client from '../src/client.ts'
import { refuseBrowser } from '../src/browser-guard.ts'
import { makeApiError } from '../src/errors.ts'
import { sentAgain } from '../src/retries.ts'
import { randomKey, timedKey } from '../src/random-key.ts'
import { version } from '../src/version.ts'
import { refused, replied, secret, startScriptedServer } from './scripted-server.ts'

const { Turnkeep, TurnkeepError } = client
const usual = { baseURL: 'http://127.0.0.1:8080', agentId: 'agt_1', apiKey: secret }
const message = { externalUserId: 'ann', message: 'Hello' }
const everything = (value: unknown): string => inspect(value, { depth: Infinity, showHidden: true, getters: true })

test('invalid options are refused with their name, and never their value', () => {
  const wrong: [string, object][] = [
    ['baseURL', { baseURL: undefined }],
    ['baseURL', { baseURL: '127.0.0.1:8080' }],
    ['baseURL', { baseURL: 'file:///etc' }],
    ['baseURL', { baseURL: `http://ann:${secret}@127.0.0.1` }],
    ['baseURL', { baseURL: `http://127.0.0.1/?key=${secret}` }],
    ['agentId', { agentId: undefined }],
    ['agentId', { agentId: '' }],
    ['agentId', { agentId: '..' }],
    ['agentId', { agentId: '\ud800' }],
    ['apiKey', { apiKey: undefined }],
    ['apiKey', { apiKey: ' ' }],
    ['apiKey', { apiKey: `${secret}\nX-Other: 1` }],
    ['apiKey', { apiKey: `${secret}…` }],
    ['timeout', { timeout: -1 }],
    ['timeout', { timeout: 0 }],
    ['maxRetries', { maxRetries: -1 }],
    ['maxRetries', { maxRetries: NaN }],
    ['maxWait', { maxWait: 0 }],
    ['maxWait', { maxWait: '5' }],
  ]
  for (const [name, options] of wrong) {
    assert.throws(
      () => new Turnkeep({ ...usual, ...options }),
      (error) => {
        assert.ok(error instanceof TurnkeepError, inspect(options))
        assert.ok(error.message.startsWith(name), error.message)
        assert.ok(!everything(error).includes(secret.slice(-11)), everything(error))
        return true
      },
    )
  }
})

test('a call refuses a time of zero, too, before anything is sent; infinity is allowed', async () => {
  await using server = await startScriptedServer(replied())
  for (const none of [{ timeout: 0 }, { maxWait: 0 }]) {
    await assert.rejects(server.client().chat(message, none), /^TurnkeepError: (?:timeout|maxWait) must be a number above 0\.$/)
    assert.throws(() => server.client().stream(message, none), TurnkeepError)
  }
  assert.equal(server.requests.length, 0)
  await server.client({ maxRetries: 0, maxWait: Infinity, timeout: Infinity }).chat(message)
})

test('an API key read from a file may end with a line break', async () => {
  await using server = await startScriptedServer(replied())
  await server.client({ apiKey: `${secret}\n` }).chat(message)
  assert.equal(server.requests[0]?.headers.authorization, `Bearer ${secret}`)
})

test('the API key is not shown in the client, a stream, or an error', async () => {
  await using server = await startScriptedServer(refused(422, 'validation_error'), (response) => response.socket?.destroy())
  const one = server.client({ maxRetries: 0 })
  const stream = one.stream(message)
  const shown: unknown[] = [one, one.conversations, one.conversations.list(), stream, JSON.stringify(one)]
  for (let call = 0; call < 2; call++) shown.push(await one.chat(message).catch((error: unknown) => error))
  shown.push(await stream.completed.catch((error: unknown) => error))
  for (const value of shown) assert.ok(!everything(value).includes('svc_live_'), everything(value))
})

test('idempotency.key-text: a key with any characters is sent as UTF-8; a key that a header would change is refused before anything is sent', async () => {
  await using server = await startScriptedServer(replied())
  for (const idempotencyKey of ['ключ 🗝', 'clé', '"quoted"', 'two words', 'à', '\u00a0', 'a'.repeat(255)]) {
    await server.client().chat(message, { idempotencyKey })
    assert.equal(Buffer.from(server.keys.at(-1) ?? '', 'latin1').toString(), idempotencyKey)
  }
  const sent = server.requests.length
  for (const idempotencyKey of ['', ' ', ' a', 'a ', '\ta', 'a\t', 'a\nb', 'a\0', '\u007f', '\u0085', '\ud800']) {
    await assert.rejects(
      server.client().chat(message, { idempotencyKey }),
      (error) => error instanceof TurnkeepError && /idempotencyKey/.test(error.message),
    )
    assert.throws(() => server.client().stream(message, { idempotencyKey }), TurnkeepError)
  }
  assert.equal(server.requests.length, sent)
})

test('each call gets a new key, also if the runtime has no crypto', () => {
  const uuid = /^[\da-f]{8}-[\da-f]{4}-[47][\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/
  const keys = Array.from({ length: 100 }, () => [randomKey(), timedKey(Date.now(), Math.random)]).flat()
  assert.equal(new Set(keys).size, 200)
  for (const key of keys) assert.match(key, uuid)
  assert.equal(
    timedKey(0x01a1_fe73_16c6, () => 0.999),
    '01a1fe73-16c6-7fff-bfff-ffffffffffff',
  )
})

test('a browser is refused', () => {
  assert.throws(() => refuseBrowser({ window: {}, document: {} }), /browser/)
  refuseBrowser({ window: {} })
  refuseBrowser(globalThis)
  Object.assign(globalThis, { window: globalThis, document: {} })
  try {
    assert.throws(() => new Turnkeep(usual), TurnkeepError)
  } finally {
    Reflect.deleteProperty(globalThis, 'window')
    Reflect.deleteProperty(globalThis, 'document')
  }
})

test('errors have classes by status, which differ in class and name', () => {
  const names = {
    400: 'BadRequestError',
    401: 'AuthenticationError',
    402: 'InsufficientBalanceError',
    403: 'PermissionDeniedError',
    404: 'NotFoundError',
    409: 'ConflictError',
    422: 'ValidationError',
    429: 'RateLimitError',
    500: 'InternalServerError',
    502: 'InternalServerError',
    503: 'ServiceUnavailableError',
    405: 'APIError',
    413: 'APIError',
  }
  const exported = new Map<string, unknown>(Object.entries(client))
  for (const [status, name] of Object.entries(names)) {
    const error = makeApiError('why', { status: Number(status), code: 'c' })
    assert.equal(error.constructor, exported.get(name))
    assert.ok(error instanceof client.APIError && error instanceof TurnkeepError && error instanceof Error)
    assert.equal(error.name, name)
    assert.match(inspect(error), new RegExp(`^${name}: why\n`))
  }
  const others = [client.TurnkeepError, client.APIConnectionError, client.APIConnectionTimeoutError, client.APIUserAbortError]
  for (const Class of others) assert.match(String(new Class('why').stack), new RegExp(`^${Class.name}: why\n`))
})

test('errors: a spend limit has a class of its own, with the time to the end of its window, and is not repeated', () => {
  const error = makeApiError('why', { status: 402, code: 'spend_limit_exceeded', retryAfter: 86_000 })
  assert.equal(error.constructor, client.SpendLimitError)
  assert.deepEqual([error.name, error.retryAfter, sentAgain(error)], ['SpendLimitError', 86_000, undefined])
})

test('the version is that of the package', () => {
  const { version: packed } = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')) as { version: string }
  assert.equal(version, packed)
})
