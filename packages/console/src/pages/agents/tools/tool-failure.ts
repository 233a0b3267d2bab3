/** Which field of a tool a failure of the server speaks of. */
import type { UseFormReturnType } from '@mantine/form'
import { ApiFailure } from '../../../api/client.ts'

// In this order: a sentence on a header may name the url, one on the url a parameter. The server's words stand in src/agent/tools/check.ts.
const reported: [words: RegExp, field: string][] = [
  [/^The tool name|^Two tools/, 'name'],
  [/\b(the value of its|in its|the) header |is not a valid header name|more than \d+ headers/i, 'headers'],
  [/ in its url |its url must|a placeholder in the query of its url/, 'url'],
  [/\bsecrets?\b/i, 'secrets'],
  [/its parameters/, 'parameters'],
  [/its description/, 'description'],
  [/its timeout/, 'timeout_seconds'],
  [/^The MCP server|address|host|URL/, 'url'],
]

/** `among`: the fields there are. Undefined where the failure is of none of them, and stands by itself. */
export function toolFailure(error: unknown, among: readonly string[]): { field: string; message: string } | undefined {
  if (!(error instanceof ApiFailure) || error.code !== 'validation_error') return undefined
  const { message } = error
  const [, named] = /^tools\.\d+\.([a-z_]+)/.exec(message) ?? []
  const field = named ?? reported.find(([words]) => words.test(message))?.[1]
  return field !== undefined && among.includes(field) ? { field, message: message.replace(/^tools\.\d+\./, '') } : undefined
}

/** Says it beside its field, and leads there; nothing where it is of none of the form's. */
export function showToolFailure<Values extends Record<string, unknown>>(form: UseFormReturnType<Values>, error: unknown): void {
  const named = toolFailure(error, Object.keys(form.values))
  if (!named) return
  form.setFieldError(named.field, named.message)
  form.getInputNode(named.field)?.focus()
}
