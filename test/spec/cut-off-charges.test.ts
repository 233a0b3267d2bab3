/**
 * What a turn pays whose model call does not come to its end: cancelled, broken off, too late, drained or cut at its limit, in the second step
 * of a tool loop, with each kind of provider, over HTTP (`turn.cancel`, `billing.usage-missing`, `billing.token-kinds`).
 */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { test } from 'node:test'
import { charge, formatUsd, parseUsd } from '../../src/ledger/ledger.ts'
import { answerKinds } from '../support/dialect-answers.ts'
import type { AnswerKind } from '../support/dialect-answers.ts'
import { cut, gate, startModelServer } from '../support/model-server.ts'
import type { Cut, Gate } from '../support/model-server.ts'
import { startProviderServer } from '../support/provider-server.ts'
import type { ProviderPart, ProviderServer } from '../support/provider-server.ts'
import { makeFolder, startTestApp } from '../support/test-app.ts'
import type { Caller, Json, TestApp, TestAppOptions } from '../support/test-app.ts'
import { until } from '../support/until.ts'
import { textEvent } from '../support/usage-events.ts'
import type { Counts } from '../support/usage-events.ts'

const price = {
  prompt_usd_per_million: '3',
  completion_usd_per_million: '15',
  cached_prompt_usd_per_million: '0.3',
  cache_write_usd_per_million: '3.75',
}
const agent = { price, max_steps: 3, max_output_tokens: 500, system_prompt: 'You are a test. '.repeat(100) }

/** At the price of the agents of this test. */
function costOf(prompt: number, cached: number, completion: number): string {
  const perMillion = (usd: string): bigint => parseUsd(usd)!
  const tokens = { promptTokens: prompt, cachedPromptTokens: cached, cacheWriteTokens: 0, completionTokens: completion, reasoningTokens: 0 }
  const prices = {
    promptPerMillion: perMillion(price.prompt_usd_per_million),
    completionPerMillion: perMillion(price.completion_usd_per_million),
    cachedPromptPerMillion: perMillion(price.cached_prompt_usd_per_million),
    cacheWritePerMillion: perMillion(price.cache_write_usd_per_million),
  }
  return formatUsd(charge(tokens, 0n, prices, 10n ** 12n).charged)
}

// The whole first step, and what the provider has reported with the first piece of the second one.
const first: Counts = { prompt: 900, cached: 400, completion: 30 }
const second: Counts = { prompt: 1000, cached: 600, completion: 5 }
const pieces = ['It rains', ' in Oslo'] as const
const text = pieces.join('')
/** Of the second piece, which no report includes. */
const estimated = Math.ceil(pieces[1].length / 4)

type Started = { app: TestApp; server: ProviderServer; caller: Caller; kind: AnswerKind } & AsyncDisposable

async function start(kind: AnswerKind, options: TestAppOptions = {}): Promise<Started> {
  const [app, server] = await Promise.all([startTestApp(options), startProviderServer()])
  const base = kind === 'openai-compatible' ? app.model.baseUrl : server.baseUrl(kind)
  await app.made('POST', '/providers', { name: 'dialect', kind, base_url: base, api_key: 'sk-secret' })
  const caller = await app.makeCaller({ agent: { ...agent, model: 'dialect/m' } })
  const stop = async (): Promise<void> => {
    await app.close()
    await server.close()
  }
  return { app, server, kind, caller, [Symbol.asyncDispose]: stop }
}

/** One step with a tool call, and another one with these parts. `counts`: reported with the first piece of the second step. */
function script({ app, server, kind }: Started, counts: Counts | undefined, end: Gate | Cut): void {
  const call = { toolCall: { id: 'call_1', name: 'missing', arguments: '{}' } }
  const [said, ...others] = [textEvent(kind, pieces[0], counts), textEvent(kind, pieces[1])]
  if (kind === 'openai-compatible') {
    const { prompt, cached, completion } = first
    const usage = { prompt_tokens: prompt, completion_tokens: completion, prompt_tokens_details: { cached_tokens: cached } }
    app.model.script([call, { usage }], [{ event: said }, ...others.map((event) => ({ event })), end])
    return
  }
  const raw = (data: Json): ProviderPart => ({
    raw: `${'type' in data ? `event: ${String(data['type'])}\n` : ''}data: ${JSON.stringify(data)}\n\n`,
  })
  const usage = { prompt: first.prompt, cached: first.cached, completion: first.completion!, reasoning: 0 }
  server.script([call, { usage }], [raw(said!), ...others.map(raw), end])
}

/** Starts a stream and reads it until all text has arrived. */
async function streamText({ app, caller }: Started): Promise<{ requestId: string; rest(): Promise<string> }> {
  const response = await app.chatRequest({ external_user_id: 'user-1', message: 'weather' }, { caller, path: 'chat/stream' })
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let read = ''
  const pull = async (): Promise<boolean> => {
    const { done, value = '' } = await reader.read()
    read += value
    return !done
  }
  while (!read.includes('Oslo') && (await pull()));
  const rest = async (): Promise<string> => {
    while (await pull());
    return read
  }
  return { requestId: response.headers.get('x-request-id')!, rest }
}

const cancel = ({ app, caller }: Started, requestId: string): Promise<Response> =>
  fetch(`${app.url}/v1/agents/${caller.agentId}/turns/${requestId}/cancel`, {
    method: 'POST',
    headers: { authorization: `Bearer ${caller.apiKey}` },
  })

const counted = ({ usage }: Json) => [
  usage.prompt_tokens,
  usage.prompt_tokens_details.cached_tokens,
  usage.completion_tokens,
  usage.charged_usd,
  usage.estimated,
]

for (const kind of answerKinds) {
  void test(`turn.cancel billing.token-kinds: ${kind}: a cancel in the second step charges the first one and what was reported of the second one`, async () => {
    await using started = await start(kind)
    const { app } = started
    script(started, second, gate())
    const { requestId, rest } = await streamText(started)
    assert.equal((await cancel(started, requestId)).status, 200)
    await rest()
    const turn = await app.made('GET', `/turns/${requestId}`)
    const said = (await app.messages('user-1', started.caller)).map(({ content, incomplete }) => [content, incomplete])
    assert.deepEqual(
      [turn.state, said],
      [
        'completed',
        [
          ['weather', undefined],
          [text, true],
        ],
      ],
    )
    const tokens = [1900, 1000, 35 + estimated] as const
    assert.deepEqual(counted(turn), [...tokens, costOf(...tokens), true])
    await app.verify()
  })

  void test(`turn.cancel billing.usage-missing: ${kind}: of a second step without a report, everything is estimated, and the first one is charged as reported`, async () => {
    await using started = await start(kind)
    const { app } = started
    script(started, undefined, gate())
    const { requestId, rest } = await streamText(started)
    await cancel(started, requestId)
    await rest()
    const [prompt, cached, completion, charged, isEstimated] = counted(await app.made('GET', `/turns/${requestId}`))
    // The prompt has the 1,600 bytes of the system prompt and little more.
    assert.ok(prompt >= 900 + 400 && prompt < 900 + 600, String(prompt))
    assert.deepEqual([cached, completion, isEstimated], [400, 30 + Math.ceil(text.length / 4), true])
    assert.equal(charged, costOf(prompt, cached, completion))
    await app.verify()
  })

  void test(`billing.unpaid billing.token-kinds: ${kind}: a stream that breaks after text costs nothing, and what was reported is the unpaid amount`, async () => {
    await using started = await start(kind)
    const { app } = started
    script(started, second, cut('fin'))
    const { rest } = await streamText(started)
    assert.match(await rest(), /service_unavailable/)
    const owner = await app.made('GET', `/owners/${started.caller.ownerId}`)
    assert.deepEqual([owner.balance_usd, owner.held_usd, owner.unpaid_usd], ['10.00000000', '0.00000000', '0.00000000'])
    const { totals } = await app.made('GET', `/usage?owner_id=${started.caller.ownerId}`)
    assert.equal(totals.unpaid_usd, costOf(1900, 1000, 35 + estimated))
    await app.verify()
  })

  void test(`billing.unpaid billing.token-kinds: ${kind}: after the deadline, what was reported is reserved`, async () => {
    // On a busy machine, the deadline may pass before the text.
    for (let turnMs = 1_000; ; turnMs *= 3) {
      await using started = await start(kind, { turnSettings: { turnMs } })
      const { app, caller } = started
      script(started, second, gate())
      const events = await (await streamText(started)).rest()
      assert.match(events, /service_unavailable/)
      if (!events.includes('Oslo') && turnMs < 60_000) continue
      const owner = await app.made('GET', `/owners/${caller.ownerId}`)
      assert.deepEqual(
        [owner.balance_usd, owner.held_usd, owner.unpaid_usd],
        ['10.00000000', '0.00000000', costOf(1900, 1000, 35 + estimated)],
      )
      return app.verify()
    }
  })

  void test(`billing.token-kinds: ${kind}: a reply that is cut off at the output limit is charged what was reported of it`, async () => {
    await using started = await start(kind)
    const { app } = started
    const usage = { prompt: 1000, cached: 600, completion: 500, reasoning: 0 }
    if (kind === 'openai-compatible')
      app.model.script([
        text,
        { finish: 'length' },
        { usage: { prompt_tokens: 1000, completion_tokens: 500, prompt_tokens_details: { cached_tokens: 600 } } },
      ])
    else started.server.script([text, { finish: 'length' }, { usage }])
    const { json } = await app.chat('weather', { caller: started.caller })
    assert.equal(json['message'].incomplete, true)
    const turn = await app.made('GET', `/turns/${json['request_id']}`)
    assert.deepEqual(counted(turn), [1000, 600, 500, costOf(1000, 600, 500), false])
    await app.verify()
  })
}

void test('billing.once billing.token-kinds: a drain in the second step charges nothing; the next process charges the first step and the whole second one, once', async () => {
  const [folder, model] = await Promise.all([makeFolder(), startModelServer()])
  const started = await start('openai-compatible', { folder, model, env: { TURNKEEP_DRAIN_SECONDS: '0' } })
  const { app, caller } = started
  try {
    script(started, second, gate())
    const { requestId, rest } = await streamText(started)
    await app.close()
    await rest()
    const usage = { prompt_tokens: 1000, completion_tokens: 40, prompt_tokens_details: { cached_tokens: 700 } }
    model.script([text, { usage }])
    await using next = await startTestApp({ folder, model, seeded: app })
    await until('the next process ends the turn', async () => (await next.made('GET', `/turns/${requestId}`)).state === 'completed')
    assert.deepEqual(counted(await next.made('GET', `/turns/${requestId}`)), [1900, 1100, 70, costOf(1900, 1100, 70), false])
    const owner = await next.made('GET', `/owners/${caller.ownerId}`)
    assert.deepEqual([owner.held_usd, owner.unpaid_usd], ['0.00000000', '0.00000000'])
    assert.equal(parseUsd(owner.balance_usd)!, parseUsd('10')! - parseUsd(costOf(1900, 1100, 70))!)
    await next.verify()
  } finally {
    await started[Symbol.asyncDispose]()
    await app.data.drop()
    await rm(folder, { recursive: true, force: true })
    await model.close()
  }
})
