/** The MCP server of the sample data, as far as the server under development asks: two tools for parcels, without sessions. */
import type { IncomingMessage, ServerResponse } from 'node:http'

const tools = [
  {
    name: 'find_parcel',
    description: 'Finds a parcel by its number and says where it is.',
    inputSchema: { type: 'object', properties: { number: { type: 'integer' } }, required: ['number'] },
    annotations: { readOnlyHint: true },
  },
  {
    name: 'list_couriers',
    description: 'Lists the couriers that deliver to a country.',
    inputSchema: { type: 'object', properties: { country: { type: 'string' } } },
    annotations: { readOnlyHint: true },
  },
]

type Call = { name?: string; arguments?: { number?: number } }

/** Answers one JSON-RPC message. `message` is the parsed body; other methods than POST are not supported. */
export function answerMcp(request: IncomingMessage, message: Record<string, unknown>, response: ServerResponse): void {
  if (request.method !== 'POST') return void response.writeHead(405).end()
  const { id, method } = message
  const params = (message['params'] ?? {}) as Record<string, unknown>
  // A notification has no id and gets no answer.
  if (id === undefined) return void response.writeHead(202).end()
  const results: Record<string, () => object> = {
    initialize: () => ({
      protocolVersion: params['protocolVersion'],
      capabilities: { tools: {} },
      serverInfo: { name: 'sample-parcels', version: '1' },
    }),
    'tools/list': () => ({ tools }),
    'tools/call': () => ({ content: [{ type: 'text', text: textOf(params) }] }),
  }
  const result = results[String(method)]
  const body = result
    ? { jsonrpc: '2.0', id, result: result() }
    : { jsonrpc: '2.0', id, error: { code: -32601, message: `method not found: ${String(method)}` } }
  // A method of a newer protocol is refused with 400, by which a client knows an older server.
  response.writeHead(result ? 200 : 400, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function textOf({ name, arguments: given }: Call): string {
  if (name === 'find_parcel') return `Parcel ${given?.number ?? 'without a number'}: sorting center, out for delivery tomorrow.`
  return 'Bring, PostNord, DHL'
}
