/** Parses the server-sent events of a Turnkeep server from a byte stream that can be split anywhere. */
import { isFields, parseFields } from '../admin-api/client.ts'
import type { Fields } from '../admin-api/client.ts'

export type ServerEvent = { event: string; data: Fields }

/** Yields events until the body ends. Skips comments and an incomplete last event. Calls `onBytes` for every chunk. */
export async function* readEvents(body: AsyncIterable<Uint8Array>, onBytes: () => void): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const piece of body) {
    onBytes()
    text += decoder.decode(piece, { stream: true })
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
      const event = parseEvent(text.slice(0, end))
      text = text.slice(end + 2)
      if (event) yield event
    }
  }
}

function parseEvent(block: string): ServerEvent | undefined {
  const lines = block.split('\n')
  const valueOf = (name: string): string | undefined => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
  const [event, data] = [valueOf('event'), parseFields(valueOf('data') ?? '')]
  return event !== undefined && isFields(data) ? { event, data } : undefined
}
