/** Sends a static file, compressed if the client accepts gzip, or 304 if the client has the current version. RFC 9110, 12.5.3 and 13.1.2. */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip, gzipSync } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** `gzipped` is undefined for content that does not compress. */
export type ServedFile = { type: string; bytes: Buffer; gzipped?: Buffer | undefined; version: string }

/** Returns a hash of the content. */
export const versionOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('base64url').slice(0, 16)

/** Returns a text as a file. Call it once per text: all responses then share the same bytes. */
export function servedText(type: string, text: string): ServedFile {
  const bytes = Buffer.from(text)
  return { type, bytes, gzipped: gzipSync(bytes), version: versionOf(bytes) }
}

/** The same for JSON, compressed by another thread: for a text so large that it would delay other requests. */
export async function servedJson(text: string): Promise<ServedFile> {
  const bytes = Buffer.from(text)
  return { type: 'application/json; charset=utf-8', bytes, gzipped: await compress(bytes), version: versionOf(bytes) }
}

/** Compresses in another thread. The script of the console takes tens of milliseconds. */
export const compress = promisify(gzip)

/** Sends the file, or 304 if the client has this version. The ETag is weak because it covers both the plain and the compressed bytes. */
export function sendFile(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { type, bytes, gzipped, version }: ServedFile,
  more: Record<string, string>,
): FastifyReply {
  const tag = `W/"${version}"`
  reply.headers({ ...more, etag: tag, vary: 'Accept-Encoding' })
  const known = headers['if-none-match']?.split(',').map((one) => one.trim()) ?? []
  if (known.includes(tag) || known.includes('*')) return reply.code(304).send()
  reply.type(type)
  if (!gzipped || !takesGzip(String(headers['accept-encoding'] ?? ''))) return reply.send(bytes)
  return reply.header('content-encoding', 'gzip').send(gzipped)
}

const takesGzip = (accepted: string): boolean => /\bgzip\b(?!;\s*q=0(?:\.0*)?(?:,|$))/.test(accepted)
