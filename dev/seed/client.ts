/** The calls that fill.ts makes: the admin API as an operator, and the public API as a caller. */

export type Json = Record<string, unknown>

export type ChatOptions = { agentId: string; apiKey: string; idempotencyKey: string; isStream: boolean; user: string; message: string }

export type Client = {
  get(path: string): Promise<Json>
  post(path: string, body: Json, headers?: Record<string, string>): Promise<Json>
  patch(path: string, body: Json): Promise<Json>
  delete(path: string): Promise<void>
  /** Returns every item of a list, read page by page. */
  list(path: string): Promise<Json[]>
  upload(path: string, name: string, bytes: Uint8Array<ArrayBuffer>): Promise<Json>
  /** Reads the events to their end. */
  stream(path: string, body: Json): Promise<void>
  /** Sends a message. A turn that ends without a reply is an outcome and not an error. */
  chat(options: ChatOptions): Promise<{ isCompleted: boolean; text: string }>
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

  const send = async (method: string, path: string, body: Json, headers: Record<string, string> = {}): Promise<Json> =>
    JSON.parse(
      await call(method, path, { body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } }),
    ) as Json
  const get = async (path: string): Promise<Json> => JSON.parse(await call('GET', path)) as Json

  return {
    get,
    post: (path, body, headers) => send('POST', path, body, headers),
    patch: (path, body) => send('PATCH', path, body),
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
    async chat({ agentId, apiKey, idempotencyKey, isStream, user, message }) {
      const response = await fetch(`${url}/v1/agents/${agentId}/${isStream ? 'chat/stream' : 'chat'}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'idempotency-key': idempotencyKey, 'content-type': 'application/json' },
        body: JSON.stringify({ external_user_id: user, message }),
      })
      const text = await response.text()
      return { isCompleted: response.ok && (!isStream || text.includes('\nevent: response.completed\n')), text }
    },
  }
}
