/**
 * Reads the response to one JSON-RPC request of the MCP client: one JSON body or a stream of events. The size of a response is limited by the
 * guard; here, the number of its parts, of its requests to the client and of its invalid events.
 */
import type { JSONRPCMessage, MCPClientError, validateJSONRPCMessage } from '@ai-sdk/mcp'
import { ModelError } from '../models/model.ts'
import { isObject } from '../models/transport/fields.ts'
import { SseReader } from '../models/transport/sse-reader.ts'
import { OutcomeUnknown, SessionForgotten, unreachable } from './mcp-failure.ts'
import { parseExact } from '../exact-json.ts'
import { ToolServerError } from './tool-config.ts'

/** The parts of the library used here. They are passed in because the library is only loaded with the first session. */
export type Library = { MCPClientError: typeof MCPClientError; validateJSONRPCMessage: typeof validateJSONRPCMessage }

type Request = Extract<JSONRPCMessage, { id: string | number; method: string }>

export interface AnswerReader {
  /** Passes the answer to the client. Throws a ToolServerError if the response has none. */
  answer(to: Request, response: Response, signal: AbortSignal): Promise<void>
  /** Handles a response with an error status: passes a JSON-RPC error in its body to the client, and throws for anything else. */
  refusal(to: Request, response: Response, hasSession: boolean): Promise<void>
}

// Requests for sampling, elicitation and roots are refused with one POST each. After this many, further requests of the server are ignored.
const maxRefusals = 4
// The library checks each element of a list against every kind of content, which takes a hundred times as long as parsing it. Real answers
// have a few dozen elements.
const maxParts = 8192
// Finding out that an event is not JSON takes about as long. Some servers start with an empty event or send one as a keep-alive.
const maxNoise = 8192

export function createAnswerReader(library: Library, deliver: (message: JSONRPCMessage) => void): AnswerReader {
  return {
    async answer(to, response, signal) {
      const type = response.headers.get('content-type')?.split(';')[0]!.trim().toLowerCase() ?? ''
      const answers = matcher(to, signal)
      if (type === 'application/json') {
        const body = parsed(await bodyOf(response))
        if (body === undefined) throw new ToolServerError('the server returned invalid JSON')
        if (!answers(body)) throw noAnswer()
      } else if (type === 'text/event-stream') await readEvents(response, answers)
      else {
        await response.body?.cancel()
        throw new ToolServerError('the server returned neither JSON nor an event stream')
      }
    },

    async refusal(to, response, hasSession) {
      const { status } = response
      const error = errorIn(await bodyOf(response))
      // The protocol says 404. Servers based on its widely copied example say 400 and mention the session in the error message.
      const forgotten = status === 404 || (status === 400 && error !== undefined && /session/i.test(error.message))
      if (hasSession && forgotten) throw new SessionForgotten(`the server returned status ${status} for its own session id`)
      if (status === 401 || status === 403)
        throw new ToolServerError(`the server returned status ${status}: check the credentials in its headers`)
      if (error) return deliver({ jsonrpc: '2.0', id: to.id, error })
      throw new library.MCPClientError({ message: `the server returned status ${status}`, statusCode: status })
    },
  }

  /** Returns a function that passes what the server sends to the client, and returns true once that was the answer to the request. */
  function matcher(to: Request, signal: AbortSignal): (data: unknown) => boolean {
    let refusals = 0
    const isAnswer = (data: unknown): boolean => {
      // Notifications such as progress and logs are skipped before the expensive validation.
      if (signal.aborted || !isObject(data) || !('id' in data)) return false
      if ('method' in data) {
        const request = refusals++ < maxRefusals ? valid(data) : undefined
        if (request) deliver(request)
        return false
      }
      if (data['id'] !== to.id) return false
      if (isObject(data['result']) && Object.values(data['result']).some(isTooLong))
        throw new ToolServerError(`the result has more than ${maxParts} parts`)
      const message = valid(data)
      if (!message) throw new ToolServerError('the server returned an invalid JSON-RPC message')
      deliver(message)
      return true
    }
    // One version of the protocol allows batches of messages.
    return (data) => (Array.isArray(data) ? data.some(isAnswer) : isAnswer(data))
  }

  /** Returns the JSON-RPC error in a body, or undefined: the body may also be empty or the error page of a gateway. */
  function errorIn(body: string): { code: number; message: string } | undefined {
    const data = parsed(body)
    // The error for an unknown session has a null id, which the schema does not allow.
    const message = valid(isObject(data) && data['id'] === null ? { ...data, id: undefined } : data)
    return message !== undefined && 'error' in message ? message.error : undefined
  }

  function valid(data: unknown): JSONRPCMessage | undefined {
    try {
      return library.validateJSONRPCMessage(data)
    } catch {
      // The library throws for an invalid message; the callers decide how to handle it.
      return undefined
    }
  }
}

/** Reads events until one of them is the answer, and ignores whatever the server sends after it. */
async function readEvents(response: Response, answers: (data: unknown) => boolean): Promise<void> {
  let done = false
  let noise = 0
  const events = new SseReader((data) => {
    if (done) return
    const message = parsed(data)
    // Events that are not JSON are not part of the protocol.
    if (message === undefined && ++noise > maxNoise)
      throw new ToolServerError(`the server sent more than ${maxNoise} events that are not JSON`)
    done = answers(message)
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

const isTooLong = (field: unknown): boolean => Array.isArray(field) && field.length > maxParts

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
    return parseExact(text)
  } catch {
    return undefined
  }
}

const noAnswer = (): ToolServerError => new OutcomeUnknown('the server ended its response without a result')
