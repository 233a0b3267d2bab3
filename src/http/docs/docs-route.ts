/**
 * Serves /docs, the API reference: one page with its own style, script and icon. The page is rendered once, from the same object that
 * /openapi.json serves.
 */
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import type { FastifyPluginAsync } from 'fastify'
import type { ApiDocument } from './api-document.ts'
import { readErrorPages } from './error-pages.ts'
import { bodyLimitBytes } from '../edge/polite-close.ts'
import { sendFile, versionOf } from '../edge/served-file.ts'
import type { ServedFile } from '../edge/served-file.ts'

export type DocsOptions = {
  /** Returns the base URL to show, which is known once the server listens. */
  baseUrl: () => string
}

// Nothing is loaded from or sent to other origins, and inline scripts and styles are blocked.
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

  let page: Promise<ServedFile> | undefined
  const makePage = async (): Promise<ServedFile> => {
    // Loaded at the first request, so that it does not delay the start.
    const { renderPage } = await import('./page.ts')
    const document: ApiDocument = JSON.parse(JSON.stringify(app.swagger()))
    return served('text/html; charset=utf-8', renderPage({ document, errorPages, baseUrl: baseUrl(), bodyLimitBytes, assets }))
  }

  // The browser revalidates each time and gets 304 while the page is unchanged.
  app.get('/docs', { schema: { hide: true } }, async (request, reply) =>
    sendFile(request, reply, await (page ??= makePage()), { ...securityHeaders, 'cache-control': 'no-cache' }),
  )
  for (const [name, file] of Object.entries(files)) {
    // The URL contains the version.
    app.get(`/docs/${name}`, { schema: { hide: true } }, (request, reply) =>
      sendFile(request, reply, file, { ...securityHeaders, 'cache-control': 'public, max-age=31536000, immutable' }),
    )
  }
}

const readOwnFile = (name: string): string => readFileSync(new URL(`./${name}`, import.meta.url), 'utf8')

function served(type: string, text: string): ServedFile {
  const bytes = Buffer.from(text)
  return { type, bytes, gzipped: gzipSync(bytes), version: versionOf(bytes) }
}
