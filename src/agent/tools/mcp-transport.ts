/**
 * Streamable HTTP transport for the MCP client. Each message is one POST, and only the part of the answer that belongs to that message is
 * read. The transport opens no stream for messages from the server, follows no redirect, requests no OAuth tokens, resumes nothing, and
 * never sends a message twice. The guard restricts addresses and sizes; the caller sets the deadlines.
 */
import type { AsyncLocalStorage } from 'node:async_hooks'
import type { JSONRPCMessage, MCPClientError, MCPTransport, validateJSONRPCMessage } from '@ai-sdk/mcp'
import { ModelError } from '../models/model.ts'
import { isObject } from '../models/transport/fields.ts'
import { SseReader } from '../models/transport/sse-reader.ts'
import { GuardFailed, GuardRefused } from '../guard/guard.ts'
import { OutcomeUnknown, SessionForgotten } from './mcp-failure.ts'
import { ToolServerError } from './tool-config.ts'

/** The tool call that a message belongs to. Each message sent within it carries its idempotency key. `sent`: its request has been sent. */
export type OneCall = { idempotencyKey: string; sent: boolean }

/** The parts of the library used here. They are passed in because the library is only loaded with the first session. */
type Library = { MCPClientError: typeof MCPClientError; validateJSONRPCMessage: typeof validateJSONRPCMessage }
export type TransportOptions = {
  library: Library
  url: string
  headers: Record<string, string>
  fetch: typeof globalThis.fetch
  calls: AsyncLocalStorage<OneCall>
}

/**
 * Sent in `_meta` of a tools/call in addition to the `Idempotency-Key` header, because a server behind a gateway may see only one of the
 * two.
 */
const keyInMeta = 'turnkeep/idempotency-key'
/** From this version on, the protocol has no sessions and requires the method name in a header. */
const withoutSessions = '2026-07-28'
// The protocol allows visible ASCII of any length; a UUID has 36 characters.
const maxSessionId = 1024
// Requests for sampling, elicitation and roots are refused with one POST each. After this many, further requests of the server are ignored.
const maxRefusals = 4
// The library checks each element of a list against every kind of content, which takes a hundred times as long as parsing it. Real answers
// have a few dozen elements.
const maxParts = 8192
// Finding out that an event is not JSON takes about as long. Some servers start with an empty event or send one as a keep-alive.
const maxNoise = 8192
// Deadline of messages that no caller waits for: refusals, cancellations, the end of a session.
const courtesyMs = 2000

export function createTransport({ library, url, fetch, calls, ...given }: TransportOptions): MCPTransport {
  const operatorHeaders = validHeaders(given.headers)
  let sessionId: string | undefined
  const transport: MCPTransport = {
    supportsProtocolVersionDiscovery: true,
    waitsForProtocolVersionDiscovery: true,
    supportsMcpToolParameterHeaders: true,
    protocolVersion: withoutSessions,
    start: () => Promise.resolve(),
    send,
    close,
  }
  return transport

  async function send(message: JSONRPCMessage, options: Parameters<MCPTransport['send']>[1]): Promise<void> {
    const call = 'method' in message && message.method === 'tools/call' ? calls.getStore() : undefined
    if (call?.sent) throw new ToolServerError('the tool asks for further input, which nobody can give here')
    if (call) call.sent = true
    const signal = options?.signal ?? AbortSignal.timeout(courtesyMs)
    try {
      const response = await post(call ? withKey(message, call) : message, { ...options?.headers, ...keyHeader(call) }, signal)
      if (!('method' in message && 'id' in message)) return await response.body?.cancel()
      if (!response.ok) return await deliverRefusal(message, response)
      if (message.method === 'initialize') sessionId = sessionIdOf(response)
      return await deliverAnswer(message, response, signal)
    } catch (error) {
      if (call && signal.aborted && 'id' in message && message.id !== undefined && !isStateless()) cancelled(message.id)
      throw error
    }
  }

  async function post(message: JSONRPCMessage, more: Record<string, string>, signal: AbortSignal): Promise<Response> {
    const headers = commonHeaders()
    headers.set('content-type', 'application/json')
    headers.set('accept', 'application/json, text/event-stream')
    if (isStateless() && 'method' in message) headers.set('mcp-method', message.method)
    if (isStateless() && 'method' in message && message.method === 'tools/call') headers.set('mcp-name', String(message.params?.['name']))
    for (const [name, value] of Object.entries(more)) headers.set(name, value)
    return ask({ method: 'POST', headers, body: JSON.stringify(message), signal })
  }

  async function ask(request: RequestInit): Promise<Response> {
    try {
      return await fetch(url, { ...request, redirect: 'error' })
    } catch (error) {
      throw unreachable(error)
    }
  }

  function commonHeaders(): Headers {
    const headers = new Headers(operatorHeaders)
    headers.set('user-agent', 'turnkeep')
    headers.set('mcp-protocol-version', transport.protocolVersion ?? withoutSessions)
    headers.delete('mcp-session-id')
    if (sessionId !== undefined) headers.set('mcp-session-id', sessionId)
    return headers
  }

  function isStateless(): boolean {
    return transport.protocolVersion === withoutSessions
  }

  /** Handles an answer with an error status: passes a JSON-RPC error in the body to the client, and throws for anything else. */
  async function deliverRefusal(to: Request, response: Response): Promise<void> {
    const { status } = response
    const error = errorIn(await bodyOf(response))
    // The protocol says 404. Servers based on its widely copied example say 400 and mention the session in the error message.
    const forgotten = status === 404 || (status === 400 && error !== undefined && /session/i.test(error.message))
    if (sessionId !== undefined && forgotten) throw new SessionForgotten(`the server answered ${status}, as if it did not know the session`)
    if (status === 401 || status === 403)
      throw new ToolServerError(`the server answered ${status}: it wants other credentials in its headers`)
    if (error) return transport.onmessage?.({ jsonrpc: '2.0', id: to.id, error })
    throw new library.MCPClientError({ message: `the server answered ${status}`, statusCode: status })
  }

  /** Returns the JSON-RPC error in a body, or undefined: the body may also be empty or the error page of a gateway. */
  function errorIn(body: string): { code: number; message: string } | undefined {
    const data = parsed(body)
    // The error for an unknown session has a null id, which the schema does not allow.
    const message = valid(isObject(data) && data['id'] === null ? { ...data, id: undefined } : data)
    return message !== undefined && 'error' in message ? message.error : undefined
  }

  async function deliverAnswer(to: Request, response: Response, signal: AbortSignal): Promise<void> {
    const type = response.headers.get('content-type')?.split(';')[0]!.trim().toLowerCase() ?? ''
    let refusals = 0
    const answers = (data: unknown): boolean => {
      // Notifications such as progress and logs are skipped before the expensive validation.
      if (signal.aborted || !isObject(data) || !('id' in data)) return false
      if ('method' in data) {
        const request = refusals++ < maxRefusals ? valid(data) : undefined
        if (request) transport.onmessage?.(request)
        return false
      }
      if (data['id'] !== to.id) return false
      if (isObject(data['result']) && Object.values(data['result']).some(isTooLong))
        throw new ToolServerError(`the server answered with more than ${maxParts} parts`)
      const message = valid(data)
      if (!message) throw new ToolServerError('the server answered with what is no JSON-RPC message')
      transport.onmessage?.(message)
      return true
    }
    // One version of the protocol allows batches of messages.
    const answered = (data: unknown): boolean => (Array.isArray(data) ? data.some(answers) : answers(data))
    if (type === 'application/json') {
      const body = parsed(await bodyOf(response))
      if (body === undefined) throw new ToolServerError('the server answered with what is no JSON')
      if (!answered(body)) throw noAnswer()
    } else if (type === 'text/event-stream') await readEvents(response, answered)
    else {
      await response.body?.cancel()
      throw new ToolServerError('the server answered with neither JSON nor an event stream')
    }
  }

  /** Reads events until the answer has arrived, and ignores whatever the server sends after it. */
  async function readEvents(response: Response, answered: (data: unknown) => boolean): Promise<void> {
    let done = false
    let noise = 0
    const events = new SseReader((data) => {
      if (done) return
      const message = parsed(data)
      // Events that are not JSON are not part of the protocol.
      if (message === undefined && ++noise > maxNoise)
        throw new ToolServerError(`the server sent more than ${maxNoise} events that are no JSON`)
      done = answered(message)
    })
    try {
      for await (const bytes of response.body ?? []) {
        events.push(Buffer.from(bytes))
        if (done) return
      }
    } catch (error) {
      if (error instanceof ModelError) throw new ToolServerError('the server sent an event that is too large', { cause: error })
      throw unreachable(error)
    }
    throw noAnswer()
  }

  function valid(data: unknown): JSONRPCMessage | undefined {
    try {
      return library.validateJSONRPCMessage(data)
    } catch {
      // The library throws for an invalid message; the callers decide how to handle it.
      return undefined
    }
  }

  /** Notifies the server that the answer is no longer needed. Without sessions, the closed connection says so. */
  function cancelled(requestId: string | number): void {
    const message = { jsonrpc: '2.0' as const, method: 'notifications/cancelled', params: { requestId, reason: 'no longer waited for' } }
    courtesy(post(message, {}, AbortSignal.timeout(courtesyMs)))
  }

  async function close(): Promise<void> {
    if (sessionId !== undefined) {
      const headers = commonHeaders()
      sessionId = undefined
      await courtesy(ask({ method: 'DELETE', headers, signal: AbortSignal.timeout(courtesyMs) }))
    }
    transport.onclose?.()
  }
}

type Request = Extract<JSONRPCMessage, { id: string | number; method: string }>

const isTooLong = (field: unknown): boolean => Array.isArray(field) && field.length > maxParts

/** Drops the original error, because its message contains the header value. */
function validHeaders(headers: Record<string, string>): Headers {
  try {
    return new Headers(headers)
  } catch {
    throw new ToolServerError('a header of the server is none that HTTP allows')
  }
}

function withKey(message: JSONRPCMessage, { idempotencyKey }: OneCall): JSONRPCMessage {
  if (!('method' in message)) return message
  const { _meta: meta } = message.params ?? {}
  return { ...message, params: { ...message.params, _meta: { ...meta, [keyInMeta]: idempotencyKey } } }
}

function keyHeader(call: OneCall | undefined): Record<string, string> {
  return call ? { 'idempotency-key': call.idempotencyKey } : {}
}

function sessionIdOf(response: Response): string | undefined {
  const id = response.headers.get('mcp-session-id')
  if (id === null) return undefined
  if (id.length > maxSessionId) throw new ToolServerError('the server gave a session id that is too long')
  return id
}

async function bodyOf(response: Response): Promise<string> {
  try {
    return await response.text()
  } catch (error) {
    throw unreachable(error)
  }
}

/** Returns undefined if the text is not valid JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const noAnswer = (): ToolServerError => new OutcomeUnknown('the server ended its answer without a result')

/** Messages of the guard are safe to show; those of a socket error contain addresses. */
function unreachable(error: unknown): unknown {
  if (error instanceof ToolServerError) return error
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  if (cause instanceof GuardRefused || cause instanceof GuardFailed)
    return cause.sent ? new OutcomeUnknown(cause.message, { cause }) : new ToolServerError(cause.message, { cause })
  return new OutcomeUnknown('the server cannot be reached, or broke off its answer', { cause: error })
}

/** Ignores the outcome of a message that is sent only for the server's benefit. */
async function courtesy(said: Promise<Response>): Promise<void> {
  await said.then(
    (response) => response.body?.cancel(),
    () => undefined,
  )
}
