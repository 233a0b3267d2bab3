/** The list of models a provider serves, `GET <base URL>/models` in the OpenAI dialect; for the operator's test alone. Never retries. */
import { ModelError } from '../agent/model.ts'
import { openaiBaseUrl } from '../agent/models.ts'
import { operatorText } from '../agent/models/operator-text.ts'

// OpenRouter's list, the longest known, is half a megabyte.
const longestList = 4 * 1024 * 1024

/** Their names in the server's order. Throws ModelError with the provider's own words, shortened and without the key; or `signal.reason`. */
export async function listModels(provider: { baseUrl: string | null; apiKey: string }, signal: AbortSignal): Promise<string[]> {
  const { baseUrl, apiKey } = provider
  const url = new URL(baseUrl ?? openaiBaseUrl)
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/models`
  try {
    const response = await fetch(url, {
      headers: { authorization: `Bearer ${apiKey}`, accept: 'application/json' },
      redirect: 'manual',
      signal,
    })
    const body = await readText(response)
    if (response.status !== 200) throw failed(`answered ${response.status}: ${operatorText(body, apiKey)}`)
    return namesIn(body)
  } catch (error) {
    if (error instanceof ModelError || signal.aborted) throw error
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error)
    throw failed(`cannot be asked: ${operatorText(cause, apiKey)}`)
  }
}

async function readText(response: Response): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of response.body ?? []) {
    bytes += piece.length
    if (bytes > longestList) throw failed('is too long')
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}

function namesIn(body: string): string[] {
  let list: unknown
  try {
    list = JSON.parse(body)
  } catch {
    throw failed('is not JSON')
  }
  if (typeof list !== 'object' || list === null || !('data' in list) || !Array.isArray(list.data)) throw failed('is not understood')
  return list.data
    .map((model: unknown) => (typeof model === 'object' && model !== null && 'id' in model ? String(model.id) : ''))
    .filter(Boolean)
}

const failed = (what: string): ModelError => new ModelError('unavailable', `the provider's list of models ${what}`)
