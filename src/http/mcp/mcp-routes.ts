/**
 * POST /mcp: an agent as an MCP server over streamable HTTP, without sessions (`mcp.tool`). This file checks the caller and receives the
 * message; mcp-exchange.ts, which is loaded with the first one, answers it. GET and DELETE are 405, as for every route with one method: there
 * is no session to listen to or to end.
 */
import type { FastifyPluginAsync, FastifyReply } from 'fastify'
import type { Access } from '../../access/outcome.ts'
import { ApiError } from '../../errors.ts'
import { ownVersion } from '../../observability/metrics.ts'
import { jsonType } from '../edge/envelope.ts'
import { closeIfUnread } from '../edge/polite-close.ts'
import { defaultValues, readJson } from '../edge/request-body.ts'
import { limitUnread } from '../public/unread-responses.ts'
import { admitMcpCaller } from './mcp-caller.ts'
import { idOf } from './mcp-events.ts'
import type { Exchange } from './mcp-exchange.ts'

export type McpOptions = Exchange & { access: Access; publicUrl: string | undefined }

type Received = { message: unknown } | { problem: string }

const parseError = -32_700
const invalidRequest = -32_600
const methodNotFound = -32_601

export const mcpRoutes: FastifyPluginAsync<McpOptions> = async (app, options) => {
  const { access, publicUrl, streams } = options
  const served = { ...options, version: ownVersion() }
  app.addHook('onRequest', admitMcpCaller(access, publicUrl))
  limitUnread(app, streams.unread)
  app.addHook('preParsing', async (request, reply) => {
    request.body = await receive(readJson(request, reply))
  })

  app.post('/mcp', { schema: { hide: true }, config: { maxJsonValues: defaultValues } }, async (request, reply) => {
    const received = request.body as Received
    // Only what was refused has not arrived completely.
    closeIfUnread(request.raw, reply.raw)
    if ('problem' in received) return refuse(reply, parseError, received.problem)
    const { message } = received
    // Each message is checked and limited by itself, and the versions since 2025-06-18 have no batches.
    // mutant: mcp.tool-2
    if (Array.isArray(message)) return refuse(reply, invalidRequest, 'Send one JSON-RPC message per request. Batches are not supported.')
    if (isSubscription(message))
      return refuse(reply, methodNotFound, 'This server sends no notifications outside of a call.', idOf(message), 404)
    // The SDK takes tens of milliseconds and megabytes, so only a service that is used over MCP loads it.
    const { answerMcp } = await import('./mcp-exchange.ts')
    return answerMcp(request, reply, message, served)
  })
}

/** A JSON-RPC error takes the place of `validation_error`. */
async function receive(parsing: Promise<unknown>): Promise<Received> {
  try {
    return { message: await parsing }
  } catch (error) {
    if (error instanceof ApiError && error.code === 'validation_error') return { problem: error.message }
    throw error
  }
}

/** A stream of notifications that has no end. Nothing of this server changes while a client watches. */
const isSubscription = (message: unknown): message is object =>
  typeof message === 'object' && message !== null && 'method' in message && message.method === 'subscriptions/listen'

const refuse = (reply: FastifyReply, code: number, message: string, id: string | number | null = null, status = 400): FastifyReply =>
  reply
    .code(status)
    .headers({ 'content-type': jsonType })
    .send(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }))
