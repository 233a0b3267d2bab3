/**
 * Why a turn failed: its log line names one kind of a closed list, and no line contains a word of a user, a document or a provider, at any
 * log level. The provider's own words are where the operator reads the failure of the turn.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { pino } from 'pino'
import { withTcpServer } from '../support/ask-model.ts'
import { startEmbeddingServer } from '../support/embedding-server.ts'
import { completion, cut } from '../support/model-server.ts'
import type { Script } from '../support/model-server.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Json, TestApp, TestAppOptions } from '../support/test-app.ts'
import { call } from '../support/tool-process-runs.ts'

/** In the message of the user. A provider that repeats its input repeats it, too. */
const canary = 'CANARY-4711'

async function start(t: TestContext, options: TestAppOptions = {}): Promise<{ app: TestApp; lines: Json[] }> {
  const lines: Json[] = []
  const log = pino({ level: 'trace' }, { write: (line) => void lines.push(JSON.parse(line) as Json) })
  const app = await startTestApp({ log, ...options })
  t.after(() => app.close())
  return { app, lines }
}

/** Sends a message, and returns the log line and the stored failure of its turn. */
async function failureOf({ app, lines }: { app: TestApp; lines: Json[] }, options: Parameters<TestApp['chat']>[1] = {}): Promise<Json> {
  const { json, text } = await app.chat(`my secret is ${canary}`, options)
  assert.ok(json['error'], text)
  const { request_id: requestId } = json['error']
  const ended = lines.filter(({ msg, request_id: id }) => msg === 'turn ended without a reply' && id === requestId)
  assert.equal(ended.length, 1)
  assert.doesNotMatch(JSON.stringify(lines), /CANARY/)
  const { failure } = await app.made('GET', `/turns/${requestId}`)
  return { line: ended[0]!, failure, kind: ended[0]!['cause_kind'] }
}

const echo = `no: my secret is ${canary}`
const error = { message: echo, code: 'x' }
const thrice = (script: Script): Script[] => [script, script, script]
const answers: Record<string, { kind: string; scripts: Script[]; words?: RegExp }> = {
  'status 401': { kind: 'provider_401', scripts: [{ status: 401, body: { error } }], words: /CANARY/ },
  'status 404': { kind: 'provider_404', scripts: [{ status: 404, body: { error } }], words: /CANARY/ },
  'status 418': { kind: 'provider_4xx', scripts: [{ status: 418, body: { error } }] },
  'status 302': { kind: 'provider_3xx', scripts: [{ status: 302, headers: { location: '/x' } }] },
  'status 500': { kind: 'provider_500', scripts: thrice({ status: 500, body: { error } }), words: /CANARY/ },
  'status 429': { kind: 'provider_429', scripts: [{ status: 429, headers: { 'retry-after': '3600' }, body: { error } }] },
  'status 599': { kind: 'provider_5xx', scripts: thrice({ status: 599, body: { error } }) },
  'an unknown model': {
    kind: 'model_not_found',
    scripts: [{ status: 404, body: { error: { message: `The model ${canary} does not exist`, code: 'model_not_found' } } }],
    words: /CANARY/,
  },
  'an unknown model of Ollama': {
    kind: 'model_not_found',
    scripts: [{ status: 404, body: { error: `model "x" not found, try pulling it first` } }],
  },
  'a prompt that is too long': {
    kind: 'prompt_too_long',
    scripts: [{ status: 400, body: { error: { message: `maximum context length ${canary}` } } }],
  },
  'an error in the stream': { kind: 'provider_error', scripts: thrice([{ event: { error } }]), words: /CANARY/ },
  'a stream that is cut': { kind: 'provider_interrupted', scripts: [[canary, cut('fin')]] },
  'a stream that ends early': { kind: 'provider_interrupted', scripts: [[canary, cut('end')]] },
  'a stream that is not JSON': { kind: 'invalid_answer', scripts: thrice([{ raw: `data: {"choices": ${canary}\n\n` }]) },
  'another content type': {
    kind: 'invalid_answer',
    scripts: thrice({ parts: [{ raw: '<x>' }], headers: { 'content-type': `text/${canary}` } }),
    words: /canary/,
  },
  'an endless answer': { kind: 'answer_too_large', scripts: [[canary, ...Array.from({ length: 400 }, () => 'x'.repeat(1000))]] },
  'a flood of tool calls': {
    kind: 'answer_too_large',
    scripts: thrice({ json: completion({ tool_calls: Array.from({ length: 2000 }, () => ({})) }) }),
  },
  'no text, twice': { kind: 'empty_reply', scripts: [[''], ['']] },
  'a tool call that is cut': { kind: 'tool_call_cut_off', scripts: [[call(canary, { a: canary }), { finish: 'length' }]] },
}
for (const [what, { kind, scripts, words }] of Object.entries(answers)) {
  void test(`log.cause-kind: a model that answers with ${what} is logged as ${kind}, without its words`, async (t) => {
    const run = await start(t)
    run.app.model.script(...scripts)
    const failed = await failureOf(run)
    assert.equal(failed['kind'], kind)
    if (words) assert.match(failed['failure'].cause, words, 'the operator reads the words at the turn')
  })
}

void test('log.cause-kind: steps without end', async (t) => {
  const run = await start(t, { agent: { max_steps: 2 } })
  run.app.model.when(/./, [call(canary, { a: canary })])
  assert.equal((await failureOf(run))['kind'], 'step_limit')
})

void test('log.cause-kind: a provider that cannot be reached, is silent, was deleted, or whose key cannot be decrypted', async (t) => {
  const run = await start(t)
  const impatient = await start(t, { modelSettings: { deadlines: { firstTokenMs: 300, idleMs: 300, tailMs: 300 } } })
  const { app } = run
  const kindAt = async (baseUrl: string, at = run): Promise<string> => {
    await at.app.made('POST', '/providers', { name: 'other', kind: 'openai-compatible', base_url: baseUrl, api_key: 'k' })
    return (await failureOf(at, { caller: await at.app.makeCaller({ agent: { model: 'other/m' } }) }))['kind']
  }
  const freePort = await withTcpServer(
    () => undefined,
    async (port) => port,
  )
  assert.equal(await kindAt(`http://127.0.0.1:${freePort}/v1`), 'provider_unreachable')
  await withTcpServer(
    () => undefined,
    async (port) => assert.equal(await kindAt(`http://127.0.0.1:${port}/v1`, impatient), 'provider_timeout'),
  )
  await app.app.store.write.createProvider({
    id: 'prv_other',
    name: 'sealed-elsewhere',
    kind: 'openai',
    baseUrl: null,
    sealedApiKey: new Uint8Array(60),
  })
  const caller = await app.makeCaller({ agent: { model: 'sealed-elsewhere/m' } })
  assert.equal((await failureOf(run, { caller }))['kind'], 'decrypt_failed')
})

void test('log.cause-kind: the deadline of the turn, and a balance that does not cover the next step', async (t) => {
  const poor = await start(t, { balanceUsd: '0.002' })
  poor.app.model.script([call('x', {}), { usage: { prompt_tokens: 10, completion_tokens: 2048 } }], [call('x', {})])
  assert.equal((await failureOf(poor))['kind'], 'insufficient_balance')
  const run = await start(t, { turnSettings: { turnMs: 400 } })
  const { app } = run
  await withTcpServer(
    () => undefined,
    async (port) => {
      await app.made('POST', '/providers', {
        name: 'slow',
        kind: 'openai-compatible',
        base_url: `http://127.0.0.1:${port}/v1`,
        api_key: 'k',
      })
      const caller = await app.makeCaller({ agent: { model: 'slow/m' } })
      assert.equal((await failureOf(run, { caller }))['kind'], 'turn_timeout')
    },
  )
})

void test('log.cause-kind: an embedding provider that repeats the texts in its errors puts none of them into the log, for a message and for a document', async (t) => {
  const server = await startEmbeddingServer()
  t.after(() => server.close())
  const run = await start(t)
  const { app, lines } = run
  await app.made('POST', '/providers', { name: 'vectors', kind: 'openai-compatible', base_url: server.baseUrl, api_key: 'k' })
  const agent = { knowledge: { embedding_model: 'vectors/m' } }
  const caller = await app.makeCaller({ agent })
  await app.app.knowledge.index({ documentId: 'doc_1', agentId: caller.agentId, title: 'A title', text: 'Some words.' })
  server.break({ status: 400, body: { error: { message: `invalid input: ${canary}` } } })
  assert.equal((await app.chat(`my secret is ${canary}`, { caller })).status, 200)
  const warned = lines.find(({ msg }) => msg === 'query embedding failed: searching by words only')
  assert.deepEqual([warned!['cause_kind'], warned!['cause']], ['provider_400', 'the model server returned status 400'])

  const added = await app.made('POST', `/agents/${caller.agentId}/documents`, { title: 'Notes', text: `All about ${canary}.` })
  const path = `/agents/${caller.agentId}/documents/${added['id']}`
  for (;;) {
    const document = await app.made('GET', path)
    if (document['status'] === 'failed') {
      assert.match(JSON.stringify(document), /CANARY/, 'the operator reads the words at the document')
      break
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const rejected = lines.find(({ msg }) => msg === 'document rejected')
  assert.equal(rejected!['cause_kind'], 'provider_400')
  assert.doesNotMatch(JSON.stringify(lines), /CANARY/)
})
