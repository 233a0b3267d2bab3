/**
 * /docs: the reference for callers, one page with its style, script and icon, all from files of this repository. The page is made once, of the
 * very object that /openapi.json serves. Surfaces, Addresses.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type { ApiDocument } from './docs/api-document.ts'
import { readErrorPages } from './docs/error-pages.ts'
import { renderPage } from './docs/page.ts'
import { bodyLimitBytes } from './polite-close.ts'

export type DocsOptions = {
  /** The base address to show; known once the door listens. */
  baseUrl: () => string
}

type Served = { type: string; bytes: Buffer; gzipped: Buffer; version: string }

// Nothing may be loaded from anywhere else, nothing runs that stands in the page itself, nothing may be sent away from it.
const securityHeaders = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

export const docsRoute: FastifyPluginAsync<DocsOptions> = async (app, { baseUrl }) => {
  const style = served('text/css; charset=utf-8', readOwnFile('style.css'))
  const script = served('text/javascript; charset=utf-8', readOwnFile('copy.js'))
  const icon = served('image/svg+xml', readOwnFile('icon.svg'))
  const files = { 'style.css': style, 'copy.js': script, 'icon.svg': icon }
  const address = (name: keyof typeof files): string => `docs/${name}?v=${files[name].version}`
  const assets = { style: address('style.css'), script: address('copy.js'), icon: address('icon.svg') }
  const errorPages = readErrorPages()

  let page: Served | undefined
  const makePage = (): Served => {
    const document: ApiDocument = JSON.parse(JSON.stringify(app.swagger()))
    return served('text/html; charset=utf-8', renderPage({ document, errorPages, baseUrl: baseUrl(), bodyLimitBytes, assets }))
  }

  // A browser asks each time and gets 304 while nothing has changed.
  app.get('/docs', { schema: { hide: true } }, (request, reply) => send(request, reply, (page ??= makePage()), 'no-cache'))
  for (const [name, file] of Object.entries(files)) {
    // The address holds the version.
    app.get(`/docs/${name}`, { schema: { hide: true } }, (request, reply) =>
      send(request, reply, file, 'public, max-age=31536000, immutable'),
    )
  }
}

const readOwnFile = (name: string): string => readFileSync(new URL(`./docs/${name}`, import.meta.url), 'utf8')

function served(type: string, text: string): Served {
  const bytes = Buffer.from(text)
  return { type, bytes, gzipped: gzipSync(bytes), version: createHash('sha256').update(bytes).digest('base64url').slice(0, 16) }
}

/** RFC 9110: 304 where the caller has this version already; a weak tag, since it stands for the plain and the compressed bytes. */
function send(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { type, bytes, gzipped, version }: Served,
  cacheControl: string,
): FastifyReply {
  const tag = `W/"${version}"`
  reply.headers({ ...securityHeaders, etag: tag, 'cache-control': cacheControl, vary: 'Accept-Encoding' })
  const known = headers['if-none-match']?.split(',').map((one) => one.trim()) ?? []
  if (known.includes(tag) || known.includes('*')) return reply.code(304).send()
  reply.type(type)
  if (!/\bgzip\b(?!;\s*q=0(?:\.0*)?(?:,|$))/.test(String(headers['accept-encoding'] ?? ''))) return reply.send(bytes)
  return reply.header('content-encoding', 'gzip').send(gzipped)
}
