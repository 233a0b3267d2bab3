/**
 * Serves the API references, /docs and /admin/docs: each one page with its own style, script and icon. A page is rendered once, from the
 * same object that the server describes its API with. Neither contains anything of this installation but its address.
 */
import { readFileSync } from 'node:fs'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { readDescription } from './api-document.ts'
import { readErrorPages } from './error-pages.ts'
import type { Description } from '../edge/late-description.ts'
import { bodyLimitBytes } from '../edge/polite-close.ts'
import { sendFile, servedText } from '../edge/served-file.ts'
import type { ServedFile } from '../edge/served-file.ts'

export type DocsOptions = {
  /** Returns the base URL to show, which is known once the server listens. */
  baseUrl: () => string
  /** Returns the description of the API. */
  describe: () => Promise<Description>
}

// Nothing is loaded from or sent to other origins, and inline scripts and styles are blocked.
const securityHeaders = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

export const docsRoute: FastifyPluginAsync<DocsOptions> = async (app, { baseUrl, describe }) => {
  const errorPages = readErrorPages()
  servePage(app, '/docs', async (assets) => {
    // Loaded at the first request, so that it does not delay the start.
    const { renderPage } = await import('./page.ts')
    const document = readDescription(await describe())
    return renderPage({ document, errorPages, baseUrl: baseUrl(), bodyLimitBytes, assets })
  })
}

/** Unlike the admin API, its reference needs no token. */
export const adminDocsRoute: FastifyPluginAsync<DocsOptions> = async (app, { baseUrl, describe }) => {
  servePage(app, '/admin/docs', async (assets) => {
    const { renderAdminPage } = await import('./admin-page.ts')
    const document = readDescription(await describe())
    return renderAdminPage({ document, baseUrl: baseUrl(), assets })
  })
}

type Assets = { style: string; script: string; icon: string }

/** `path` is the address of the page; its files are below it. */
function servePage(app: FastifyInstance, path: string, render: (assets: Assets) => Promise<string>): void {
  const style = servedText('text/css; charset=utf-8', readOwnFile('style.css'))
  const script = servedText('text/javascript; charset=utf-8', readOwnFile('copy.js'))
  const icon = servedText('image/svg+xml', readOwnFile('icon.svg'))
  const files = { 'style.css': style, 'copy.js': script, 'icon.svg': icon }
  // Relative to the page, so that it also works behind a proxy that adds a path prefix.
  const address = (name: keyof typeof files): string => `${path.split('/').at(-1)!}/${name}?v=${files[name].version}`
  const assets = { style: address('style.css'), script: address('copy.js'), icon: address('icon.svg') }

  let page: ServedFile | undefined
  const makePage = async (): Promise<ServedFile> => servedText('text/html; charset=utf-8', await render(assets))

  // The browser revalidates each time and gets 304 while the page is unchanged.
  app.get(path, { schema: { hide: true } }, async (request, reply) =>
    sendFile(request, reply, (page ??= await makePage()), { ...securityHeaders, 'cache-control': 'no-cache' }),
  )
  for (const [name, file] of Object.entries(files)) {
    // The URL contains the version.
    app.get(`${path}/${name}`, { schema: { hide: true } }, (request, reply) =>
      sendFile(request, reply, file, { ...securityHeaders, 'cache-control': 'public, max-age=31536000, immutable' }),
    )
  }
}

const readOwnFile = (name: string): string => readFileSync(new URL(`./${name}`, import.meta.url), 'utf8')
