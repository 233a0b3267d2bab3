/** The sections of the reference page that do not describe an endpoint. Limits come from the API description and the code, errors from docs/errors. */
import { exampleOf, fieldsOf } from './api-document.ts'
import type { Endpoint } from './api-document.ts'
import { renderCode, renderSamples } from './endpoint.ts'
import type { ErrorPage } from './error-pages.ts'
import { html } from './html.ts'
import type { Html } from './html.ts'
import { renderInline, renderMarkdown } from './markdown.ts'
import { clientSamples, retrySamples, samplesOf } from './samples.ts'

const pair = (prose: Html, side: Html): Html =>
  html`<div class="pair">
    <div class="prose">${prose}</div>
    <div class="side">${side}</div>
  </div>`
const text = (...paragraphs: string[]): Html => html`${paragraphs.map((one) => html`<p>${renderInline(one)}</p>`)}`

export function renderFirstMinute(baseUrl: string, chat: Endpoint): Html {
  const prose = text(
    'The operator of this service gives you two things: the ID of an **agent** and an **API key** for it. Set them as two environment variables in your shell. This page never asks for them.',
    "Then send a message from one of your users. The response is the agent's reply. It is stored in the conversation of this `external_user_id` and charged to the balance of the agent's owner.",
    'Send the same request again. You get exactly the same response. Because the `Idempotency-Key` is the same, no model is called and nothing is charged. Use a new key for each new message.',
  )
  const variables = 'export AGENT_ID=agt_…\nexport API_KEY=svc_live_…'
  const { sh } = samplesOf(baseUrl, chat)
  return pair(
    prose,
    html`<h3 class="label">Set up once</h3>
      ${renderCode('sh', variables, 'placeholders: the reader fills in the agent id and the key')}
      <h3 class="label">Send twice</h3>
      ${renderCode('sh', sh)}
      <h3 class="label">Both responses</h3>
      ${renderCode('json', JSON.stringify(exampleOf(chat.responses['200']!.content!['application/json']!.schema), null, 2))}`,
  )
}

/** The client libraries, which handle keys and retries. */
export const renderClients = (baseUrl: string): Html =>
  pair(
    html`${text(
      'The samples on this page use plain `fetch` and `urllib` to show what is sent. In an application, use a **client library**: `@turnkeep/client` for TypeScript and JavaScript, `turnkeep.py` for Python. Neither has dependencies.',
      'A client generates the `Idempotency-Key`, reuses it for every attempt, honors `Retry-After`, waits for a running turn, and completes a broken stream from the stored reply without repeating text. Its errors have the code, the status, the `request_id` and the key of the message, so that you can send the same message again later.',
      'Both clients are part of Turnkeep, in `packages/client` and `clients/python` of its source: ask the operator of this service for them. The TypeScript client refuses to run in a browser, because the key must not be there.',
    )}`,
    renderSamples('clients', clientSamples(baseUrl)),
  )

export const renderAuthentication = (): Html =>
  pair(
    html`${text(
        'Every request needs an API key: `Authorization: Bearer svc_live_<key_id>.<secret>`. A key is bound to one agent; a request for a different agent gets `403 agent_mismatch`. A key with the permission `full` can send messages and list conversations; a `read-only` key can only list.',
        'A conversation is identified by the API key and the `external_user_id`. No other key can see it, not even another key of the same agent. Rotating the secret of a key keeps its conversations.',
        'Every invalid key gets the same `401 invalid_api_key`, which does not count against the rate limit.',
      )}
      <p class="warn">
        <strong>Keep the key on your server.</strong> It must never reach a browser. The API sends no CORS headers, and
        <code>EventSource</code> can send neither a body nor headers. Read the stream on your server and forward the text.
      </p>`,
    html`<h3 class="label">Header</h3>
      ${renderCode('http', 'Authorization: Bearer svc_live_k3m9x2p7q1w8z5t4.<secret>')}`,
  )

export function renderRetries(baseUrl: string, chat: Endpoint, pages: ErrorPage[]): Html {
  const rows = pages.map(
    ({ code, status, retryAfter, retryWith, charged }) =>
      html`<tr>
        <td>
          <a href="#${code}"><code>${code}</code></a>
        </td>
        <td data-title="status">${status}</td>
        <td data-title="Retry-After">${retryAfter === 'none' ? '' : retryAfter}</td>
        <td data-title="retry with">${renderInline(retryWith)}</td>
        <td data-title="charged">${renderInline(charged)}</td>
      </tr>`,
  )
  return html`${pair(
      html`${text(
        'Use one `Idempotency-Key` per message. Generate it before the first attempt and reuse it for every retry. Then the message is answered once, stored once and charged once, even if connections break or servers restart.',
      )}${renderMarkdown(
        [
          '- The same key with the same `external_user_id` and `message` returns the stored result: the original `request_id`, message and usage, byte for byte.',
          '- `/chat` and `/chat/stream` share their keys, so you can complete a broken stream on `/chat`. On the stream, a replay is `response.created` followed by `response.completed`.',
          '- The same key with a different body gets `409 idempotency_conflict`.',
          '- While the first request is running, a retry gets `409 idempotency_in_progress`, even if the first caller has disconnected.',
          '- Keys are scoped to the API key and expire 24 hours after their turn ends.',
        ].join('\n'),
        3,
      )}${text(
        '**When to retry:** after a broken connection, and whenever the response has a `Retry-After` header, wait and send the same request with the same key. The wait of `spend_limit_exceeded` can be hours, so pass it on to your user instead. All other errors are final until you or the operator fix the cause.',
      )}`,
      html`${renderSamples('retry', retrySamples(baseUrl, chat))}
        <p class="note">curl honors <code>Retry-After</code>. It also retries errors that are final, at most eight times.</p>`,
    )}
    <h3>Retrying each error</h3>
    <div class="table">
      <table class="stack">
        <thead>
          <tr>
            <th>code</th>
            <th>status</th>
            <th><code>Retry-After</code></th>
            <th>retry with</th>
            <th>charged</th>
          </tr>
        </thead>
        <tbody>
          ${rows}
        </tbody>
      </table>
    </div>`
}

export function renderErrors(pages: ErrorPage[]): Html {
  const envelope = {
    error: {
      code: 'conversation_busy',
      message: 'The previous message from this end user is still being processed.',
      request_id: '01a1fe2d-9cce-7609-9b25-1b5e85b01572',
    },
  }
  return html`${pair(
      text(
        'Every error has this JSON envelope. The `code` is stable and machine-readable; the `message` is for humans and may change. `request_id` has the same value as the `X-Request-ID` header of every response. Give it to the operator, who can find the cause in the log.',
        'After a stream has started, its status is already 200. The same codes are then sent in an `error` event, which is the last event.',
      ),
      html`<h3 class="label">Envelope</h3>
        ${renderCode('json', JSON.stringify(envelope, null, 2))}`,
    )}
    <div class="errors">${pages.map(renderError)}</div>`
}

const renderError = ({ code, status, retryWith, clients, text: page }: ErrorPage): Html =>
  html`<details id="${code}">
    <summary>
      <code>${code}</code> <span class="status">${status}</span>
      <span class="hint">${retryWith === 'none' ? 'no retry' : renderInline(`retry with ${retryWith}`)}</span>
    </summary>
    <div class="prose">
      <p class="note">Clients: ${renderInline(clients)}.</p>
      ${renderMarkdown(page, 3)}
    </div>
  </details>`

export function renderLimits(chat: Endpoint, bodyLimitBytes: number): Html {
  const fields = fieldsOf(chat.requestBody!.content['application/json']!.schema)
  const user = fields.find(({ name }) => name === 'external_user_id')!.schema
  const key = chat.parameters.find(({ name }) => name === 'Idempotency-Key')!.schema
  const rows = [
    ['`external_user_id`', `${user.minLength} to ${user.maxLength} characters`],
    ['`Idempotency-Key`', `${key.minLength} to ${key.maxLength} characters, no control characters`],
    ['`message`', '1 to 32,000 characters, unless the agent has a different limit'],
    ['request body', `${bodyLimitBytes / 2 ** 20} MiB of JSON in UTF-8`],
    ['rate limit window', '120 requests in 60 seconds per key, unless the key has a different limit'],
    ['idempotency record', '24 hours after the turn ends'],
    ['a whole turn', '110 seconds; use a timeout of 120 seconds'],
  ]
  return html`${renderMarkdown(['| | |', '|---|---|', ...rows.map((row) => `| ${row.join(' | ')} |`)].join('\n'), 3)}
  ${text(
    'Characters are Unicode code points. The rate limit protects against abuse and is not a quota: the balance limits usage. The window is fixed and starts with the first request of a key. Replays, `409`, `422` and listings also count as requests; `401`, `403` (except `agent_disabled`) and `429` do not.',
    '`X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset` (Unix time in seconds) are sent only with a JSON `200` and with `429`. A missing header means unknown, not zero.',
  )}`
}
