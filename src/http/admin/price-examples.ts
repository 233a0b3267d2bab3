/** The prices in the examples of /admin/v1/openapi.json, and the charge that they explain. */

export const priceExample = {
  prompt_usd_per_million: '0.75000000',
  completion_usd_per_million: '4.50000000',
  cached_prompt_usd_per_million: '0.07500000',
  cache_write_usd_per_million: null,
}

export const priceSourceExample = { from: 'price_list', list: '@pydantic/genai-prices 0.1.8', date: '2026-11-21' }

export const detailsExample = {
  prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0 },
}

export const calculationExample = {
  lines: [
    { kind: 'prompt', tokens: 412, usd_per_million: '0.75000000', amount_usd: '0.00030900' },
    { kind: 'completion', tokens: 18, usd_per_million: '4.50000000', amount_usd: '0.00008100' },
  ],
  rounding_usd: '0.00000000',
  cost_usd: '0.00039000',
  limited_to_hold: false,
  written_off_usd: '0.00000000',
  charged_usd: '0.00039000',
  agent_version: 3,
  price_source: priceSourceExample,
}
