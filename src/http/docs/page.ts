/**
 * Renders the API reference as one page, generated from /openapi.json and docs/errors so that it cannot differ from them. The page loads nothing
 * from other origins and never asks for a key.
 */
import { codesOf, endpointsOf } from './api-document.ts'
import type { ApiDocument, Endpoint } from './api-document.ts'
import { renderAuthentication, renderClients, renderErrors, renderFirstMinute, renderLimits, renderRetries } from './chapters.ts'
import { renderEndpoint } from './endpoint.ts'
import type { ErrorPage } from './error-pages.ts'
import { html } from './html.ts'
import type { Html } from './html.ts'
import { renderInline } from './markdown.ts'

export type PageParts = {
  document: ApiDocument
  errorPages: ErrorPage[]
  /** Without a trailing slash. */
  baseUrl: string
  bodyLimitBytes: number
  /** URLs of the page's own files, relative to the page. */
  assets: { style: string; script: string; icon: string }
}

export function renderPage(parts: PageParts): string {
  const { document, errorPages, baseUrl, assets } = parts
  const { info } = document
  const endpoints = endpointsOf(document)
  const chat = endpoints.find(({ operationId }) => operationId === 'createChatResponse')!
  const ofTag = (tag: string): Endpoint[] => endpoints.filter(({ tags }) => tags.includes(tag))
  const endpoint = (one: Endpoint): Html => renderEndpoint(baseUrl, one)
  const chapters: { id: string; title: string; body: Html }[] = [
    { id: 'quickstart', title: 'Quickstart', body: renderFirstMinute(baseUrl, chat) },
    { id: 'authentication', title: 'Authentication', body: renderAuthentication() },
    { id: 'clients', title: 'Clients', body: renderClients(baseUrl) },
    ...ofTag('Chat').map((one) => ({ id: one.operationId, title: one.summary, body: endpoint(one) })),
    { id: 'retries', title: 'Idempotency and retries', body: renderRetries(baseUrl, chat, pagesFor(errorPages, chat)) },
    { id: 'errors', title: 'Errors', body: renderErrors(pagesFor(errorPages, ...endpoints)) },
    { id: 'limits', title: 'Limits', body: renderLimits(chat, parts.bodyLimitBytes) },
    ...ofTag('Turns').map((one) => ({ id: one.operationId, title: one.summary, body: endpoint(one) })),
    ...ofTag('Conversations').map((one) => ({ id: one.operationId, title: one.summary, body: endpoint(one) })),
  ]
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <title>${info.title}: reference</title>
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <link rel="icon" href="${assets.icon}" type="image/svg+xml" />
        <link rel="stylesheet" href="${assets.style}" />
        <script src="${assets.script}" defer></script>
      </head>
      <body>
        <a class="skip" href="#quickstart">Skip to content</a>
        <nav aria-label="Contents">
          <p class="name"><a href="#top">${info.title}</a> <span>${info.version}</span></p>
          <ul>
            ${chapters.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}
          </ul>
        </nav>
        <main id="top">
          <header>
            <h1>${info.title}</h1>
            <p class="lead">${renderInline(info.description)}</p>
            <dl>
              <dt>Base URL</dt>
              <dd><code>${baseUrl}</code></dd>
              <dt>OpenAPI</dt>
              <dd><a href="openapi.json">openapi.json</a>, OpenAPI 3.1.0, version ${info.version}; this page is generated from it</dd>
            </dl>
          </header>
          ${chapters.map(
            ({ id, title, body }) =>
              html`<section id="${id}" aria-labelledby="${id}-title">
                <h2 id="${id}-title"><a href="#${id}">${title}</a></h2>
                ${body}
              </section> `,
          )}
        </main>
      </body>
    </html> `.markup
}

/** Returns the error pages of these endpoints, in the order of src/errors.ts. */
function pagesFor(errorPages: ErrorPage[], ...endpoints: Endpoint[]): ErrorPage[] {
  const codes = new Set([...endpoints.flatMap(codesOf), 'method_not_allowed'])
  return errorPages.filter(({ code }) => codes.has(code))
}
