/** The field of a tool that a failure of the server is about. */
import type { UseFormReturnType } from '@mantine/form'
import { ApiFailure } from '../../../api/client.ts'

// In this order, because a message about a header may mention the url, and one about the url a parameter. The messages are in
// src/agent/tools/check.ts.
const reported: [words: RegExp, field: string][] = [
  [/^The tool name|^Two tools/, 'name'],
  [/\b(the value of its|in its|the) header |is not a valid header name|more than \d+ headers/i, 'headers'],
  [/ in its url |its url must|a placeholder in the query of its url/, 'url'],
  [/\bsecrets?\b/i, 'secrets'],
  [/its parameters/, 'parameters'],
  [/its description/, 'description'],
  [/its timeout/, 'timeout_seconds'],
  [/price_usd/, 'price_usd'],
  [/^The MCP server|address|host|URL/, 'url'],
]

/** `among`: the existing fields. Undefined if the failure is about none of them and is shown separately. */
export function toolFailure(error: unknown, among: readonly string[]): { field: string; message: string } | undefined {
  if (!(error instanceof ApiFailure) || error.code !== 'validation_error') return undefined
  const { message } = error
  const [, named] = /^tools\.\d+\.([a-z_]+)/.exec(message) ?? []
  const field = named ?? reported.find(([words]) => words.test(message))?.[1]
  return field !== undefined && among.includes(field) ? { field, message: message.replace(/^tools\.\d+\./, '') } : undefined
}

/** Shows the failure next to its field and scrolls there. Does nothing if it is about none of the form's fields. */
export function showToolFailure<Values extends Record<string, unknown>>(form: UseFormReturnType<Values>, error: unknown): void {
  const named = toolFailure(error, Object.keys(form.values))
  if (!named) return
  form.setFieldError(named.field, named.message)
  form.getInputNode(named.field)?.focus()
}
