/** The tools of the sample agents, as the admin API takes them. */
import type { PlannedAgent } from './plan-objects.ts'

/** `scriptedUrl`: where scripted-server.ts listens. */
export function toolOf(name: PlannedAgent['tools'][number], scriptedUrl: string): object {
  switch (name) {
    case 'find_order':
      return {
        type: 'http',
        name,
        description: 'Finds an order by its number and says where it is.',
        parameters: {
          type: 'object',
          properties: { number: { type: 'integer', description: 'As printed on the invoice.' } },
          required: ['number'],
        },
        method: 'GET',
        url: `${scriptedUrl}/orders/{number}`,
        secrets: { shop_key: 'not-a-real-one' },
        headers: { 'x-shop-key': '{shop_key}' },
        side_effects: false,
      }
    case 'book_room':
      return {
        type: 'http',
        name,
        description: 'Books a room for a number of people.',
        parameters: {
          type: 'object',
          properties: { room: { type: 'string' }, people: { type: 'integer' } },
          required: ['room', 'people'],
        },
        method: 'POST',
        url: `${scriptedUrl}/bookings`,
        side_effects: true,
      }
    case 'parcels':
      return { type: 'mcp', name, url: `${scriptedUrl}/mcp` }
    case 'now':
      return { type: 'builtin', name }
  }
}
