/** Mutants of the agent as an MCP server: who may call, which calls are one turn, what a client receives. */
import { edit } from './mutant.ts'
import type { Mutant } from './mutant.ts'

const http = 'mcp-server/http.test.ts'
const refusals = 'mcp-server/refusals.test.ts'
const stdio = 'mcp-server/stdio.test.ts'
const endpoint = 'field/mcp-endpoint.test.ts'

export const mcpMutants: Mutant[] = [
  {
    rule: 'mcp.origin',
    removes: 'a page of another origin is refused',
    edits: [edit('if (origin === undefined || origin === ownOrigin) return true', 'if (origin !== ownOrigin) return true')],
    caughtBy: { file: refusals, title: 'mcp.origin: a page of another origin is refused before its key is looked up' },
  },
  {
    rule: 'order.permission',
    removes: 'a key with mcp false may not use MCP',
    edits: [edit('!apiKey.mcp', '!apiKey')],
    caughtBy: { file: refusals, title: 'order.permission: mcp false of a key refuses only MCP' },
  },
  {
    rule: 'order.rate-limit',
    removes: 'a request to /mcp spends a unit',
    edits: [
      edit('await spend(access, apiKey, reply)', '{ limit: 3, remaining: 1, resetAt: 0 }', { at: 'order.rate-limit-2' }),
      edit('authenticate, spend', 'authenticate', { at: 'order.rate-limit-3' }),
    ],
    caughtBy: { file: refusals, title: 'order.rate-limit: every message to /mcp spends one unit' },
  },
  {
    rule: 'mcp.idempotency-key',
    removes: 'a call without a key is a new message',
    edits: [edit('idempotencyKey = randomUUID()', 'idempotencyKey = message', { at: 'mcp.idempotency-key' })],
    caughtBy: { file: http, title: 'mcp.idempotency-key: a repeated call with the same key returns the first result' },
  },
  {
    rule: 'mcp.idempotency-key',
    removes: 'the key of a call is the key of its turn',
    edits: [
      edit('{ message, externalUserId, idempotencyKey = randomUUID() }', '{ message, externalUserId }'),
      edit('  const traceparent =', '  const idempotencyKey = randomUUID()\n  const traceparent =', { at: 'mcp.idempotency-key-2' }),
    ],
    caughtBy: { file: http, title: 'mcp.idempotency-key: a repeated call with the same key returns the first result' },
  },
  {
    rule: 'mcp.idempotency-key',
    removes: 'a message over stdio has one key for all attempts',
    edits: [edit("'idempotency-key': message.key", "'idempotency-key': `${message.key}${performance.now()}`")],
    caughtBy: { file: stdio, title: 'mcp.idempotency-key: a server that is killed in the middle of a call over stdio' },
  },
  {
    rule: 'idempotency.key-text',
    removes: 'a key that a header cannot carry is no key of a call',
    edits: [edit('/^ | $|\\p{Cc}/u', '/\\p{Cc}/u')],
    caughtBy: { file: refusals, title: 'order.validation idempotency.key-text: wrong arguments are a result with isError' },
  },
  {
    rule: 'mcp.tool',
    removes: 'the reply is also in structuredContent',
    edits: [edit('      content,\n      request_id: requestId,', "      content: '',\n      request_id: requestId,", { at: 'mcp.tool' })],
    caughtBy: { file: http, title: 'mcp.tool: a call is a turn' },
  },
  {
    rule: 'mcp.tool',
    removes: 'a batch is refused',
    edits: [edit('if (Array.isArray(message)) return', 'if (Array.isArray(message) && !message) return', { at: 'mcp.tool-2' })],
    caughtBy: { file: refusals, title: 'mcp.tool: what is not one JSON-RPC message' },
  },
  {
    rule: 'mcp.tool',
    removes: 'an unexpected error shows nothing of the inside',
    edits: [edit('    onError(error)\n    throw', '    onError(error)\n    if (error) throw error\n    throw', { at: 'mcp.tool-3' })],
    caughtBy: { file: refusals, title: 'mcp.tool: an internal error shows nothing of the inside' },
  },
  {
    rule: 'mcp.tool',
    removes: 'a client gets the form of a response that it accepts',
    edits: [edit("isStream && form !== 'json'", 'isStream')],
    caughtBy: { file: endpoint, title: 'mcp.tool: a form with the quality 0 is not sent' },
  },
  {
    rule: 'mcp.tool',
    removes: 'null in place of an optional field is absent',
    edits: [edit('parsedBody: withoutNulls(message)', 'parsedBody: message')],
    caughtBy: { file: endpoint, title: 'mcp.tool: any notification is accepted' },
  },
  {
    rule: 'overload.unread',
    removes: 'the result of an MCP call that is not read counts',
    edits: [edit('const isTaken = unread.take(response, value.length)', 'const isTaken = unread !== undefined')],
    caughtBy: { file: http, title: 'overload.unread: a result that is not read counts for its key' },
  },
  {
    rule: 'mcp.progress',
    removes: 'a turn that waits is reported in every interval',
    edits: [edit('      timer ??= setInterval(notify, intervalMs)\n')],
    caughtBy: { file: http, title: 'mcp.progress: with a progress token, a call reports that its turn runs' },
  },
  {
    rule: 'mcp.progress',
    removes: 'a caller that has left does not listen any more',
    edits: [edit("    signal.addEventListener('abort', stopListening, { once: true })\n", '', { at: 'mcp.progress' })],
    caughtBy: { file: http, title: 'mcp.progress: a caller that leaves ends nothing' },
  },
]
