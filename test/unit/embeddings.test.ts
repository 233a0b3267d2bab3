/** Vectors from the embedding model that an agent names: over real HTTP, with a real model, from providers in a real store. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { createEmbeddings } from '../../src/agent/models/embeddings.ts'
import type { Embeddings } from '../../src/agent/models/embeddings.ts'
import { ModelError } from '../../src/agent/models/model.ts'
import { canEmbed, createModels } from '../../src/agent/models/models.ts'
import type { ModelsOptions } from '../../src/agent/models/models.ts'
import { keyBoundTo } from '../../src/config/provider-address.ts'
import { createSealer } from '../../src/config/secrets.ts'
import type { NewProvider } from '../../src/store/queries/providers.ts'
import { apiKey, withTcpServer } from '../support/ask-model.ts'
import { embeddingDimensions, startEmbeddingServer } from '../support/embedding-server.ts'
import type { EmbeddingReply, EmbeddingServer } from '../support/embedding-server.ts'
import { fakeTimers } from '../support/fake-timers.ts'
import { openOwnStore } from '../support/own-store.ts'
import { until } from '../support/until.ts'

let server: EmbeddingServer
before(async () => {
  server = await startEmbeddingServer()
})
after(() => server.close())

const sealer = createSealer([randomBytes(32)])
const never = new AbortController().signal

type ScenarioFixture = Embeddings & {
  addProvider(name: string, kind: NewProvider['kind'], baseUrl: string | null, sealedTo?: string): Promise<void>
}

/** Embeddings on a separate store, with a provider named `own` that is the test's server. */
async function open(t: TestContext, options: ModelsOptions = {}): Promise<ScenarioFixture> {
  const store = await openOwnStore(t)
  const models = createModels(options)
  t.after(() => models.close())
  let made = 0
  const house: ScenarioFixture = {
    ...createEmbeddings({ store, sealer, models }),
    async addProvider(name, kind, baseUrl, sealedTo) {
      const id = `prv_${made++}`
      await store.write.createProvider({
        id,
        name,
        kind,
        baseUrl,
        sealedApiKey: sealer.seal(apiKey, keyBoundTo({ id: sealedTo ?? id, kind, baseUrl })),
      })
    },
  }
  await house.addProvider('own', 'openai-compatible', server.baseUrl)
  return house
}

const failure = async (making: Promise<unknown>): Promise<ModelError> => {
  const error = await making.then(
    () => assert.fail('it made vectors'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof ModelError, String(error))
  assert.doesNotMatch(error.message, /canary/)
  return error
}
const likeness = (a: Float32Array, b: Float32Array): number => a.reduce((sum, number, n) => sum + number * b[n]!, 0)
const close = (a: Float32Array, b: ArrayLike<number>): void => {
  assert.equal(a.length, b.length)
  for (const [n, number] of a.entries()) assert.ok(Math.abs(number - b[n]!) < 1e-6, `${number} at ${n}`)
}

test('embeddings: texts of similar meaning are close, and every vector has length 1', async (t) => {
  const { embed } = await open(t)
  const vectors = await embed(
    'own/any-model',
    ['How can I send a purchase back?', 'Returning goods you bought', 'The moon orbits the earth'],
    never,
  )
  const [question, near, far] = vectors as [Float32Array, Float32Array, Float32Array]
  assert.ok(likeness(question, near) > likeness(question, far) + 0.1, `${likeness(question, near)} and ${likeness(question, far)}`)
  for (const vector of vectors) {
    assert.ok(vector instanceof Float32Array && vector.length === embeddingDimensions)
    assert.ok(Math.abs(likeness(vector, vector) - 1) < 1e-6)
  }
  assert.deepEqual(await embed('own/any-model', [], never), [])
})

test('embeddings: texts are sent in batches of at most 64, and their vectors are returned in order', async (t) => {
  const { embed } = await open(t)
  const texts = Array.from({ length: 150 }, (_, n) => `Text number ${n}`)
  const before = server.calls.length
  server.script('shuffled')
  const vectors = await embed('own/some/model', texts, never)
  const calls = server.calls.slice(before)
  assert.deepEqual(
    calls.map((call) => call.texts.length),
    [64, 64, 22],
  )
  assert.deepEqual(
    calls.flatMap((call) => call.texts),
    texts,
  )
  assert.equal(calls[0]!.model, 'some/model')
  for (const n of [0, 63, 64, 149]) close((await embed('own/some/model', [texts[n]!], never))[0]!, vectors[n]!)
})

test('embeddings: vectors in base64 are decoded to the same vectors', async (t) => {
  const { embed } = await open(t)
  const [plain] = await embed('own/m', ['Hello'], never)
  server.script('base64')
  close((await embed('own/m', ['Hello'], never))[0]!, plain!)
})

test('embeddings: each provider kind is called at its own address with its key, and with nothing else', async (t) => {
  const { embed, addProvider } = await open(t)
  await addProvider('hosted', 'openai', `${server.baseUrl}/?version=7`)
  await addProvider('gemini', 'google', server.googleBaseUrl)
  await embed('hosted/text-embedding-3-small', ['Hello', 'Hi'], never)
  const openai = server.calls.at(-1)!
  assert.deepEqual([openai.path, openai.headers.authorization], ['/v1/embeddings?version=7', `Bearer ${apiKey}`])
  assert.deepEqual(openai.body, { model: 'text-embedding-3-small', input: ['Hello', 'Hi'] })
  const vectors = await embed('gemini/gemini-embedding-001', ['Hello', 'Hi'], never)
  const google = server.calls.at(-1)!
  assert.deepEqual([google.path, google.headers['x-goog-api-key']], ['/v1beta/models/gemini-embedding-001:batchEmbedContents', apiKey])
  assert.deepEqual(google.body, {
    requests: ['Hello', 'Hi'].map((text) => ({ model: 'models/gemini-embedding-001', content: { parts: [{ text }] } })),
  })
  for (const [n, vector] of (await embed('own/m', ['Hello', 'Hi'], never)).entries()) close(vectors[n]!, vector)
})

test('embeddings: a provider without embeddings, an unknown one and one whose key cannot be decrypted are refused without a request', async (t) => {
  const { embed, addProvider } = await open(t)
  await addProvider('claude', 'anthropic', server.baseUrl)
  await addProvider('sealed', 'openai', server.baseUrl, 'prv_another')
  await addProvider('nowhere', 'openai-compatible', null)
  const before = server.calls.length
  for (const [name, words] of Object.entries({
    'claude/m': /anthropic makes no embeddings/,
    'demo/m': /demo makes no embeddings/,
    'absent/m': /no provider named absent/,
    'sealed/m': /./,
    'nowhere/m': /no base URL/,
    own: /<provider name>\/<model id>/,
  })) {
    const error = await failure(embed(name, ['Hello'], never))
    assert.equal(error.kind, 'refused', name)
    assert.match(error.message, words)
  }
  assert.equal(server.calls.length, before)
  assert.deepEqual(['openai', 'google', 'openai-compatible', 'anthropic', 'demo', ''].filter(canEmbed), [
    'openai',
    'google',
    'openai-compatible',
  ])
})

test('embeddings: 429, 5xx and a broken connection are retried at most twice; other refusals are not', async (t) => {
  const { embed } = await open(t)
  const callsOf = async (replies: EmbeddingReply[], end: 'made' | ModelError['kind']): Promise<void> => {
    const before = server.calls.length
    server.script(...replies)
    const making = embed('own/m', ['Hello'], never)
    if (end === 'made') await making
    else assert.equal((await failure(making)).kind, end)
    assert.equal(server.calls.length - before, replies.length, JSON.stringify(replies))
  }
  await callsOf([{ status: 503 }, 'cut', { json: { data: [{ embedding: [1, 0] }] } }], 'made')
  await callsOf([{ status: 429, headers: { 'retry-after': '0' } }, { status: 500 }, { status: 529 }], 'unavailable')
  await callsOf([{ status: 429, headers: { 'retry-after': '6' } }], 'unavailable')
  for (const status of [400, 401, 404]) await callsOf([{ status }], 'refused')
  await callsOf([{ status: 307, headers: { location: '/v1/embeddings' } }], 'refused')
  await callsOf([{ status: 400, body: { error: { message: 'the input length exceeds the context length' } } }], 'too_long')
})

test('embeddings: a later batch that fails fails the whole call, and the key is in no error', async (t) => {
  const { embed } = await open(t)
  server.script({ vectors: Array.from({ length: 64 }, () => [1, 0]) }, { status: 401, body: `wrong key ${apiKey}` })
  const error = await failure(
    embed(
      'own/m',
      Array.from({ length: 65 }, () => 'x'),
      never,
    ),
  )
  assert.match(error.message, /wrong key \[api key\]/)
})

test('embeddings: an invalid response is refused and not retried', async (t) => {
  const { embed } = await open(t)
  const one = (embedding: unknown, index?: number) => ({ embedding, ...(index === undefined ? {} : { index }) })
  const two = (embedding: unknown, index: number) => ({ json: { data: [one(embedding, index), one([1, 0], 1)] } })
  const unsound: EmbeddingReply[] = [
    { status: 200, body: 'no JSON' },
    { json: {} },
    { json: { data: [] } },
    { json: { data: [one([1, 0])] } },
    {
      vectors: [
        [1, 0],
        [1, 0],
        [1, 0],
      ],
    },
    {
      vectors: [
        [1, 0],
        [1, 0, 0],
      ],
    },
    { vectors: [[1, 0], []] },
    { vectors: [[1, 0], null] },
    {
      vectors: [
        [1, 0],
        [1, null],
      ],
    },
    {
      vectors: [
        [1, 0],
        ['1', '0'],
      ],
    },
    {
      vectors: [
        [1, 0],
        [0, 0],
      ],
    },
    { vectors: [[1, 0], 'AAAA'] },
    { vectors: Array.from({ length: 2 }, () => Array.from({ length: 4097 }, () => 1)) },
    // the same index twice, and an invalid one
    two([1, 0], 1),
    two([1, 0], 4_000_000_000),
    two([1, 0], -1),
    // valid except for its size
    { status: 200, body: `{"data":[{"embedding":[1]},{"embedding":[1]}]${' '.repeat(9 * 1024 * 1024)}}` },
  ]
  for (const reply of unsound) {
    const before = server.calls.length
    server.script(reply)
    assert.equal((await failure(embed('own/m', ['a', 'b'], never))).kind, 'refused', JSON.stringify(reply).slice(0, 100))
    assert.equal(server.calls.length, before + 1)
  }
  server.script({
    vectors: [
      [3e200, 4e200],
      [0, -1e-30],
    ],
  })
  const [large, small] = await embed('own/m', ['a', 'b'], never)
  close(large!, [0.6, 0.8])
  close(small!, [0, -1])
  server.script({ vectors: Array.from({ length: 64 }, () => [1, 0]) }, { vectors: [[1, 0, 0]] })
  assert.equal(
    (
      await failure(
        embed(
          'own/m',
          Array.from({ length: 65 }, () => 'x'),
          never,
        ),
      )
    ).kind,
    'refused',
  )
})

test('embeddings: a provider that hangs ends at the deadline, and an unreachable one is unavailable', async (t) => {
  const timers = fakeTimers(t, (ms) => ms === 20_000)
  const { embed, addProvider } = await open(t)
  server.script('hang', 'hang', 'hang')
  const before = server.calls.length
  const failed = failure(embed('own/m', ['Hello'], never))
  for (let tries = 1; tries <= 3; tries++) {
    await until('the provider is asked', () => server.calls.length === before + tries)
    timers.pass(20_000)
  }
  const error = await failed
  assert.equal(error.kind, 'unavailable')
  assert.match(error.message, /within 20000 ms/)
  assert.equal(server.calls.length, before + 3)
  assert.equal(await server.calls.at(-1)!.ended, 'aborted')
  const port = await withTcpServer(
    () => undefined,
    async (open) => open,
  )
  await addProvider('gone', 'openai-compatible', `http://127.0.0.1:${port}`)
  assert.equal((await failure(embed('gone/m', ['Hello'], never))).kind, 'unavailable')
})

test('embeddings: an abort rejects with its reason immediately, and closes the connection', async (t) => {
  const { embed } = await open(t, { embedDeadlineMs: 600_000 })
  const reason = new Error('enough')
  await assert.rejects(embed('own/m', ['Hello'], AbortSignal.abort(reason)), (error) => error === reason)
  server.script('hang')
  const stop = new AbortController()
  const before = server.calls.length
  const making = assert.rejects(embed('own/m', ['Hello'], stop.signal), (error) => error === reason)
  while (server.calls.length === before) await wait(5)
  stop.abort(reason)
  await Promise.race([making, wait(20_000, undefined, { ref: false }).then(() => assert.fail('it went on'))])
  assert.equal(await server.calls.at(-1)!.ended, 'aborted')
})
