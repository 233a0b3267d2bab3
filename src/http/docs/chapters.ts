/** The chapters of the reference that belong to no single endpoint. Figures come from the description and the door, tables from docs/errors. */
import { exampleOf, fieldsOf } from './api-document.ts'
import type { ApiDocument, Endpoint } from './api-document.ts'
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

export function renderFirstMinute(document: ApiDocument, baseUrl: string, chat: Endpoint): Html {
  const prose = text(
    'Whoever runs this service gives you two things: the id of an **agent** and an **API key** that is bound to it. Put them into two variables of your shell; this page never asks for them.',
    "Then send a message of one of your users. The answer is the reply of the agent, stored in the conversation of this `external_user_id` and charged to the balance of the agent's owner.",
    'Send exactly the same once more. The same bytes come back: no model was called and nothing was charged, since the `Idempotency-Key` is the same. A new message needs a new key.',
  )
  const variables = 'export AGENT_ID=agt_…\nexport API_KEY=svc_live_…'
  const { sh } = samplesOf(document, baseUrl, chat)
  return pair(
    prose,
    html`<h3 class="label">Once</h3>
      ${renderCode('sh', variables, 'the reader puts in an agent and a key')}
      <h3 class="label">Twice</h3>
      ${renderCode('sh', sh)}
      <h3 class="label">Both times</h3>
      ${renderCode('json', JSON.stringify(exampleOf(document, chat.responses['200']!.content['application/json']!.schema), null, 2))}`,
  )
}

/** After the first minute: what the samples do by hand, done. */
export const renderClients = (baseUrl: string): Html =>
  pair(
    html`${text(
      'The samples of this page are plain `fetch` and `urllib`, so that you see what goes over the wire. A program takes a **client**: `@turnkeep/client` for TypeScript and JavaScript, `turnkeep.py` for Python. Neither has dependencies.',
      'A client makes the `Idempotency-Key`, keeps it over all tries, obeys `Retry-After`, waits for a turn that runs, and finishes a stream that broke with what is stored, without a piece of text twice. What it throws has the code, the status, the `request_id` and the key of the message, with which the same message can be sent again later.',
      'Whoever runs this service has both: they are in the folders `packages/client` and `clients/python` of its repository. The TypeScript one refuses to run in a browser, where the key must not be.',
    )}`,
    renderSamples('clients', clientSamples(baseUrl)),
  )

export const renderAuthentication = (): Html =>
  pair(
    html`${text(
        'Every request carries an API key: `Authorization: Bearer svc_live_<key_id>.<secret>`. A key is bound to one agent; with another agent in the path the answer is `403 agent_mismatch`. Its permission is `full`, which sends messages and lists, or `read-only`, which lists.',
        'A conversation is the pair of API key and `external_user_id`. No other key sees it, not even one of the same agent. When the secret of a key is rotated, its conversations stay.',
        'Every key that is not valid gets one same `401 invalid_api_key`, and spends nothing of the rate window.',
      )}
      <p class="warn">
        <strong>A key belongs on a server.</strong> It must never reach a browser: there are no CORS headers, and
        <code>EventSource</code> can neither send a body nor headers. Read the stream on your server and pass the text on.
      </p>`,
    html`<h3 class="label">Header</h3>
      ${renderCode('http', 'Authorization: Bearer svc_live_k3m9x2p7q1w8z5t4.<secret>')}`,
  )

export function renderRetries(document: ApiDocument, baseUrl: string, chat: Endpoint, pages: ErrorPage[]): Html {
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
        'One `Idempotency-Key` for each message: make it before the first try, keep it over all of them. Then whatever happens to connections and servers in between, the message is answered once, stored once and charged once.',
      )}${renderMarkdown(
        [
          '- The same key with the same `external_user_id` and `message` brings the stored result: the original `request_id`, message and usage, byte for byte.',
          '- `/chat` and `/chat/stream` share their keys: a broken stream can be finished on `/chat`. On the stream a replay is `response.created`, then `response.completed`.',
          '- The same key with another body is `409 idempotency_conflict`.',
          '- While the first request runs, whether or not anyone is connected, a retry is `409 idempotency_in_progress`.',
          '- Keys belong to the API key and live for 24 hours from the end of their turn.',
        ].join('\n'),
        3,
      )}${text(
        '**The rule for a program:** after a broken connection, and wherever the answer has a `Retry-After`, wait and send the same again with the same key. Everything else is final until somebody changes something.',
      )}`,
      html`${renderSamples('retry', retrySamples(document, baseUrl, chat))}
        <p class="note">curl honours <code>Retry-After</code>; it also repeats what is final, eight times at most.</p>`,
    )}
    <h3>Which error, which key</h3>
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
      message: 'The previous message from this external user is still being processed.',
      request_id: '01a1fe2d-9cce-7609-9b25-1b5e85b01572',
    },
  }
  return html`${pair(
      text(
        'Every failure is this envelope. The `code` is stable and for programs; the `message` is for people and may change. `request_id` is the same as in `X-Request-ID`, which is on every response: tell it to the operator, whose log has the cause under it.',
        'On a stream that has begun the status is 200 already; the same codes come as its `error` event, which is the last one.',
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
      <p class="note">The clients: ${renderInline(clients)}.</p>
      ${renderMarkdown(page, 3)}
    </div>
  </details>`

export function renderLimits(document: ApiDocument, chat: Endpoint, bodyLimitBytes: number): Html {
  const fields = fieldsOf(document, chat.requestBody!.content['application/json']!.schema)
  const user = fields.find(({ name }) => name === 'external_user_id')!.schema
  const key = chat.parameters.find(({ name }) => name === 'Idempotency-Key')!.schema
  const rows = [
    ['`external_user_id`', `${user.minLength} to ${user.maxLength} characters`],
    ['`Idempotency-Key`', `${key.minLength} to ${key.maxLength} characters, no control characters`],
    ['`message`', 'at least 1 character; at most 32,000, unless the agent is set otherwise'],
    ['body', `${bodyLimitBytes / 2 ** 20} MiB of JSON in UTF-8`],
    ['rate window', '120 requests in 60 seconds for each key, unless the key is set otherwise'],
    ['idempotency record', '24 hours from the end of its turn'],
    ['a whole turn', '110 seconds; callers should allow 120'],
  ]
  return html`${renderMarkdown(['| | |', '|---|---|', ...rows.map((row) => `| ${row.join(' | ')} |`)].join('\n'), 3)}
  ${text(
    'Characters are Unicode code points. The rate window is a ceiling against abuse and no quota: usage is metered by the balance. It opens with the first request of a key and ends all at once. Replays, `409`, `422` and listings spend one unit too; `401`, `403` and `429` spend none, but for `agent_disabled`.',
    '`X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset` (Unix time in seconds) stand on every `200` of JSON and on `429`, and nowhere else. A missing header means unknown, not zero.',
  )}`
}
