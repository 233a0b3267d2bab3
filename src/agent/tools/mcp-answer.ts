/**
 * Reads the response to one JSON-RPC request of the MCP client. Tolerant of what servers do with the envelope: a null beside the result, an ID
 * that comes back as a text, other messages before the answer. Replies to requests of the server that arrive meanwhile. The size of a response
 * is limited by the guard; here, the number of its parts and of the replies.
 */
import type { JSONRPCMessage, MCPClientError } from '@ai-sdk/mcp'
import { isObject } from '../models/transport/fields.ts'
import type { Fields } from '../models/transport/fields.ts'
import { NoAnswer, SessionForgotten, unreachable } from './mcp-failure.ts'
import { acceptedResult } from './mcp-results.ts'
import { parsed, readMessages } from './mcp-stream.ts'
import type { StreamPosition } from './mcp-stream.ts'
import { ToolServerError } from './tool-config.ts'

/** The parts of the library used here. They are passed in because the library is only loaded with the first session. */
export type Library = { MCPClientError: typeof MCPClientError }

type Request = Extract<JSONRPCMessage, { id: string | number; method: string }>
type RpcError = { code: number; message: string; data?: unknown }

export interface AnswerReader {
  /**
   * Passes the answer to the client. Returns false if the response is a stream of events that ended before the answer. Throws a
   * ToolServerError if the response has no answer for another reason.
   */
  answer(to: Request, response: Response, signal: AbortSignal, position: StreamPosition): Promise<boolean>
  /** Handles a response with an error status: passes a JSON-RPC error in its body to the client, and throws for anything else. */
  refusal(to: Request, response: Response, hasSession: boolean): Promise<void>
}

/**
 * `deliver` passes an answer to the client; `reply` sends a message to the server; `negotiated` gets the version that the server named in its
 * answer to `initialize`.
 */
type Way = { deliver(message: JSONRPCMessage): void; reply(message: JSONRPCMessage): void; negotiated(version: unknown): void }

// Requests for sampling, elicitation and roots are refused with one POST each. After this many, further requests of the server are ignored.
const maxRefusals = 4
// A server that sends one every second gets a reply to each, as long as a call may take.
const maxPongs = 16
// Real answers have a few dozen elements.
const maxParts = 8192
const methodNotFound = -32_601

export function createAnswerReader(library: Library, { deliver, reply, negotiated }: Way): AnswerReader {
  return {
    answer: (to, response, signal, position) => readMessages(response, matcher(to, signal), position),

    async refusal(to, response, hasSession) {
      const { status } = response
      const data = parsed(await bodyOf(response))
      const error = isObject(data) ? errorIn(data) : undefined
      // The protocol says 404. Servers based on its widely copied example say 400 and mention the session in the error message.
      const forgotten = status === 404 || (status === 400 && error !== undefined && /session/i.test(error.message))
      if (hasSession && forgotten) throw new SessionForgotten(`the server returned status ${status} for its own session id`)
      if (status === 401 || status === 403)
        throw new ToolServerError(`the server returned status ${status}: check the credentials in its headers`)
      if (error) return fail(to, error)
      throw new library.MCPClientError({ message: `the server returned status ${status}`, statusCode: status })
    },
  }

  /** Returns a function that passes what the server sends to the client, and returns true once that was the answer to the request. */
  function matcher(to: Request, signal: AbortSignal): (data: unknown) => boolean {
    const left = { refusals: maxRefusals, pongs: maxPongs }
    const isAnswer = (data: unknown): boolean => {
      // Notifications such as progress and logs are skipped, whether they are known or not.
      if (signal.aborted || !isObject(data)) return false
      if (typeof data['method'] === 'string') {
        replyTo(data['method'], data['id'], left)
        return false
      }
      if (!isFor(to, data)) return false
      const error = errorIn(data)
      if (error) fail(to, error)
      else pass(to, resultIn(data))
      return true
    }
    // One version of the protocol allows batches of messages.
    return (data) => (Array.isArray(data) ? data.some(isAnswer) : isAnswer(data))
  }

  function pass(to: Request, result: unknown): void {
    deliver({ jsonrpc: '2.0', id: to.id, result: acceptedResult(to.method, result) })
    if (to.method === 'initialize' && isObject(result)) negotiated(result['protocolVersion'])
  }

  function replyTo(method: string, id: unknown, left: { refusals: number; pongs: number }): void {
    if (typeof id !== 'string' && !Number.isSafeInteger(id)) return
    const to = { jsonrpc: '2.0' as const, id: id as string | number }
    if (method === 'ping' && left.pongs-- > 0) reply({ ...to, result: {} })
    else if (method !== 'ping' && left.refusals-- > 0)
      reply({ ...to, error: { code: methodNotFound, message: 'This client offers no such method.' } })
  }

  /**
   * A server that refuses the first question of the newest protocol may still speak an older one, whatever its reason. The library only asks
   * on after this code.
   */
  function fail(to: Request, error: RpcError): void {
    deliver({ jsonrpc: '2.0', id: to.id, error: to.method === 'server/discover' ? { ...error, code: methodNotFound } : error })
  }
}

/** A response without an ID is the answer: a server sends one in the body of a request that it has not understood. */
function isFor(to: Request, { id = null, ...rest }: Fields): boolean {
  if (!('result' in rest) && !('error' in rest)) {
    if (id === to.id) throw new NoAnswer('the server returned an invalid JSON-RPC message')
    return false
  }
  return id === null || id === to.id || (typeof id === 'string' && id.trim() === String(to.id))
}

/** Returns undefined if the message has no error; null counts as none. */
function errorIn({ error }: Fields): RpcError | undefined {
  if (error === undefined || error === null) return undefined
  if (!isObject(error)) return { code: 0, message: typeof error === 'string' ? error : 'the server returned an error' }
  const code = Math.trunc(Number(error['code'])) || 0
  const { message, data } = error
  return { code, message: typeof message === 'string' && message !== '' ? message : `the server returned the error ${code}`, data }
}

function resultIn({ result }: Fields): unknown {
  if (isObject(result) && Object.values(result).some(isTooLong)) throw new ToolServerError(`the result has more than ${maxParts} parts`)
  return result
}

const isTooLong = (field: unknown): boolean => Array.isArray(field) && field.length > maxParts

async function bodyOf(response: Response): Promise<string> {
  try {
    return await response.text()
  } catch (error) {
    throw unreachable(error)
  }
}
