/**
 * Streamable HTTP transport for the MCP client. Each message is one POST, and mcp-answer.ts reads the part of the response that belongs
 * to that message. If the stream of a response ends before the answer, the rest is requested with GET, after the last event that arrived. The
 * transport opens no other stream, follows no redirect, requests no OAuth tokens, and never sends a message twice. The guard restricts
 * addresses and sizes; the caller sets the deadlines.
 */
import type { AsyncLocalStorage } from 'node:async_hooks'
import type { JSONRPCMessage, MCPTransport } from '@ai-sdk/mcp'
import { setTimeout as pass } from 'node:timers/promises'
import { createAnswerReader } from './mcp-answer.ts'
import type { Library } from './mcp-answer.ts'
import { NoAnswer, OutcomeUnknown, unreachable } from './mcp-failure.ts'
import { StreamPosition } from './mcp-stream.ts'
import { ToolServerError } from './tool-config.ts'

type Request = Extract<JSONRPCMessage, { id: string | number; method: string }>

/**
 * The tool call that a message belongs to. Its request carries the idempotency key and the trace context. `sent`: the request has been
 * sent.
 */
export type OneCall = { idempotencyKey: string; traceparent: string | null; sent: boolean }

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
// The name that the protocol reserves for it.
const traceInMeta = 'traceparent'
/** From this version on, the protocol has no sessions and requires the method name in a header. */
const withoutSessions = '2026-07-28'
// The protocol allows visible ASCII of any length; a UUID has 36 characters.
const maxSessionId = 1024
// Deadline of messages that no caller waits for: refusals, cancellations, the end of a session.
const courtesyMs = 2000
// How long the server wants to wait before a stream is continued, if it does not say so, and at least. A call takes 10 seconds at most.
const retryMs = 1000
const minRetryMs = 100
// Of one response: how often its stream is continued, and after how many broken connections it is given up.
const maxContinued = 100
const maxBroken = 3

export function createTransport({ library, url, fetch, calls, ...given }: TransportOptions): MCPTransport {
  const operatorHeaders = validHeaders(given.headers)
  let sessionId: string | undefined
  /** The server's own word for the version of the session. */
  let negotiated: string | undefined
  const transport: MCPTransport = {
    supportsProtocolVersionDiscovery: true,
    waitsForProtocolVersionDiscovery: true,
    supportsMcpToolParameterHeaders: true,
    protocolVersion: withoutSessions,
    start: () => Promise.resolve(),
    send,
    close,
  }
  const answers = createAnswerReader(library, {
    deliver: (message) => transport.onmessage?.(message),
    reply: (message) => void courtesy(post(message, {}, AbortSignal.timeout(courtesyMs))),
    negotiated: (version) => (negotiated = typeof version === 'string' && headerText.test(version) ? version : undefined),
  })
  return transport

  async function send(message: JSONRPCMessage, options: Parameters<MCPTransport['send']>[1]): Promise<void> {
    const call = 'method' in message && message.method === 'tools/call' ? calls.getStore() : undefined
    if (call?.sent) throw new ToolServerError('the tool requests further input, which is not supported')
    if (call) call.sent = true
    const signal = options?.signal ?? AbortSignal.timeout(courtesyMs)
    try {
      const response = await post(call ? inCall(message, call) : message, { ...options?.headers, ...headersOf(call) }, signal)
      if (!('method' in message && 'id' in message)) return await response.body?.cancel()
      if (!response.ok) return await answers.refusal(message, response, sessionId !== undefined)
      if (message.method === 'initialize') sessionId = sessionIdOf(response)
      return await answer(message, response, signal)
    } catch (error) {
      // A server of an older protocol may send anything to a method that it does not know. The library then tries the older one.
      if ('method' in message && message.method === 'server/discover' && error instanceof NoAnswer)
        throw new library.MCPClientError({ message: error.message, cause: error })
      if (call && signal.aborted && 'id' in message && message.id !== undefined && !isStateless()) cancelled(message.id)
      throw error
    }
  }

  /**
   * Reads the response, and continues it for as long as its stream ends before the answer. Only GET is sent: the message itself has arrived,
   * and is not sent again, whatever the server responds.
   */
  async function answer(to: Request, first: Response, signal: AbortSignal): Promise<void> {
    const position = new StreamPosition()
    let broken = 0
    let response: Response | undefined = first
    for (let continued = 0; continued <= maxContinued; continued++) {
      try {
        response ??= await next(position, signal)
        if (await answers.answer(to, response, signal, position)) return
      } catch (error) {
        const mayContinue = error instanceof OutcomeUnknown && !(error instanceof NoAnswer) && position.lastEventId !== undefined
        if (signal.aborted || !mayContinue || ++broken > maxBroken) throw error
      }
      response = undefined
      if (position.lastEventId === undefined) break
      await pass(Math.max(minRetryMs, position.retryMs ?? retryMs), undefined, { signal })
    }
    throw new NoAnswer('the server ended its response without a result')
  }

  async function next({ lastEventId }: StreamPosition, signal: AbortSignal): Promise<Response> {
    const headers = commonHeaders()
    headers.set('accept', 'text/event-stream')
    headers.set('last-event-id', lastEventId!)
    const response = await ask({ method: 'GET', headers, signal })
    if (response.ok) return response
    await response.body?.cancel()
    throw new NoAnswer(`the server ended its response without a result, and returned status ${response.status} for the rest of it`)
  }

  async function post(message: JSONRPCMessage, more: Record<string, string>, signal: AbortSignal): Promise<Response> {
    const headers = commonHeaders()
    headers.set('content-type', 'application/json')
    headers.set('accept', 'application/json, text/event-stream')
    if (isStateless() && 'method' in message) headers.set('mcp-method', message.method)
    if (isStateless() && 'method' in message && message.method === 'tools/call')
      headers.set('mcp-name', encoded(String(message.params?.['name'])))
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
    headers.set('mcp-protocol-version', negotiated ?? transport.protocolVersion ?? withoutSessions)
    headers.delete('mcp-session-id')
    if (sessionId !== undefined) headers.set('mcp-session-id', sessionId)
    return headers
  }

  function isStateless(): boolean {
    return transport.protocolVersion === withoutSessions
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

/** A text that a header can carry as it is. */
const headerText = /^[\x21-\x7e]{1,64}$/

/** The protocol's form of a name that a header cannot carry. */
function encoded(name: string): string {
  const isPlain = /^[\x20-\x7e]*$/.test(name) && !/^=\?base64\?.*\?=$/.test(name)
  return isPlain ? name : `=?base64?${Buffer.from(name).toString('base64')}?=`
}

/** Drops the original error, because its message contains the header value. */
function validHeaders(headers: Record<string, string>): Headers {
  try {
    return new Headers(headers)
  } catch {
    throw new ToolServerError('a header of the server is not valid in HTTP')
  }
}

/** `trace.context` */
function inCall(message: JSONRPCMessage, { idempotencyKey, traceparent }: OneCall): JSONRPCMessage {
  if (!('method' in message)) return message
  const { _meta: meta } = message.params ?? {}
  const more = { [keyInMeta]: idempotencyKey, ...(traceparent === null ? {} : { [traceInMeta]: traceparent }) }
  return { ...message, params: { ...message.params, _meta: { ...meta, ...more } } }
}

function headersOf(call: OneCall | undefined): Record<string, string> {
  if (!call) return {}
  const { idempotencyKey, traceparent } = call
  return { 'idempotency-key': idempotencyKey, ...(traceparent === null ? {} : { traceparent }) }
}

function sessionIdOf(response: Response): string | undefined {
  const id = response.headers.get('mcp-session-id')
  if (id === null) return undefined
  if (id.length > maxSessionId) throw new ToolServerError('the server sent a session id that is too long')
  return id
}

/** Ignores the outcome of a message that is sent only for the server's benefit. */
async function courtesy(said: Promise<Response>): Promise<void> {
  await said.then(
    (response) => response.body?.cancel(),
    () => undefined,
  )
}
