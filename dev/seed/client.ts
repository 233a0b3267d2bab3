/** The calls that fill.ts makes: the admin API as an operator, and the public API as a caller. */

import { EventReader } from '../../packages/client/src/event-reader.ts'

export type Json = Record<string, unknown>

export type Caller = { agentId: string; apiKey: string }

export type ChatOptions = Caller & {
  idempotencyKey: string
  isStream: boolean
  user: string
  message: string
  /** Cancels the turn as soon as its stream has this text, which may be empty. */
  cancelAfter?: string
}

export type Client = {
  get(path: string): Promise<Json>
  post(path: string, body: Json, headers?: Record<string, string>): Promise<Json>
  patch(path: string, body: Json): Promise<Json>
  put(path: string, body: Json): Promise<Json>
  delete(path: string): Promise<void>
  /** Returns every item of a list, read page by page. */
  list(path: string): Promise<Json[]>
  upload(path: string, name: string, bytes: Uint8Array<ArrayBuffer>): Promise<Json>
  /** Reads the events to their end. */
  stream(path: string, body: Json): Promise<void>
  /** Sends a message. A turn that ends without a reply is an outcome and not an error. */
  chat(options: ChatOptions): Promise<{ outcome: 'completed' | 'incomplete' | 'cancelled' | 'none'; requestId: string; text: string }>
  giveFeedback(caller: Caller, requestId: string, feedback: Json): Promise<void>
}

/** Every method of the admin API rejects with an Error that names the call and the answer where the status is not 2xx. */
export function createClient({ url, adminUrl, adminToken }: { url: string; adminUrl: string; adminToken: string }): Client {
  const authorization = `Bearer ${adminToken}`

  async function call(method: string, path: string, init: RequestInit = {}): Promise<string> {
    const headers = { authorization, ...(init.headers as Record<string, string> | undefined) }
    const response = await fetch(`${adminUrl}/admin/v1${path}`, { ...init, method, headers })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path} failed: ${response.status} ${text}`)
    return text
  }

  const post = (path: string, apiKey: string, body?: Json, idempotencyKey?: string): Promise<Response> =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })

  const send = async (method: string, path: string, body: Json, headers: Record<string, string> = {}): Promise<Json> =>
    JSON.parse(
      await call(method, path, { body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } }),
    ) as Json
  const get = async (path: string): Promise<Json> => JSON.parse(await call('GET', path)) as Json

  return {
    get,
    post: (path, body, headers) => send('POST', path, body, headers),
    patch: (path, body) => send('PATCH', path, body),
    put: (path, body) => send('PUT', path, body),
    async delete(path) {
      await call('DELETE', path)
    },
    async list(path) {
      const items: Json[] = []
      for (let cursor = ''; ;) {
        const page = await get(`${path}${path.includes('?') ? '&' : '?'}limit=100${cursor}`)
        items.push(...(page['data'] as Json[]))
        if (typeof page['next_cursor'] !== 'string') return items
        cursor = `&cursor=${encodeURIComponent(page['next_cursor'])}`
      }
    },
    async upload(path, name, bytes) {
      const form = new FormData()
      form.append('file', new Blob([bytes]), name)
      return JSON.parse(await call('POST', path, { body: form })) as Json
    },
    async stream(path, body) {
      await call('POST', path, { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } })
    },
    async chat({ agentId, apiKey, idempotencyKey, isStream, user, message, cancelAfter }) {
      const path = `/v1/agents/${agentId}`
      const response = await post(
        `${path}/${isStream ? 'chat/stream' : 'chat'}`,
        apiKey,
        { external_user_id: user, message },
        idempotencyKey,
      )
      const cancel = (requestId: string): Promise<void> => accepted(post(`${path}/turns/${requestId}/cancel`, apiKey))
      const text = await (cancelAfter === undefined ? response.text() : readAndCancel(response, cancelAfter, cancel))
      const isCompleted = response.ok && (!isStream || text.includes('\nevent: response.completed\n'))
      const ended = text.includes('"incomplete":true') ? 'incomplete' : 'completed'
      const outcome = isCompleted ? ended : text.includes('"turn_cancelled"') ? 'cancelled' : 'none'
      return { outcome, requestId: requestIdOf(text) ?? '', text }
    },
    giveFeedback: ({ agentId, apiKey }, requestId, feedback) =>
      accepted(post(`/v1/agents/${agentId}/turns/${requestId}/feedback`, apiKey, feedback)),
  }
}

async function accepted(request: Promise<Response>): Promise<void> {
  const response = await request
  const text = await response.text()
  if (!response.ok) throw new Error(`POST ${new URL(response.url).pathname} failed: ${response.status} ${text}`)
}

const requestIdOf = (text: string): string | undefined => /"request_id":"([^"]+)"/.exec(text)?.[1]

/** Returns the stream as text, at its end. */
async function readAndCancel(response: Response, after: string, cancel: (requestId: string) => Promise<void>): Promise<string> {
  const events = new EventReader()
  let [all, reply, isCancelled] = ['', '', false]
  for await (const bytes of response.body ?? []) {
    all += Buffer.from(bytes).toString('latin1')
    for (const { name, data } of events.push(bytes))
      if (name === 'response.output_text.delta') reply += (JSON.parse(data) as { delta: string }).delta
    const requestId = requestIdOf(all)
    if (isCancelled || requestId === undefined || !reply.startsWith(after)) continue
    isCancelled = true
    await cancel(requestId)
  }
  return all
}
