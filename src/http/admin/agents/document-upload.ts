/**
 * A file as multipart/form-data brings it: received whole, within its limit, before anything of it is stored, so that a caller who is cut off
 * leaves nothing behind. The one route with a larger body than 1 MiB; every other keeps to it. Never writes to disk.
 */
import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../../../errors.ts'
import { nameUnknown, wellFormedPattern } from '../../edge/invalid-input.ts'

export type Upload = { fileName: string; contentType: string; bytes: Buffer }

declare module 'fastify' {
  interface FastifyRequest {
    /** Set where the body was multipart/form-data; `request.body` has the rest of it, and the file's name. */
    upload: Upload | undefined
  }
  interface FastifyContextConfig {
    takesFile?: true
  }
}

// Surfaces: a manual of some thousand pages. It stands in memory while it comes in.
const maxFile = 20 * 1024 * 1024
// Boundaries, part headers and a title.
const maxFrame = 64 * 1024
// 160 MiB of files under way in a process; an operator's own script that sends more at once is told to come again.
const maxUploads = 8
// As long as file systems take it.
const maxName = 255
const wellFormed = new RegExp(wellFormedPattern, 'u')
const limits = { files: 1, fields: 1, fileSize: maxFile, fieldNameSize: 100, fieldSize: 4096, headerPairs: 20 }

export const isMultipart = ({ headers }: FastifyRequest): boolean => /^\s*multipart\/form-data\s*(;|$)/i.test(headers['content-type'] ?? '')

/** Routes of `app` with `config.takesFile` receive a file. Its checks come before those of the body's schema. */
export async function receiveUploads(app: FastifyInstance): Promise<void> {
  let underWay = 0
  await app.register(multipart, { limits })
  app.decorateRequest('upload', undefined)
  app.addHook('preValidation', async (request, reply) => {
    if (!request.routeOptions.config.takesFile || !isMultipart(request)) return
    if (underWay >= maxUploads) throw new ApiError('service_unavailable', 'Too many files are being received. Send it again.')
    if (Number(request.headers['content-length']) > maxFile + maxFrame) throw tooLarge()
    underWay++
    // Whoever stops sending half-way is answered elsewhere (refusals.ts), and the reader of the parts is told nothing of it.
    const answered = Promise.withResolvers<never>()
    const stop = (): void => answered.reject(new ApiError('bad_request'))
    reply.raw.once('close', stop)
    try {
      await Promise.race([receive(request, reply), answered.promise])
    } finally {
      reply.raw.off('close', stop)
      underWay--
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
        // Undefined where the sender named none, whatever its type says.
        const fileName: string | undefined = part.filename
        if (!fileName || fileName.length > maxName || !wellFormed.test(fileName))
          throw invalid('The name of the file must have 1 to 255 characters, and none of them U+0000.')
        request.upload = { fileName, contentType: part.mimetype, bytes: await part.toBuffer() }
        body['file'] = fileName
      } else {
        if (part.fieldname === 'file') throw invalid('file must be sent as a file, with a name.')
        if (part.fieldname !== 'title') throw unknownField(part.fieldname)
        if (part.valueTruncated) throw invalid('title is too long.')
        body['title'] = part.value
      }
    }
  } catch (error) {
    throw error instanceof ApiError ? error : refusalOf(error)
  }
  if (!request.upload) throw invalid('file is required.')
  request.body = body
}

/** What the reader of multipart/form-data says; it reads bytes of the caller and nothing else. */
function refusalOf(error: unknown): ApiError {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  switch (code) {
    case 'FST_REQ_FILE_TOO_LARGE':
      return tooLarge()
    case 'FST_FILES_LIMIT':
      return invalid('Send one file at a time.')
    case 'FST_FIELDS_LIMIT':
      return invalid('Beside the file there may be one title.')
    case 'FST_PROTO_VIOLATION':
      return unknownField()
    // The connection is gone; nobody will read this.
    case 'FST_MP_PREMATURE_CLOSE':
      return new ApiError('bad_request')
    default:
      return invalid('The body is not whole, or not multipart/form-data with its boundary.')
  }
}

const tooLarge = (): ApiError => new ApiError('payload_too_large', 'The file is larger than 20 MiB.')
const unknownField = (name?: string): ApiError => invalid(nameUnknown('The body', 'field', name))
const invalid = (message: string): ApiError => new ApiError('validation_error', message)
