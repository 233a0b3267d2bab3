/**
 * Who may call POST /mcp: `mcp.origin`, then the checks of every message, by headers alone and in the same order (`order.authentication`,
 * `order.permission`, `order.rate-limit`). Every request spends one unit, whatever its JSON-RPC method.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Access } from '../../access/outcome.ts'
import { ApiError } from '../../errors.ts'
import { note } from '../edge/access-log.ts'
// mutant: order.rate-limit-3
import { authenticate, spend } from '../public/caller.ts'

/** An `onRequest` hook. Throws the ApiError of the first check that fails. */
export function admitMcpCaller(access: Access, publicUrl: string | undefined) {
  const ownOrigin = publicUrl === undefined ? undefined : new URL(publicUrl).origin
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (!isAllowed(request.headers.origin, ownOrigin)) throw new ApiError('permission_denied', refusedOrigin)
    const apiKey = await authenticate(access, request)
    note(request.raw, { keyId: apiKey.id, agentId: apiKey.agentId })
    if (apiKey.permission !== 'full') throw new ApiError('permission_denied')
    if (!apiKey.mcp)
      throw new ApiError('permission_denied', 'This API key may not use MCP. The operator can allow it with the setting mcp of the key.')
    // mutant: order.rate-limit-2
    request.caller = { apiKey, figures: await spend(access, apiKey, reply) }
  }
}

const refusedOrigin =
  'Pages in a browser may not use MCP: the Origin header is not that of this service. An API key must never reach a browser.'

/**
 * Only browsers send Origin. A page that has resolved its own name to this server (DNS rebinding) sends its own origin, so the Host header,
 * which then has the same name, is not compared.
 */
function isAllowed(origin: string | undefined, ownOrigin: string | undefined): boolean {
  if (origin === undefined || origin === ownOrigin) return true
  const hostname = URL.canParse(origin) ? new URL(origin).hostname : ''
  return hostname === 'localhost' || hostname === '127.0.0.1' || hostname === '[::1]'
}
