/**
 * One conversation with each kind of provider, through the whole service: what the model receives, what the caller gets, what is charged.
 * And the price of an agent that is saved without one.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { cost, formatUsd, parseUsd } from '../../src/ledger/ledger.ts'
import { cut } from '../support/model-server.ts'
import type { Cut } from '../support/model-server.ts'
import { hostedKinds, usage } from '../support/provider-dialects.ts'
import { startProviderServer } from '../support/provider-server.ts'
import type { ProviderServer } from '../support/provider-server.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Caller, Json, TestApp } from '../support/test-app.ts'
import { plainPrice, plainTokens } from '../support/token-kinds.ts'

let app: TestApp
let server: ProviderServer
before(async () => {
  server = await startProviderServer()
  app = await startTestApp()
})
after(async () => {
  await app.close()
  await server.close()
})

/** Part of every reasoning text of the model. */
const canary = 'canary-of-a-thought'
const kinds = [...hostedKinds, 'openai-compatible'] as const
type Kind = (typeof kinds)[number]
const modelIds: Record<Kind, string> = {
  openai: 'gpt-5.4-mini',
  anthropic: 'claude-haiku-4-5',
  google: 'gemini-2.5-flash',
  'openai-compatible': 'test-model',
}

/** What both scripted servers understand. */
type Scripted = (string | Cut | { reasoning: string })[] | { status: number; headers?: Record<string, string>; body?: object }

/** The server answers the next calls of this kind with these, each after a reasoning text. */
function script(kind: Kind, ...replies: Scripted[]): void {
  if (kind !== 'openai-compatible') return server.script(...replies)
  const details = {
    prompt_tokens_details: { cached_tokens: usage.cached },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
  }
  const counted = { usage: { prompt_tokens: usage.prompt, completion_tokens: usage.completion, ...details } }
  return app.model.script(...replies.map((reply) => (Array.isArray(reply) ? [...reply, counted] : reply)))
}

/** Role and text of each message of the kind's last call, without its own wrapping and names: `model`, and `developer` for `system`. */
function heard(kind: Kind): string[] {
  const body: Json = kind === 'openai-compatible' ? app.model.calls.at(-1)!.body : server.calls.at(-1)!.body
  const textOf = (content: any): string => (typeof content === 'string' ? content : content.map(({ text }: Json) => text).join(''))
  const of = (list: Json[], key = 'content'): string[] =>
    list.map((one) => `${one['role'].replace('model', 'assistant').replace('developer', 'system')}: ${textOf(one[key])}`)
  switch (kind) {
    case 'openai':
      return of(body['input'])
    case 'openai-compatible':
      return of(body['messages'])
    case 'anthropic':
      return [`system: ${textOf(body['system'])}`, ...of(body['messages'])]
    case 'google':
      return [`system: ${textOf(body['systemInstruction'].parts)}`, ...of(body['contents'], 'parts')]
  }
}

async function callerOf(kind: Kind): Promise<Caller> {
  const base = kind === 'openai-compatible' ? app.model.baseUrl : server.baseUrl(kind)
  const name = `${kind}-${++count}`
  await app.made('POST', '/providers', { name, kind, base_url: base, api_key: 'sk-secret' })
  const price = kind === 'openai-compatible' ? {} : { price: undefined }
  return app.makeCaller({ agent: { model: `${name}/${modelIds[kind]}`, ...price } })
}
let count = 0

for (const kind of kinds) {
  test(`providers: ${kind}: the model receives a conversation of three turns whole; its reasoning stays private; each turn is charged its usage`, async () => {
    const caller = await callerOf(kind)
    const options = { caller, user: 'anna' }
    const seen: string[] = []

    script(kind, [{ reasoning: canary }, 'Nice to meet you, ', 'Anna.'])
    const first = await app.chat('I am Anna.', options)
    assert.equal(first.status, 200, first.text)
    assert.equal(first.json['message'].content, 'Nice to meet you, Anna.')
    assert.deepEqual(heard(kind), ['system: You are a test.', 'user: I am Anna.'])

    script(kind, [{ reasoning: canary }, 'It is ', 'Oslo.'])
    const second = await app.stream('Where does it rain?', { ...options, idempotencyKey: 'second' })
    assert.deepEqual(
      second.events.map(({ event }) => event),
      ['response.created', 'response.output_text.delta', 'response.output_text.delta', 'response.completed'],
    )
    const dialog = ['user: I am Anna.', 'assistant: Nice to meet you, Anna.', 'user: Where does it rain?']
    assert.deepEqual(heard(kind), ['system: You are a test.', ...dialog])

    script(kind, [{ reasoning: canary }, 'You are Anna.'])
    const third = await app.chat('Who am I?', options)
    assert.equal(third.json['message'].content, 'You are Anna.')
    assert.deepEqual(heard(kind), ['system: You are a test.', ...dialog, 'assistant: It is Oslo.', 'user: Who am I?'])

    const asked = server.calls.length + app.model.calls.length
    const replay = await app.stream('Where does it rain?', { ...options, idempotencyKey: 'second' })
    assert.deepEqual(replay.events.at(-1), second.events.at(-1))
    assert.equal(server.calls.length + app.model.calls.length, asked, 'a replay asks no model')

    const agent = await app.made('GET', `/agents/${caller.agentId}`)
    const { price } = agent
    const perMillion = (field: string): bigint => parseUsd(price[field] ?? price.prompt_usd_per_million)!
    const kinds = { ...plainTokens(usage.prompt, usage.completion), cachedPromptTokens: usage.cached, reasoningTokens: usage.reasoning }
    const charged = cost(kinds, {
      ...plainPrice(perMillion('prompt_usd_per_million'), perMillion('completion_usd_per_million')),
      cachedPromptPerMillion: perMillion('cached_prompt_usd_per_million'),
    })
    for (const billed of [first.json['usage'], second.events.at(-1)!.data['usage'], third.json['usage']]) {
      assert.deepEqual(billed, {
        prompt_tokens: usage.prompt,
        completion_tokens: usage.completion,
        total_tokens: usage.prompt + usage.completion,
        charged_usd: formatUsd(charged),
      })
    }
    const owner = await app.made('GET', `/owners/${caller.ownerId}`)
    assert.equal(parseUsd(owner['balance_usd']), 1_000_000_000n - 3n * charged)

    const messages = await app.messages('anna', caller)
    assert.deepEqual(
      messages.map(({ role, content }) => `${role}: ${content}`),
      [...dialog, 'assistant: It is Oslo.', 'user: Who am I?', 'assistant: You are Anna.'],
    )
    seen.push(first.text, second.text, third.text, replay.text, JSON.stringify([messages, owner, agent]))
    for (const text of seen) assert.ok(!text.includes(canary))
    await app.verify()
  })

  test(`fault.model-unavailable fault.model-stream-truncated stream.after-delta: ${kind}: a 429 with Retry-After is retried before the first delta; a break after it ends the stream, uncharged`, async () => {
    const caller = await callerOf(kind)
    script(kind, { status: 429, headers: { 'retry-after': '0' } }, ['Hello.'])
    assert.equal((await app.chat('Hi', { caller })).json['message'].content, 'Hello.')

    const before = await app.made('GET', `/owners/${caller.ownerId}`)
    script(kind, [{ reasoning: canary }, 'Hel', cut('fin')])
    const broken = await app.stream('Hi again', { caller })
    assert.deepEqual(
      broken.events.map(({ event }) => event),
      ['response.created', 'response.output_text.delta', 'error'],
    )
    assert.equal(broken.events.at(-1)!.data['code'], 'service_unavailable')
    assert.ok(!broken.text.includes(canary))
    // `billing.unpaid`: nothing was charged or reserved, but the text that was sent is reported as unpaid.
    assert.deepEqual(await app.made('GET', `/owners/${caller.ownerId}`), before)
    const { totals } = await app.made('GET', `/usage?owner_id=${caller.ownerId}`)
    assert.ok(Number(totals.unpaid_usd) > 0)
    assert.equal((await app.messages('user-1', caller)).length, 2)
  })

  test(`fault.model-refuses turn.states: ${kind}: a refused key is for the operator to fix: internal_error, one call, without the provider's message`, async () => {
    const caller = await callerOf(kind)
    const asked = server.calls.length + app.model.calls.length
    script(kind, { status: 401, body: { error: { message: 'sk-secret is wrong' } } })
    const answer = await app.chat('Hi', { caller })
    assert.deepEqual([answer.status, answer.json['error'].code], [500, 'internal_error'])
    assert.equal(server.calls.length + app.model.calls.length, asked + 1)
    assert.ok(!answer.text.includes('wrong'))
  })
}

test('prices: an agent saved without a price gets the known one of its model; a given price is used as it is', async () => {
  for (const kind of hostedKinds) {
    await app.made('POST', '/providers', { name: `priced-${kind}`, kind, api_key: 'sk-secret' })
  }
  const make = (model: string, price?: Json) => app.makeAgent(app.caller.ownerId, { model, price })
  const usd = (prompt: string, completion: string, cached: string | null = null, written: string | null = null) => ({
    prompt_usd_per_million: prompt,
    completion_usd_per_million: completion,
    cached_prompt_usd_per_million: cached,
    cache_write_usd_per_million: written,
  })
  const agent = await make('priced-openai/gpt-5.4-mini')
  assert.deepEqual(agent['price'], usd('0.75000000', '4.50000000', '0.07500000'))
  assert.deepEqual(
    (await make('priced-google/gemini-2.5-pro'))['price'],
    usd('2.50000000', '15.00000000', '0.25000000'),
    'the highest step',
  )
  assert.deepEqual((await make('priced-openai/gpt-5.4-mini', usd('1', '2')))['price'], usd('1.00000000', '2.00000000'))

  const moved = await app.made('PATCH', `/agents/${agent['id']}`, { model: 'priced-anthropic/claude-haiku-4-5' })
  assert.deepEqual(moved['price'], usd('1.00000000', '5.00000000', '0.10000000', '1.25000000'), 'another model, another price')
  const named = await app.made('PATCH', `/agents/${agent['id']}`, { name: 'Other' })
  assert.deepEqual(named['price'], moved['price'])
})

test('prices: a model without a known price needs one, when it is created or changed', async () => {
  const refused = async (asked: Promise<{ status: number; json: Json }>): Promise<void> => {
    const { status, json } = await asked
    assert.deepEqual([status, json['error'].code], [422, 'validation_error'])
    assert.match(json['error'].message, /price is required/)
  }
  const body = { owner_id: app.caller.ownerId, name: 'x', system_prompt: '' }
  await refused(app.admin('POST', '/agents', { ...body, model: 'scripted/test-model' }))
  await refused(app.admin('POST', '/agents', { ...body, model: 'priced-openai/gpt-unheard-of' }))
  await refused(app.admin('PATCH', `/agents/${app.caller.agentId}`, { model: 'scripted/other' }))
})

test('providers: a test of a hosted kind requests its list of models, or calls the given model', async () => {
  for (const kind of hostedKinds) {
    const { id } = await app.made('POST', '/providers', {
      name: `tested-${kind}`,
      kind,
      base_url: server.baseUrl(kind),
      api_key: 'sk-secret',
    })
    const listed = await app.made('POST', `/providers/${id}/test`)
    assert.deepEqual([listed['ok'], listed['model']], [true, undefined])
    assert.match(server.calls.at(-1)!.path, /\/models$/)
    const called = await app.made('POST', `/providers/${id}/test`, { model: 'tiny' })
    assert.deepEqual([called['ok'], called['model']], [true, 'tiny'])
    server.script({ status: 401, body: { error: { message: 'key sk-secret is wrong' } } })
    const failed = await app.made('POST', `/providers/${id}/test`, { model: 'tiny' })
    assert.equal(failed['ok'], false)
    assert.match(failed['error'], /401.*key \[api key\] is wrong/)
  }
})
