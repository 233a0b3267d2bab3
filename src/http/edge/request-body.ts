/**
 * Receives a request body within the size limit and parses it as JSON, within the number of values that its route allows and one large body
 * at a time. Rules `order.body-size`, `order.validation`, `overload.bodies`, `overload.starts`, `text.well-formed`.
 */
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as nextTick } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, invalid } from '../../errors.ts'
import { isMultipart } from '../admin/agents/document-upload.ts'
import { countHeader } from './headers.ts'
import { JsonShape, countNames, deepest } from './json-shape.ts'
import { startInTurn } from './fair-start.ts'
import { bodyLimitBytes, hasBody } from './polite-close.ts'
import { senderOf } from './unfinished-bodies.ts'
import type { UnfinishedBody } from './unfinished-bodies.ts'
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
  if (!hasBody(request.raw)) return startInTurn(request)
  if (request.routeOptions.config.takesFile && isMultipart(request)) return refuseAmbiguousContent(request.raw)
  request.body = await readJson(request, reply)
}

/**
 * The parsed body. `beforeParse` gets its bytes first. Throws what `beforeParse` throws, and ApiError `payload_too_large`, `validation_error`
 * with a message that never repeats the text, `bad_request` if the caller has left, or `service_unavailable` if its
 * sender or all senders have too many bytes of unfinished bodies here (`overload.bodies`).
 */
export async function readJson(request: FastifyRequest, reply: FastifyReply, beforeParse?: (bytes: Buffer) => void): Promise<unknown> {
  const { raw, server, routeOptions } = request
  refuseEarly(raw, routeOptions.bodyLimit)
  // Most bodies have arrived completely: they are counted nowhere.
  const unfinished = raw.complete ? undefined : server.unfinishedBodies.start(request)
  try {
    const shape = new JsonShape(routeOptions.config.maxJsonValues ?? defaultValues)
    const bytes = await receiveBody(raw, reply.raw, { unfinished, shape, limitBytes: routeOptions.bodyLimit })
    const wait = startInTurn(request)
    if (wait) await wait
    beforeParse?.(bytes)
    if (bytes.length <= largeBytes || shape.isBeyond) return parseBody(request, bytes, shape)
    return await parseInTurn(request, bytes, shape)
  } finally {
    unfinished?.end()
  }
}

/** A parse takes at most milliseconds below this size. */
const largeBytes = 64 * 1024

const tooLarge = (limitBytes: number): ApiError =>
  new ApiError('payload_too_large', limitBytes === bodyLimitBytes ? undefined : `The request body is larger than ${limitBytes / 1024} KiB.`)

function refuseEarly(request: IncomingMessage, limitBytes: number): void {
  if (Number(request.headers['content-length']) > limitBytes) throw tooLarge(limitBytes)
  // It has left during the authentication, and no event would follow.
  if (request.destroyed) throw new ApiError('bad_request')
}

const nothing = Buffer.alloc(0)

type Receiving = { unfinished: UnfinishedBody | undefined; shape: JsonShape; limitBytes: number }

/**
 * Rejects a body of more than `limitBytes` at the first byte over the limit, and one that its sender may not hold here. Returns only the first
 * part of one whose shape is beyond the limits.
 */
function receiveBody(request: IncomingMessage, response: ServerResponse, { unfinished, shape, limitBytes }: Receiving): Promise<Buffer> {
  if (request.headers.expect !== undefined && !request.complete) response.writeContinue()
  return new Promise((resolve, reject) => {
    // Most bodies arrive in one piece. Further pieces are copied into one buffer: a body of 1-byte chunks would otherwise be a million objects.
    let buffer: Buffer = nothing
    let size = 0
    const onData = (bytes: Buffer): void => {
      const problem = size + bytes.length > limitBytes ? tooLarge(limitBytes) : append(bytes)
      if (!problem && !shape.add(bytes).isBeyond) return
      stop()
      request.pause()
      if (problem) reject(problem)
      else resolve(buffer.subarray(0, size))
    }
    const append = (bytes: Buffer): ApiError | undefined => {
      const needed = size + bytes.length
      // Grows with what has arrived, not with the Content-Length that the caller claims.
      const capacity = needed <= buffer.length || size === 0 ? needed : Math.max(needed, Math.min(buffer.length * 2, limitBytes))
      const problem = unfinished?.grow(Math.max(capacity, buffer.length))
      if (problem) return problem
      if (size === 0) buffer = bytes
      else {
        if (needed > buffer.length) {
          const larger = Buffer.allocUnsafe(capacity)
          buffer.copy(larger, 0, 0, size)
          buffer = larger
        }
        bytes.copy(buffer, size)
      }
      size = needed
      return undefined
    }
    const onEnd = (): void => {
      stop()
      resolve(buffer.subarray(0, size))
    }
    // The connection is gone, so no one receives this error.
    const onGone = (): void => {
      stop()
      reject(new ApiError('bad_request'))
    }
    const stop = (): void => {
      request.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone)
      response.off('close', onGone)
    }
    request.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone)
    // The request emits nothing if refusals.ts has answered it before its end, for example because it was too slow.
    if (unfinished) response.once('close', onGone)
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

async function parseInTurn(request: FastifyRequest, bytes: Buffer, shape: JsonShape): Promise<unknown> {
  const parseLater = (): unknown => {
    if (request.raw.socket.destroyed) throw new ApiError('bad_request')
    return parseBody(request, bytes, shape)
  }
  return (await largeParses.push(parseLater, senderOf(request) ?? '')).value
}

function parseBody({ raw }: FastifyRequest, bytes: Buffer, { depth, names, values, maxValues }: JsonShape): unknown {
  // mutant: order.validation-2
  refuseAmbiguousContent(raw)
  if (!isJson(raw.headers['content-type'])) throw invalid(null, 'Content-Type must be application/json with UTF-8 encoding.')
  if (depth > deepest) throw invalid(null, `The body is nested too deeply. The maximum depth is ${deepest}.`)
  if (values > maxValues)
    throw invalid(null, `The body has too many values. It may have at most ${maxValues} fields and list elements in all.`)
  if (!isUtf8(bytes)) throw invalid(null, 'The body must be valid UTF-8.')
  const value = parse(bytes.toString())
  if (countNames(value, depth) < names) throw invalid(null, 'The body contains the same field more than once.')
  return value
}

/** Of two types, Node keeps the first, while a proxy in front may have checked the second. Nothing here decompresses a body. */
function refuseAmbiguousContent(request: IncomingMessage): void {
  if (countHeader(request, 'content-type') > 1) throw invalid(null, 'Send exactly one Content-Type header.')
  const coding = request.headers['content-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'identity')
    throw invalid(null, 'The body must not be compressed: send no Content-Encoding.')
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
    throw invalid(null, 'The body is not valid JSON.')
  }
}
