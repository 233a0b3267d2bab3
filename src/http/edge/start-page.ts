/** GET /: a small page with the name and version of the service and links to what this server offers, or the same as JSON. */
import { createHash } from 'node:crypto'
import type { FastifyPluginAsync } from 'fastify'
import { ownVersion } from '../../observability/metrics.ts'
import { html, Html } from '../docs/html.ts'

export type StartPageOptions = {
  /** Whether this server has the API reference at /docs. */
  docs: boolean
  /** Whether this server has the console at /console, and the admin API with its reference at /admin/docs. */
  console: boolean
}

const about = 'A self-hosted service for chat agents that answers, stores and charges every message exactly once.'

const style = [
  ':root { color-scheme: light dark; }',
  'body { margin: 15vh auto; padding: 0 1.5rem; max-width: 34rem; font: 1rem/1.6 system-ui, sans-serif; }',
  'li { margin: 0.25rem 0; }',
].join('\n')

// Not part of the template below, because the hash covers the exact text, and the formatter changes the template.
const styleTag = new Html(`<style>${style}</style>`)

// Blocks scripts and everything from other origins. The hash allows only the style above.
const securityHeaders = {
  'content-security-policy': `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
  vary: 'Accept',
}

export const startPage: FastifyPluginAsync<StartPageOptions> = async (app, offered) => {
  const version = ownVersion()
  const links = [
    ...(offered.docs ? [{ name: 'docs', path: '/docs', title: 'API reference' }] : []),
    ...(offered.console
      ? [
          { name: 'console', path: '/console', title: 'Console' },
          { name: 'admin_docs', path: '/admin/docs', title: 'Admin API reference' },
        ]
      : []),
    { name: 'health', path: '/healthz', title: 'Health check' },
  ]
  const json = JSON.stringify({ name: 'Turnkeep', version, ...Object.fromEntries(links.map(({ name, path }) => [name, path])) })
  const page = renderPage(version, links).markup

  app.get('/', { schema: { hide: true } }, (request, reply) => {
    reply.headers(securityHeaders)
    return wantsJson(request.headers.accept)
      ? reply.type('application/json; charset=utf-8').send(json)
      : reply.type('text/html; charset=utf-8').send(page)
  })
}

/** A browser accepts text/html; a program that wants JSON names it and not HTML. */
const wantsJson = (accept = ''): boolean => /\bapplication\/json\b/i.test(accept) && !/\btext\/html\b/i.test(accept)

/** The links are relative, so that they also work behind a proxy that adds a path prefix. */
const renderPage = (version: string, links: { path: string; title: string }[]): Html =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <title>Turnkeep</title>
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        ${styleTag}
      </head>
      <body>
        <main>
          <h1>Turnkeep ${version}</h1>
          <p>${about}</p>
          <ul>
            ${links.map(({ path, title }) => html`<li><a href="${path.slice(1)}">${title}</a></li>`)}
          </ul>
        </main>
      </body>
    </html> `
