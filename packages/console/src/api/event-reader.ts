/**
 * Parses server-sent events from bytes in any chunking, with CR, LF or CRLF, multi-line data and comments. Follows the HTML standard,
 * "Interpreting an event stream"; `id` and `retry` are ignored. An incomplete event at the end is dropped.
 */
export type ServerSentEvent = { name: string; data: string }

export async function* readEvents(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  let name = ''
  let data: string[] = []
  for await (const line of readLines(bytes)) {
    if (line === '') {
      if (data.length > 0) yield { name: name || 'message', data: data.join('\n') }
      name = ''
      data = []
      continue
    }
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'event') name = value
    if (field === 'data') data.push(value)
  }
}

/** Complete lines without their ends. */
async function* readLines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  // Keeps the first bytes of a character whose last ones have not arrived.
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of bytes) {
    rest += decoder.decode(chunk, { stream: true })
    // A CR at the end may be the first half of a CRLF, so it waits for what follows.
    const lines = rest.split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    yield* lines
  }
  // At the end of the stream no LF can follow.
  if (rest.endsWith('\r')) yield rest.slice(0, -1)
}
