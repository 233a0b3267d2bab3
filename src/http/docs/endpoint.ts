/** Renders one endpoint of the reference from the API description: parameters, response, errors and sample requests. */
import { codesOf, exampleOf, fieldsOf } from './api-document.ts'
import type { Endpoint, Field, Schema } from './api-document.ts'
import { code } from './code.ts'
import { html, nothing } from './html.ts'
import type { Html } from './html.ts'
import { renderInline } from './markdown.ts'
import { samplesOf } from './samples.ts'
import type { Language, Samples } from './samples.ts'

export function renderEndpoint(baseUrl: string, endpoint: Endpoint): Html {
  const { method, path, description, requestBody, responses, operationId } = endpoint
  const body = requestBody && fieldsOf(requestBody.content['application/json']!.schema)
  const [type, answer] = Object.entries(responses['200']!.content!)[0]!
  const event = answer.schema.contentSchema
  const others = Object.entries(responses).filter(([status]) => status.startsWith('2') && status !== '200')
  return html`<p class="address"><b class="${method.toLowerCase()}">${method}</b> <code>${path}</code></p>
    <div class="pair">
      <div class="prose">
        ${description === undefined ? nothing : html`<p>${renderInline(description)}</p>`}
        <h3>Parameters</h3>
        ${renderFields(parametersOf(endpoint))}
        ${
          body
            ? html`<h3>Body</h3>
                ${renderFields(body)}
                <p class="note">Unknown fields are rejected.</p>`
            : nothing
        }
        <h3>Response: 200, <code>${type}</code></h3>
        ${event ? renderEvents(event) : renderFields(fieldsOf(answer.schema))}
        <p class="note">
          Headers: ${Object.keys(responses['200']!.headers).map((name, at) => html`${at > 0 ? ', ' : ''}<code>${name}</code>`)}.
        </p>
        ${others.map(
          ([status, { description: when, content }]) =>
            html`<h3>Response: ${status}</h3>
              <p>${renderInline(when)}</p>
              ${content ? renderFields(fieldsOf(Object.values(content)[0]!.schema)) : nothing}`,
        )}
        <h3>Errors</h3>
        <p class="codes">${codesOf(endpoint).map((name) => html`<a href="#${name}"><code>${name}</code></a> `)}</p>
      </div>
      <div class="side">
        ${renderSamples(operationId, samplesOf(baseUrl, endpoint))}
        <h3 class="label">Response</h3>
        ${event ? renderCode('sse', eventLines(event)) : renderCode('json', JSON.stringify(exampleOf(answer.schema), null, 2))}
      </div>
    </div>`
}

const titles: Record<Language, string> = { sh: 'curl', typescript: 'TypeScript', python: 'Python' }

/** Radio buttons select the language, which works without JavaScript. The script of the page applies one choice to all samples. */
export function renderSamples(id: string, samples: Samples): Html {
  const languages = Object.keys(titles) as Language[]
  return html`<fieldset class="samples">
    <legend>Request</legend>
    ${languages.map((language, at) => html`<input type="radio" name="${id}-language" id="${id}-${language}" value="${language}" ${at === 0 ? html` checked` : nothing} /><label for="${id}-${language}">${titles[language]}</label>`)}
    ${languages.map((language) => html`<div class="panel ${language}">${renderCode(language, samples[language])}</div>`)}
  </fieldset>`
}

/** The documentation tests read `data-language` and `data-not-run`: how to run a block, or why it is not run. */
export const renderCode = (language: string, text: string, notRun = ''): Html =>
  html`<div class="code">
    <pre
      tabindex="0"
      data-language="${language}"
      ${notRun ? html` data-not-run="${notRun}"` : nothing}
    ><code>${code(language, text)}</code></pre>
  </div>`

export function renderFields(fields: Field[]): Html {
  return html`<dl class="fields">
    ${fields.map(
      ({ name, schema, required }) =>
        html`<div>
          <dt><code>${name}</code> <span>${typeOf(schema)}${required ? '' : ', optional'}</span></dt>
          <dd>${[schema.description === undefined ? nothing : renderInline(schema.description), renderInline(boundsOf(schema))]}</dd>
        </div>`,
    )}
  </dl>`
}

export const parametersOf = ({ parameters = [] }: Partial<Endpoint>): Field[] =>
  parameters.map(({ in: place, name, required, description, schema }) => ({
    name,
    required,
    schema: { ...schema, type: `${schema.type}, ${place}`, ...(description === undefined ? {} : { description }) },
  }))

function typeOf({ type, const: constant, enum: values, anyOf, items, format }: Schema): string {
  if (constant !== undefined) return `always ${constant}`
  if (values) return values.join(' or ')
  if (anyOf) return anyOf.map(typeOf).join(' or ')
  if (items) return 'list'
  return format === undefined ? (type ?? '') : format
}

/** Describes lengths and ranges in words. */
function boundsOf({ minLength, maxLength, minimum, maximum, default: initial }: Schema): string {
  const bounds = [
    minLength !== undefined && maxLength !== undefined ? `${minLength} to ${maxLength} characters.` : minLength ? 'Must not be empty.' : '',
    minimum !== undefined && maximum !== undefined ? `${minimum} to ${maximum}.` : '',
    initial === undefined ? '' : `Default: ${initial}.`,
  ]
  return bounds
    .filter((text) => text !== '')
    .map((text) => ` ${text}`)
    .join('')
}

/** Lists the events of a stream with their description and the fields of their data. */
export function renderEvents(schema: Schema): Html {
  const rows = eventsOf(schema).map(
    ({ name, when, data }) =>
      html`<div>
        <dt><code>${name}</code></dt>
        <dd>${when} Data: ${Object.keys(data.properties ?? {}).map((field, at) => html`${at > 0 ? ', ' : ''}<code>${field}</code>`)}.</dd>
      </div>`,
  )
  return html`<p>Each event has one line of JSON as its data:</p>
    <dl class="fields">${rows}</dl>`
}

const eventsOf = (schema: Schema): { name: string; when: string; data: Schema }[] =>
  (schema.anyOf ?? []).map((event) => ({
    name: event.properties!['event']!.const!,
    when: event.description ?? '',
    data: event.properties!['data']!,
  }))

/** Returns the raw text of a successful stream. */
function eventLines(schema: Schema): string {
  return eventsOf(schema)
    .filter(({ name }) => name !== 'error')
    .map(({ name, data }) => `event: ${name}\ndata: ${JSON.stringify(exampleOf(data))}`)
    .join('\n\n')
}
