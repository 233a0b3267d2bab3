/** The tools in the examples of /admin/v1/openapi.json, and a call of one. */

export const lookUpExample = {
  name: 'find_order',
  description: 'Finds an order by its number.',
  parameters: { type: 'object', required: ['number'], properties: { number: { type: 'string' } } },
}

export const callExample = {
  name: 'find_order',
  step: 1,
  arguments: '{"number":"4711"}',
  result: '{"status":"sent"}',
  is_error: false,
  ms: 84,
  price_usd: '0.00000000',
}

export const toolsExample = [
  {
    type: 'http',
    ...lookUpExample,
    side_effects: false,
    method: 'GET',
    url: 'https://shop.example/orders/{number}',
    headers: { 'X-Shop-Token': null },
    secrets: {},
    timeout_seconds: 10,
    price_usd: '0.00000000',
  },
  { type: 'builtin', name: 'now', price_usd: '0.00000000' },
]
