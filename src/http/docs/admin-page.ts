/**
 * Renders the reference of the admin API as one page, generated from its description, so that it cannot differ from it. Loads nothing from
 * other origins and never asks for a token.
 */
import { codesOf, endpointsOf, exampleOf, fieldsOf } from './api-document.ts'
import type { ApiDocument, Endpoint } from './api-document.ts'
import { parametersOf, renderCode, renderFields, renderEvents } from './endpoint.ts'
import { html, nothing } from './html.ts'
import type { Html } from './html.ts'
import { renderInline } from './markdown.ts'

export type AdminPageParts = {
  document: ApiDocument
  /** Without a trailing slash. */
  baseUrl: string
  /** URLs of the page's own files, relative to the page. */
  assets: { style: string; script: string; icon: string }
}

export function renderAdminPage({ document, baseUrl, assets }: AdminPageParts): string {
  const { info, tags = [] } = document
  const endpoints = endpointsOf(document)
  const chapters = tags.map((tag) => ({ ...tag, endpoints: endpoints.filter((one) => one.tags.includes(tag.name)) }))
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
        <a class="skip" href="#authentication">Skip to content</a>
        <nav aria-label="Contents">
          <p class="name"><a href="#top">${info.title}</a> <span>${info.version}</span></p>
          <ul>
            <li><a href="#authentication">Authentication</a></li>
            ${chapters.map(({ name }) => html`<li><a href="#${name}">${name}</a></li>`)}
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
              <dd>
                <code>/admin/v1/openapi.json</code>, OpenAPI 3.1.0, version ${info.version}; it requires the admin token, and this page is
                generated from it
              </dd>
            </dl>
          </header>
          ${renderAuthentication(baseUrl)}
          ${chapters.map(
            (chapter) =>
              html`<section id="${chapter.name}" aria-labelledby="${chapter.name}-title">
                <h2 id="${chapter.name}-title"><a href="#${chapter.name}">${chapter.name}</a></h2>
                <p>${renderInline(chapter.description ?? '')}</p>
                ${chapter.endpoints.map((one) => renderOperation(baseUrl, one))}
              </section> `,
          )}
        </main>
      </body>
    </html> `.markup
}

const renderAuthentication = (baseUrl: string): Html =>
  html`<section id="authentication" aria-labelledby="authentication-title">
    <h2 id="authentication-title"><a href="#authentication">Authentication</a></h2>
    <p>
      Every request has the admin token: the value of <code>TURNKEEP_ADMIN_TOKEN</code>, or the content of <code>admin.token</code> in the
      data folder.
    </p>
    ${renderCode('sh', `curl ${baseUrl}/admin/v1/owners \\\n  -H "Authorization: Bearer $ADMIN_TOKEN"`, 'needs a server')}
  </section>`

function renderOperation(baseUrl: string, endpoint: Endpoint): Html {
  const { method, path, summary, description, operationId, requestBody } = endpoint
  const bodies = Object.entries(requestBody?.content ?? {})
  return html`<h3 id="${operationId}"><a href="#${operationId}">${summary}</a></h3>
    <p class="address"><b class="${method.toLowerCase()}">${method}</b> <code>${path}</code></p>
    <div class="pair">
      <div class="prose">
        ${description === undefined ? nothing : html`<p>${renderInline(description)}</p>`}
        ${
          (endpoint.parameters ?? []).length > 0
            ? html`<h4>Parameters</h4>
                ${renderFields(parametersOf(endpoint))}`
            : nothing
        }
        ${bodies.map(
          ([type, { schema }]) =>
            html`<h4>Body, <code>${type}</code></h4>
              ${renderFields(fieldsOf(schema))}`,
        )}
        ${renderAnswers(endpoint)}
        <h4>Errors</h4>
        <p class="codes">${codesOf(endpoint).map((name) => html`<code>${name}</code> `)}</p>
      </div>
      <div class="side">
        ${renderCode('sh', curlOf(baseUrl, endpoint), 'needs a server')}
        ${successesOf(endpoint).map(([, type, example]) => renderCode('json', JSON.stringify(example, null, 2), type))}
      </div>
    </div>`
}

/** The successful responses with a JSON body: status, media type and example. */
const successesOf = ({ responses }: Endpoint): [status: string, type: string, example: unknown][] =>
  Object.entries(responses)
    .filter(([status]) => status.startsWith('2'))
    .flatMap(([status, { content = {} }]) =>
      Object.entries(content)
        .filter(([type, { example }]) => type === 'application/json' && example !== undefined)
        .map(([type, { example }]): [string, string, unknown] => [status, type, example]),
    )

function renderAnswers({ responses }: Endpoint): Html[] {
  return Object.entries(responses)
    .filter(([status]) => status.startsWith('2'))
    .flatMap(([status, { description, content = {} }]) => {
      const types = Object.entries(content)
      if (types.length === 0)
        return [
          html`<h4>Response: ${status}</h4>
            <p>${renderInline(description)}</p>`,
        ]
      return types.map(
        ([type, { schema }]) =>
          html`<h4>Response: ${status}, <code>${type}</code></h4>
            ${schema.contentSchema ? renderEvents(schema.contentSchema) : renderFields(fieldsOf(schema))}`,
      )
    })
}

/** A request as a person would send it. `$NAME` stands for an ID. */
function curlOf(baseUrl: string, { method, path, requestBody, parameters = [] }: Endpoint): string {
  const inPath = path.replace(/\{(\w+)\}/g, (_, name: string) => `$${name.toUpperCase()}`)
  const body = requestBody?.content['application/json']
  const isForm = requestBody?.content['multipart/form-data'] !== undefined
  const example = body && (body.schema.examples?.[0] ?? exampleOf(body.schema))
  const needsKey = parameters.some(({ in: place, name, required }) => place === 'header' && name === 'Idempotency-Key' && required)
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}"${baseUrl}${inPath}"`,
    `-H "Authorization: Bearer $ADMIN_TOKEN"`,
    ...(needsKey ? ['-H "Idempotency-Key: $KEY"'] : []),
    ...(isForm ? ['-F "file=@handbook.pdf"'] : body ? ['-H "Content-Type: application/json"', `-d '${JSON.stringify(example)}'`] : []),
  ].join(' \\\n  ')
}
