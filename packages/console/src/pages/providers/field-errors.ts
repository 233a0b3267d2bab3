/** The field of a provider that the server has refused: the message starts with the field or describes it. */
import { ApiFailure } from '../../api/client.ts'

type ProviderField = 'name' | 'base_url' | 'api_key' | 'kind'

const said: [RegExp, ProviderField][] = [
  [/^(base_url\b|The base URL\b)|needs a base URL/, 'base_url'],
  [/^api_key\b/, 'api_key'],
  [/^kind\b/, 'kind'],
  [/^(name\b|The name\b|There is a provider named\b)|its name cannot change/, 'name'],
]

/** Returns undefined if it is about none of them. */
export function refusedField(error: unknown): { field: ProviderField; message: string } | undefined {
  if (!(error instanceof ApiFailure) || !['validation_error', 'conflict'].includes(error.code)) return undefined
  const { message } = error
  const field = said.find(([words]) => words.test(message))?.[1]
  return field && { field, message }
}
