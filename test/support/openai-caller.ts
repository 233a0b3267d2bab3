/** A caller of the OpenAI endpoints of a test app: plain requests, and the official client on a user of its own. */
import OpenAI from 'openai'
import type { ClientOptions } from 'openai'
import { read } from './test-app.ts'
import type { Answer, Json, TestClient } from './test-app.ts'

export type Sent = {
  method?: string
  path?: string
  body?: unknown
  headers?: Record<string, string>
  apiKey?: string
  signal?: AbortSignal
}

export function sendOpenAi(
  app: TestClient,
  { method = 'POST', path = '/v1/chat/completions', body, headers, apiKey, signal }: Sent,
): Promise<Response> {
  return fetch(`${app.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${apiKey ?? app.caller.apiKey}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
  })
}

export const askOpenAi = async (app: TestClient, sent: Sent): Promise<Answer> => read(await sendOpenAi(app, sent))

export const completionBody = (app: TestClient, message: string, more: Json = {}): Json => ({
  model: app.caller.agentId,
  user: 'user-1',
  messages: [{ role: 'user', content: message }],
  ...more,
})

export const responseBody = (app: TestClient, message: string, more: Json = {}): Json => ({
  model: app.caller.agentId,
  user: 'user-1',
  input: message,
  ...more,
})

/** The official client, unmodified. */
export const openAiClient = (app: TestClient, options: ClientOptions = {}): OpenAI =>
  new OpenAI({ apiKey: app.caller.apiKey, baseURL: `${app.url}/v1`, ...options })

/** The JSON of each event, and `[DONE]` as it is. */
export const dataOf = (text: string): Json[] =>
  [...text.matchAll(/^data: (.+)$/gm)].map(([, data]) => (data === '[DONE]' ? { done: true } : (JSON.parse(data!) as Json)))
