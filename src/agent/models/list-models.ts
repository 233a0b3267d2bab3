/**
 * Lists the models of a provider with `GET <base URL>/models`, which every provider supports, so that the operator can test a provider. It
 * does not retry and has no deadline of its own; the caller's signal sets one.
 */
import type { Dispatcher, Response } from 'undici'
import { kindOfStatus } from '../../cause-kinds.ts'
import type { CauseKind } from '../../cause-kinds.ts'
import { ModelError } from './model.ts'
import { CollectedBytes } from './transport/collected-bytes.ts'
import { isObject } from './transport/fields.ts'
import { operatorText } from './transport/operator-text.ts'

// Bytes. The longest known list, OpenRouter's, has half a megabyte.
const maxList = 4 * 1024 * 1024
// OpenRouter lists 400 models, whose names have up to 60 characters. An agent's model has at most 300.
const maxModels = 1000
const maxName = 300

export type ListOptions = {
  dispatcher: Dispatcher
  api: 'openai' | 'anthropic' | 'google'
  baseUrl: string
  apiKey: string
  signal: AbortSignal
}

/**
 * Returns the first 1,000 model names in the server's order. Throws ModelError with the provider's message, redacted for the operator, or
 * `signal.reason`.
 */
export async function listModels({ dispatcher, api, baseUrl, apiKey, signal }: ListOptions): Promise<string[]> {
  const url = new URL(baseUrl)
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/models`
  const headers = { accept: 'application/json', 'user-agent': 'turnkeep', ...(apiKey === '' ? {} : keyHeaders[api](apiKey)) }
  const { fetch } = await import('undici')
  try {
    const response = await fetch(url, { dispatcher, headers, redirect: 'manual', signal })
    const body = await readText(response)
    if (response.status !== 200) throw failed(`answered ${response.status}: ${operatorText(body, apiKey)}`, kindOfStatus(response.status))
    return namesIn(body)
  } catch (error) {
    if (error instanceof ModelError || signal.aborted) throw error
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error)
    throw failed(`cannot be asked: ${operatorText(cause, apiKey)}`, 'provider_unreachable')
  }
}

const keyHeaders: Record<ListOptions['api'], (apiKey: string) => Record<string, string>> = {
  openai: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
  anthropic: (apiKey) => ({ 'x-api-key': apiKey, 'anthropic-version': '2023-06-01' }),
  google: (apiKey) => ({ 'x-goog-api-key': apiKey }),
}

async function readText(response: Response): Promise<string> {
  const body = new CollectedBytes()
  for await (const piece of response.body ?? []) {
    if (body.length + piece.length > maxList) throw failed('is too long')
    body.push(piece)
  }
  return body.text()
}

function namesIn(body: string): string[] {
  let list: unknown
  try {
    list = JSON.parse(body)
  } catch {
    throw failed('is not JSON')
  }
  if (!isObject(list)) throw failed('is not understood')
  // Google: `models`, each with a `name` such as `models/gemini-…`. Others: `data`, each with an `id`.
  const models = list.data ?? list.models
  if (!Array.isArray(models)) throw failed('is not understood')
  return models
    .slice(0, maxModels)
    .map((model: unknown) => (isObject(model) ? textOf(model.id ?? model.name).replace(/^models\//, '') : ''))
    .filter((name) => name !== '' && name.length <= maxName)
}

const textOf = (name: unknown): string => (typeof name === 'string' ? name : '')
const failed = (what: string, causeKind: CauseKind = 'invalid_answer'): ModelError =>
  new ModelError('unavailable', causeKind, `the provider's list of models ${what}`)
