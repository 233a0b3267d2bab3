/** Holds and charges, and usage that is missing or absurd. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { gate } from '../support/model-server.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Json } from '../support/test-app.ts'

void test('fault.model-usage-wrong billing.once: a provider that reports more than the hold is charged at the hold, and the rest is recorded as written off', async () => {
  await using app = await startTestApp()
  app.model.script(['x', { usage: { prompt_tokens: 4000, completion_tokens: 2048, total_tokens: 6048 } }])
  const { json } = await app.chat('hi')
  const [entry] = await app.ledger()
  assert.equal(entry!.amount_usd, `-${json.usage.charged_usd}`)
  assert.ok(Number(json.usage.charged_usd) < 0.01)
  assert.equal(entry!.written_off_usd, (0.0006 + 0.0012288 - Number(json.usage.charged_usd)).toFixed(8))
  assert.notEqual(entry!.written_off_usd, '0.00000000')
  assert.equal((await app.made('GET', `/turns/${json.request_id}`)).usage.estimated, false)
  await app.verify()
})

void test("fault.model-usage-wrong billing.once: usage beyond a step's hold is also written off when another step follows", async () => {
  await using app = await startTestApp({ agent: { max_output_tokens: 100, knowledge: { max_tokens: 0 } } })
  const more = { usage: { prompt_tokens: 4000, completion_tokens: 10, total_tokens: 4010 } }
  app.model.script([more], 'second')
  const { json } = await app.chat('hi')
  assert.equal(json.message.content, 'second')
  const [entry] = await app.ledger()
  assert.ok(Number(json.usage.charged_usd) < 0.0002, json.usage.charged_usd)
  assert.ok(Number(entry!.written_off_usd) > 0.0004, entry!.written_off_usd)
  app.model.script([{ usage: { prompt_tokens: 9e15, completion_tokens: 10, total_tokens: 9e15 } }], 'second')
  assert.equal((await app.chat('hi')).status, 200, 'nor does nonsense leave the range of a column')
  await app.verify()
})

void test('fault.model-usage-wrong billing.usage-impossible: absurd counts of a provider are in no report, charge or metric, and the log names them', async () => {
  const lines: Json[] = []
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) })
  await using app = await startTestApp({ log })
  const most = 2 ** 53 - 1
  app.model.script(
    [{ usage: { prompt_tokens: most, completion_tokens: most } }],
    ['second', { usage: { prompt_tokens: most, completion_tokens: 1 } }],
  )
  const { json } = await app.chat('hi')
  assert.ok(json.usage.prompt_tokens < 10_000 && json.usage.completion_tokens === 2049, JSON.stringify(json.usage))
  const { totals } = await app.made('GET', '/usage?bucket=hour')
  assert.deepEqual([totals.prompt_tokens, totals.completion_tokens], [json.usage.prompt_tokens, 2049])
  assert.ok(Number(totals.written_off_usd) < 0.001, totals.written_off_usd)
  assert.equal((await app.made('GET', `/turns/${json.request_id}`)).usage.estimated, true)
  const metrics = await (await fetch(`${app.url}/metrics`)).text()
  for (const [, figure] of metrics.matchAll(/^\S*tokens\S* (\S+)$/gm)) assert.ok(Number(figure) < 100_000, figure)
  const warned = lines.filter(({ msg }) => /more tokens than/.test(msg))
  assert.deepEqual(
    warned.map(({ prompt_tokens: prompt, completion_tokens: completion }) => [prompt, completion]),
    [
      [most, most],
      [most, 1],
    ],
  )
  await app.verify()
})

for (const [what, usage] of Object.entries({
  absent: null,
  'null fields': { prompt_tokens: null, completion_tokens: null },
  negative: { prompt_tokens: -1, completion_tokens: 2 },
  'not numeric': { prompt_tokens: 'some', completion_tokens: [2] },
})) {
  void test(`fault.model-usage-wrong billing.usage-missing: ${what} usage is estimated from the bytes, marked, and never zero`, async () => {
    await using app = await startTestApp({ agent: { system_prompt: 'abcd' } })
    app.model.script(['a reply of 23 bytes ok.', { usage }])
    const { json } = await app.chat('12345')
    assert.deepEqual([json.usage.prompt_tokens, json.usage.completion_tokens], [1 + 2, 6])
    const turn = await app.made('GET', `/turns/${json.request_id}`)
    assert.equal(turn.usage_estimated ?? turn.usage?.estimated, true)
    await app.verify()
  })
}

void test('fault.model-usage-wrong billing.usage-missing: the estimate has the reasoning, up to the output limit', async () => {
  await using app = await startTestApp({ agent: { max_output_tokens: 200 } })
  for (const [reasoning, tokens] of [
    ['x'.repeat(395), 100],
    ['x'.repeat(10_000), 200],
  ] as const) {
    app.model.script([{ reasoning }, 'reply', { usage: null }], [`<think>${reasoning.slice(15)}</think>reply`, { usage: null }])
    for (let n = 0; n < 2; n++) assert.equal((await app.chat('12345')).json.usage.completion_tokens, tokens)
  }
  await app.verify()
})

void test('balance_never_negative: a balance one unit below the hold is a 402 status on both transports, with nothing stored', async () => {
  await using app = await startTestApp()
  const held = gate()
  app.model.script([held, 'x'])
  const running = app.chat('hi')
  await held.reached
  const hold = Number((await app.owner()).held_usd)
  held.open()
  await running
  const short = await app.makeCaller({ balanceUsd: (hold - 0.00000001).toFixed(8) })
  for (const send of [app.chat.bind(app), app.stream.bind(app)]) {
    const { status, json } = await send('hi', { caller: short })
    assert.deepEqual([status, json.error.code], [402, 'insufficient_balance'])
  }
  const enough = await app.makeCaller({ balanceUsd: hold.toFixed(8) })
  assert.equal((await app.chat('hi', { caller: enough })).status, 200)
  assert.equal((await app.made('GET', `/turns?agent_id=${short.agentId}`)).data.length, 0)
  await app.verify()
})
