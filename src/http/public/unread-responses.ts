/**
 * `overload.unread`: limits the memory that responses use while their callers do not read them. It counts the bytes of each response from the
 * moment it is written until the system has taken the last of them, and refuses a further one; slow-reader.ts limits the time.
 */
import type { ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { ApiError } from '../../errors.ts'
import { ByteBudget } from '../edge/byte-budget.ts'
import { rateHeaders } from './caller.ts'
import { cutOffWhenStalled } from './slow-reader.ts'
import type { ReaderTimes } from './slow-reader.ts'

/** 16 KiB. A smaller response fits in the buffer of a socket, and the limit on pipelining bounds how many of them wait. */
const smallResponse = 16 * 1024
// 8 MiB: four full pages of messages, or the longest reply in ASCII.
const maxOfKey = 8 * 1024 * 1024
// 64 MiB.
const maxOfAll = 64 * 1024 * 1024

export type UnreadResponses = {
  /** Counts this response for an API key or a principal. One that is counted for none is never refused. */
  assign(response: ServerResponse, sender: string): void
  /** Whether another response of its key may be made, and its caller is still there. Call it before reading much for one. */
  allows(response: ServerResponse): boolean
  /** Counts the bytes that are about to be written. Returns false if they are too many: then do not write them. */
  take(response: ServerResponse, bytes: number): boolean
}

export function createUnreadResponses(): UnreadResponses {
  const keyOf = new WeakMap<ServerResponse, string>()
  const unread = new ByteBudget(maxOfKey, maxOfAll)

  return {
    assign: (response, sender) => void keyOf.set(response, sender),
    allows(response) {
      const apiKeyId = keyOf.get(response)
      return !response.destroyed && (apiKeyId === undefined || unread.allows(apiKeyId, smallResponse))
    },
    take(response, bytes) {
      const apiKeyId = keyOf.get(response)
      if (apiKeyId === undefined || bytes <= smallResponse || response.destroyed) return true
      if (!unread.allows(apiKeyId, bytes)) return false
      unread.add(apiKeyId, bytes)
      // The only event that every response emits, even if the caller has disconnected.
      response.once('close', () => unread.add(apiKeyId, -bytes))
      return true
    },
  }
}

/** Counts every JSON response of these routes, and answers 503 in place of one that is too many. */
export function limitUnread(app: FastifyInstance, unread: UnreadResponses): void {
  app.addHook('onRequest', (request, reply, done) => {
    const sender = request.caller?.apiKey.id ?? request.principalName
    if (sender !== undefined) unread.assign(reply.raw, sender)
    done()
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    if (typeof payload !== 'string' || unread.take(reply.raw, Buffer.byteLength(payload))) return done(null, payload)
    if (request.caller) for (const name of Object.keys(rateHeaders(request.caller.figures))) reply.removeHeader(name)
    done(new ApiError('service_unavailable'))
  })
}

/** `overload.unread`: disconnects a caller that does not read a large response. Event streams do this themselves. */
export function watchReaders(app: FastifyInstance, times: ReaderTimes): void {
  app.addHook('onSend', (_request, reply, payload, done) => {
    // A character of a string is up to three bytes.
    const isLarge = (typeof payload === 'string' || Buffer.isBuffer(payload)) && payload.length > smallResponse / 4
    // The response is written after the hooks.
    if (isLarge) setImmediate(cutOffWhenStalled(reply.raw, times))
    done(null, payload)
  })
}
