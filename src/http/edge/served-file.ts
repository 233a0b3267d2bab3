/** A file of ours as it goes over the wire: as it is or compressed, and not again to whoever has it. RFC 9110, 12.5.3 and 13.1.2. */
import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** `gzipped` is absent where it would not be smaller. */
export type ServedFile = { type: string; bytes: Buffer; gzipped?: Buffer | undefined; version: string }

/** What tells one content from another. */
export const versionOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('base64url').slice(0, 16)

/** 304 where the caller has this version already; a weak tag, since it stands for the plain and the compressed bytes. */
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
