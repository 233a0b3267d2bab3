/** The field of the editor that a failure of the server is about, so that it is shown there. Pure. */
import { ApiFailure } from '../../../api/client.ts'

// Messages that do not start with a field name, by their content.
const reported: [words: string, field: string][] = [
  ['There is no owner', 'owner_id'],
  ['There is no provider for the embedding model', 'knowledge.embedding_model'],
  ['makes no embeddings', 'knowledge.embedding_model'],
  ['There is no provider for the model', 'model.provider'],
]
const shownAt: Record<string, string> = { price: 'price.prompt_usd_per_million', model: 'model.id', history: 'history.max_tokens' }
const fields = new Set([
  'owner_id',
  'name',
  'system_prompt',
  'model.id',
  'price.prompt_usd_per_million',
  'price.completion_usd_per_million',
  'price.cached_prompt_usd_per_million',
  'price.cache_write_usd_per_million',
  'max_output_tokens',
  'temperature',
  'max_steps',
  'max_tool_calls',
  'max_message_length',
  'history.max_tokens',
  'knowledge.max_tokens',
  'knowledge.top_k',
  'knowledge.embedding_model',
  'knowledge.language',
])

/** Returns undefined if the failure is about no field and is shown separately. */
export function fieldFailure(error: unknown): { field: string; message: string } | undefined {
  if (!(error instanceof ApiFailure) || error.code !== 'validation_error') return undefined
  const { message } = error
  const field = reported.find(([words]) => message.includes(words))?.[1]
  if (field !== undefined) return { field, message }
  // The message starts with the name of the field in the API.
  const [name = ''] = /^[a-z_]+(\.[a-z_]+)?/.exec(message) ?? []
  const path = shownAt[name] ?? name
  return fields.has(path) ? { field: path, message } : undefined
}
