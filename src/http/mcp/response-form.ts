/** Which forms of a response a client of /mcp can read. The SDK rejects an Accept header that does not name both (`mcp.tool`). */

/** The forms of a response that a client can read. `any`: both, so a call can report its progress. */
export type ResponseForm = 'json' | 'events' | 'any'

/**
 * Returns what the Accept header allows. A client gets events only if it names them. One that names neither form gets JSON: it may have a
 * default that its author never thought about.
 */
export function responseForm(accept: string | undefined): ResponseForm {
  const ranges = (accept ?? '').toLowerCase().split(',').map(readRange)
  const accepts = (range: string): boolean => ranges.some(({ name, refused }) => name === range && !refused)
  if (!accepts('text/event-stream')) return 'json'
  return accepts('application/json') || accepts('*/*') || accepts('application/*') ? 'any' : 'events'
}

function readRange(text: string): { name: string; refused: boolean } {
  const [name = '', ...parameters] = text.split(';').map((part) => part.trim())
  return { name, refused: parameters.some((parameter) => /^q\s*=\s*0(\.0*)?$/.test(parameter)) }
}
