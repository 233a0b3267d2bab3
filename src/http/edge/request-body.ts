/**
 * Receives a request body within the size limit and parses it as JSON, within the number of values that its route allows and one large body
 * at a time. Rules `order.body-size`, `order.validation`, `overload.bodies`, `text.well-formed`.
 */
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as nextTick } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../../errors.ts'
import { isMultipart } from '../admin/agents/document-upload.ts'
import { countHeader } from './headers.ts'
import { countNames, deepest, shapeOf } from './json-shape.ts'
import { bodyLimitBytes, hasBody } from './polite-close.ts'
import { ByteBudget } from './byte-budget.ts'
import { Batcher } from '../../turn/batcher.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** How many fields and elements the body may have in all its objects and lists. Default: `defaultValues`. */
    maxJsonValues?: number
  }
}

/** Of a route that does not say otherwise. The largest of these bodies, a webhook or a passkey, has fewer than fifty. */
export const defaultValues = 256
/** Of a route whose body has a history or the JSON Schemas of tools: for example two thousand messages of one text part each. */
export const manyValues = 16_384

/**
 * A `preParsing` hook that sets `request.body` to the parsed JSON, or leaves it undefined if there is no body. File uploads are received in
 * document-upload.ts. Throws ApiError `payload_too_large`, `validation_error` or `bad_request`.
 */
export async function receiveJson(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  if (!hasBody(request.raw)) return
  if (request.routeOptions.config.takesFile && isMultipart(request)) return refuseAmbiguousContent(request.raw)
  request.body = await readJson(request, reply)
}

/**
 * The parsed body. `beforeParse` gets its bytes first. Throws what `beforeParse` throws, and ApiError `payload_too_large`, `validation_error`
 * with a message that never repeats the text, `bad_request` if the caller has left, or `service_unavailable` if its owner or all owners have
 * too many bytes of large bodies here.
 */
export async function readJson(request: FastifyRequest, reply: FastifyReply, beforeParse?: (bytes: Buffer) => void): Promise<unknown> {
  const held = new HeldBody(shareOf(request), reply.raw)
  try {
    const bytes = await receiveBody(request.raw, reply.raw, held, request.routeOptions.bodyLimit)
    beforeParse?.(bytes)
    if (bytes.length <= largeBytes) return parseBody(request, bytes)
    return await parseInTurn(request, bytes)
  } finally {
    held.release()
  }
}

/** A parse takes at most milliseconds below this size. */
const largeBytes = 64 * 1024
// 16 MiB, which take about a fifth of a second to parse. The bodies of usual callers are here for milliseconds.
const maxOfOwner = 16 * 1024 * 1024
// 64 MiB, as of unread responses.
const maxOfAll = 64 * 1024 * 1024
/** The large bodies of the process, which share its memory and its event loop, from their first byte over `largeBytes` until they are parsed. */
const largeBodies = new ByteBudget(maxOfOwner, maxOfAll)

class HeldBody {
  readonly #owner: string
  readonly #response: ServerResponse
  #bytes = 0
  #isReleased = false

  constructor(owner: string, response: ServerResponse) {
    this.#owner = owner
    this.#response = response
  }

  /** Returns false if the body may not grow to this size. */
  grow(bytes: number): boolean {
    if (bytes <= largeBytes) return true
    const more = bytes - this.#bytes
    if (this.#isReleased || !largeBodies.allows(this.#owner, more, this.#bytes)) return false
    // A request that was answered before its body was complete, for example because it was too slow, emits no event after that.
    if (this.#bytes === 0) this.#response.once('close', () => this.release())
    largeBodies.add(this.#owner, more)
    this.#bytes = bytes
    return true
  }

  release(): void {
    if (this.#bytes > 0) largeBodies.add(this.#owner, -this.#bytes)
    this.#bytes = 0
    this.#isReleased = true
  }
}

const nothing = Buffer.alloc(0)
const tooManyBytes = 'Too many large request bodies are being received or wait to be read. Retry the request.'

/** Rejects a body of more than `limitBytes`: immediately if Content-Length says so, otherwise at the first byte over the limit. */
function receiveBody(request: IncomingMessage, response: ServerResponse, held: HeldBody, limitBytes: number): Promise<Buffer> {
  const tooLarge = (): ApiError =>
    new ApiError(
      'payload_too_large',
      limitBytes === bodyLimitBytes ? undefined : `The request body is larger than ${limitBytes / 1024} KiB.`,
    )
  if (Number(request.headers['content-length']) > limitBytes) return Promise.reject(tooLarge())
  // It has left during the authentication, and none of the events below would follow.
  if (request.destroyed) return Promise.reject(new ApiError('bad_request'))
  if (request.headers.expect !== undefined && !request.complete) response.writeContinue()
  return new Promise((resolve, reject) => {
    // Most bodies arrive in one piece. Further pieces are copied into one buffer: a body of 1-byte chunks would otherwise be a million objects.
    let buffer: Buffer = nothing
    let received = 0
    const onData = (bytes: Buffer): void => {
      const isTooLarge = received + bytes.length > limitBytes
      if (isTooLarge || !held.grow(received + bytes.length)) {
        stop()
        request.pause()
        return reject(isTooLarge ? tooLarge() : new ApiError('service_unavailable', tooManyBytes))
      }
      if (received === 0) {
        buffer = bytes
        received = bytes.length
        return
      }
      // Grows with what has arrived, not with the Content-Length that the caller claims.
      if (received + bytes.length > buffer.length) {
        const larger = Buffer.allocUnsafe(Math.max(received + bytes.length, buffer.length * 2))
        buffer.copy(larger, 0, 0, received)
        buffer = larger
      }
      bytes.copy(buffer, received)
      received += bytes.length
    }
    const onEnd = (): void => {
      stop()
      resolve(buffer.subarray(0, received))
    }
    // The connection is gone, so no one receives this error.
    const onGone = (): void => {
      stop()
      reject(new ApiError('bad_request'))
    }
    const stop = (): void => void request.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone)
    request.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone)
  })
}

/** The parses of large bodies. A batch is one of them, because each counts as a full batch, so the callers take turns. */
const largeParses = new Batcher<() => unknown, { kind: 'parsed'; value: unknown }>(
  async ([parseOne]) => {
    // Other requests run between two of them.
    await nextTick()
    return [{ kind: 'parsed', value: parseOne!() }]
  },
  () => [],
  () => Infinity,
)

async function parseInTurn(request: FastifyRequest, bytes: Buffer): Promise<unknown> {
  const parseLater = (): unknown => {
    if (request.raw.socket.destroyed) throw new ApiError('bad_request')
    return parseBody(request, bytes)
  }
  return (await largeParses.push(parseLater, shareOf(request))).value
}

/** The owner of an API key, or the operator or token. */
const shareOf = ({ caller, actor }: Partial<FastifyRequest>): string => caller?.apiKey.ownerId ?? (actor && 'id' in actor ? actor.id : '')

function parseBody({ raw, routeOptions }: FastifyRequest, bytes: Buffer): unknown {
  // mutant: order.validation-2
  refuseAmbiguousContent(raw)
  if (!isJson(raw.headers['content-type'])) throw invalid('Content-Type must be application/json with UTF-8 encoding.')
  if (!isUtf8(bytes)) throw invalid('The body must be valid UTF-8.')
  const text = bytes.toString()
  const maxValues = routeOptions.config.maxJsonValues ?? defaultValues
  const { depth, names, values } = shapeOf(text, maxValues)
  if (depth > deepest) throw invalid(`The body is nested too deeply. The maximum depth is ${deepest}.`)
  if (values > maxValues) throw invalid(`The body has too many values. It may have at most ${maxValues} fields and list elements in all.`)
  const value = parse(text)
  if (countNames(value, depth) < names) throw invalid('The body contains the same field more than once.')
  return value
}

/** Of two types, Node keeps the first, while a proxy in front may have checked the second. Nothing here decompresses a body. */
function refuseAmbiguousContent(request: IncomingMessage): void {
  if (countHeader(request, 'content-type') > 1) throw invalid('Send exactly one Content-Type header.')
  const coding = request.headers['content-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'identity')
    throw invalid('The body must not be compressed: send no Content-Encoding.')
}

/** Ignores parameters other than charset (RFC 9110, 8.3). Names and values are compared case-insensitively. */
function isJson(contentType = ''): boolean {
  if (contentType === 'application/json') return true
  const [mediaType = '', ...parameters] = contentType.toLowerCase().split(';')
  return (
    mediaType.trim() === 'application/json' &&
    parameters.every((parameter) => !/^\s*charset\s*=/.test(parameter) || /^\s*charset=("utf-8"|utf-8)\s*$/.test(parameter))
  )
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw invalid('The body is not valid JSON.')
  }
}

const invalid = (message: string): ApiError => new ApiError('validation_error', message)
