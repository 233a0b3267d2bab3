/** What was not read of a document, as the admin API reports it. */
import { isFields } from './client.ts'
import type { Fields } from './client.ts'

/** Returns a sentence for each warning. A server of an older version reports none. */
export function warningsOf({ warnings }: Fields): string[] {
  return Array.isArray(warnings) ? warnings.filter(isFields).map(({ message }) => String(message)) : []
}
