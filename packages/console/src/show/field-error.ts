/** Which field a refusal is about: the server's message begins with the field's wire name. */
import { ApiFailure } from '../api/client.ts'

/** The message where it belongs beside this field, else undefined. */
export function errorOfField(error: unknown, field: string): string | undefined {
  if (!(error instanceof ApiFailure) || error.code !== 'validation_error') return undefined
  return new RegExp(`^${field}\\b`).test(error.message) ? error.message : undefined
}
