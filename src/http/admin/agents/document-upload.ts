/**
 * Receives a file sent as multipart/form-data. The complete file is received, within the size limit, before anything is stored, so a broken
 * upload leaves nothing behind. Only these routes accept a body over 1 MiB. Never writes to disk.
 */
import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, invalid } from '../../../errors.ts'
import { senderOf } from '../../edge/unfinished-bodies.ts'
import { unknownField, wellFormedPattern } from '../../edge/invalid-input.ts'

export type Upload = { fileName: string; contentType: string; bytes: Buffer }

declare module 'fastify' {
  interface FastifyRequest {
    /** Set if the body was multipart/form-data. `request.body` then has the other fields and the file name. */
    upload: Upload | undefined
  }
  interface FastifyContextConfig {
    takesFile?: true
  }
}

// Enough for a manual of about a thousand pages. The file is in memory while it is received.
const maxFile = 20 * 1024 * 1024
// Room for boundaries, part headers and the title.
const maxFrame = 64 * 1024
// At most 160 MiB of uploads in memory per process. A script that sends more files in parallel has to retry.
const maxUploads = 8
// `overload.bodies`: half of them, so that one operator or token leaves some to the others.
const maxOfOne = 4
// The limit of common file systems.
const maxName = 255
const wellFormed = new RegExp(wellFormedPattern, 'u')
const limits = { files: 1, fields: 1, fileSize: maxFile, fieldNameSize: 100, fieldSize: 4096, headerPairs: 20 }

export const isMultipart = ({ headers }: FastifyRequest): boolean => /^\s*multipart\/form-data\s*(;|$)/i.test(headers['content-type'] ?? '')

/** Lets the routes of `app` with `config.takesFile` receive a file. The file is checked before the body schema. */
export async function receiveUploads(app: FastifyInstance): Promise<void> {
  let underWay = 0
  const bySender = new Map<string | undefined, number>()
  await app.register(multipart, { limits })
  app.decorateRequest('upload', undefined)
  app.addHook('preValidation', async (request, reply) => {
    if (!request.routeOptions.config.takesFile || !isMultipart(request)) return
    const sender = senderOf(request)
    const own = bySender.get(sender) ?? 0
    if (underWay >= maxUploads || own >= maxOfOne)
      throw new ApiError('service_unavailable', 'Too many files are being uploaded at the same time. Retry the upload.')
    if (Number(request.headers['content-length']) > maxFile + maxFrame) throw tooLarge()
    // A caller that left during the authentication: neither the parser nor `close` below would report it any more.
    if (reply.raw.destroyed) throw new ApiError('bad_request')
    underWay++
    bySender.set(sender, own + 1)
    // If the caller stops sending, refusals.ts answers the request. The multipart parser does not notice that, so this ends its wait.
    const answered = Promise.withResolvers<never>()
    const stop = (): void => answered.reject(new ApiError('bad_request'))
    reply.raw.once('close', stop)
    try {
      await Promise.race([receive(request, reply), answered.promise])
    } finally {
      reply.raw.off('close', stop)
      underWay--
      const left = bySender.get(sender)! - 1
      if (left > 0) bySender.set(sender, left)
      else bySender.delete(sender)
    }
  })
}

async function receive(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { raw } = request
  if (raw.headers.expect !== undefined && !raw.complete) reply.raw.writeContinue()
  const body: Record<string, unknown> = {}
  try {
    for await (const part of request.parts()) {
      if (part.type === 'file') {
        if (part.fieldname !== 'file') throw unknownField(part.fieldname)
        // Undefined if the sender gave no name, although its type does not allow that.
        const fileName: string | undefined = part.filename
        if (!fileName || fileName.length > maxName || !wellFormed.test(fileName))
          throw invalid('file', 'The file name must have 1 to 255 characters and must not contain U+0000.')
        request.upload = { fileName, contentType: part.mimetype, bytes: await part.toBuffer() }
        body['file'] = fileName
      } else {
        if (part.fieldname === 'file') throw invalid('file', 'file must be sent as a file with a file name.')
        if (part.fieldname !== 'title') throw unknownField(part.fieldname)
        if (part.valueTruncated) throw invalid('title', 'title is too long.')
        body['title'] = part.value
      }
    }
  } catch (error) {
    throw error instanceof ApiError ? error : refusalOf(error)
  }
  if (!request.upload) throw invalid('file', 'file is required.')
  request.body = body
}

/** Maps an error of the multipart parser. Only the bytes that the caller sent can cause one. */
function refusalOf(error: unknown): ApiError {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  switch (code) {
    case 'FST_REQ_FILE_TOO_LARGE':
      return tooLarge()
    case 'FST_FILES_LIMIT':
      return invalid('file', 'Send one file at a time.')
    case 'FST_FIELDS_LIMIT':
      return invalid('title', 'Only one title may be sent with the file.')
    case 'FST_PROTO_VIOLATION':
      return unknownField()
    // The connection is gone, so no one receives this error.
    case 'FST_MP_PREMATURE_CLOSE':
      return new ApiError('bad_request')
    default:
      return invalid(null, 'The body is incomplete or not valid multipart/form-data with a boundary.')
  }
}

const tooLarge = (): ApiError => new ApiError('payload_too_large', 'The file is larger than 20 MiB.')
