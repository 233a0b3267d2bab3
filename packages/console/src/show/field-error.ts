/** The field that a refusal is about: the server's message starts with the field's name in the API. */
import { ApiFailure } from '../api/client.ts'

/** The message if it belongs to this field, otherwise undefined. */
export function errorOfField(error: unknown, field: string): string | undefined {
  if (!(error instanceof ApiFailure) || error.code !== 'validation_error') return undefined
  return new RegExp(`^${field}\\b`).test(error.message) ? error.message : undefined
}
