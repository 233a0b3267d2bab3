/** Prices and context windows from the data set; amounts as integers of 10⁻⁸ USD per million tokens. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { knownModel, priceList, toAmount } from '../../src/admin/providers/known-price.ts'
import { plainPrice } from '../support/token-kinds.ts'

type Known = Parameters<typeof knownModel>
const knownPrice = async (...asked: Known) => (await knownModel(...asked)).price
const hosted = (kind: 'openai' | 'anthropic' | 'google') => ({ kind, baseUrl: null })

test('known prices: a model of each hosted provider has two prices, also by its dated name', async () => {
  assert.deepEqual(await knownPrice(hosted('openai'), 'gpt-5.4-mini'), {
    promptPerMillion: 75_000_000n,
    completionPerMillion: 450_000_000n,
    cachedPromptPerMillion: 7_500_000n,
    cacheWritePerMillion: null,
  })
  assert.deepEqual(await knownPrice(hosted('anthropic'), 'claude-haiku-4-5-20251001'), {
    promptPerMillion: 100_000_000n,
    completionPerMillion: 500_000_000n,
    cachedPromptPerMillion: 10_000_000n,
    cacheWritePerMillion: 125_000_000n,
  })
  assert.deepEqual(await knownPrice(hosted('google'), 'gemini-2.5-flash'), {
    promptPerMillion: 30_000_000n,
    completionPerMillion: 250_000_000n,
    cachedPromptPerMillion: 3_000_000n,
    cacheWritePerMillion: null,
  })
})

test('known prices: of tiered prices the highest is used, by prompt length as by hour', async () => {
  assert.deepEqual(await knownPrice(hosted('google'), 'gemini-2.5-pro'), {
    promptPerMillion: 250_000_000n,
    completionPerMillion: 1_500_000_000n,
    cachedPromptPerMillion: 25_000_000n,
    cacheWritePerMillion: null,
  })
  const deepseek = { kind: 'openai-compatible' as const, baseUrl: 'https://api.deepseek.com/v1' }
  for (const hour of ['12:00', '20:00']) {
    const price = await knownPrice(deepseek, 'deepseek-chat', new Date(`2026-11-21T${hour}:00Z`))
    assert.deepEqual(price, { ...plainPrice(27_000_000n, 110_000_000n), cachedPromptPerMillion: 7_000_000n })
  }
})

test('known prices: none for an unknown model, a self-hosted server or a model without text output', async () => {
  assert.equal(await knownPrice(hosted('openai'), 'gpt-unheard-of'), undefined)
  assert.equal(await knownPrice(hosted('openai'), 'text-embedding-3-small'), undefined)
  assert.equal(await knownPrice({ kind: 'openai-compatible', baseUrl: 'http://127.0.0.1:11434/v1' }, 'gpt-4o-mini'), undefined)
  assert.equal(await knownPrice({ kind: 'openai-compatible', baseUrl: null }, 'gpt-4o-mini'), undefined)
})

test('known models: the context window of a model is known if the data has it, and not for models of other servers', async () => {
  assert.equal((await knownModel(hosted('anthropic'), 'claude-haiku-4-5-20251001')).contextWindow, 200_000)
  assert.equal((await knownModel(hosted('openai'), 'gpt-unheard-of')).contextWindow, undefined)
  assert.equal((await knownModel({ kind: 'openai-compatible', baseUrl: 'http://127.0.0.1:11434/v1' }, 'gpt-4')).contextWindow, undefined)
})

test('known prices: the name of the price list has the version that is installed', () => {
  const { version } = JSON.parse(readFileSync('node_modules/@pydantic/genai-prices/package.json', 'utf8')) as { version: string }
  assert.equal(priceList, `@pydantic/genai-prices ${version}`)
})

test('known prices: a float becomes the integer of its decimal digits, rounded up and never by its bits', () => {
  assert.equal(toAmount(0.07), 7_000_000n)
  assert.equal(toAmount(0.29), 29_000_000n)
  assert.equal(toAmount(0), 0n)
  assert.equal(toAmount(1e-9), 1n)
  assert.equal(toAmount(0.000_000_011), 2n)
  assert.equal(toAmount(10_000), 1_000_000_000_000n)
  assert.equal(toAmount(10_000.01), undefined)
  assert.equal(toAmount(Number.NaN), undefined)
  assert.equal(toAmount(-1), undefined)
  const units = fc.bigInt({ min: 0n, max: 1_000_000_000_000n })
  fc.assert(fc.property(units, (amount) => toAmount(Number(amount) / 1e8) === amount))
})
