/**
 * Parses server-sent events from bytes in any chunking, with CR, LF or CR LF, multi-line data, comments and a byte order mark. Follows the
 * HTML standard, "Interpreting an event stream", except that an `id` belongs only to the event that contains it, so that an event without one
 * is not mistaken for the one before it. `retry` is ignored. An incomplete event at the end is dropped.
 */
export type ServerSentEvent = {
  name: string
  data: string
  /** Missing if the event has no `id`, or an empty one. */
  id?: string
}

export class EventReader {
  // Keeps the first bytes of a character until its last ones arrive. The byte order mark is removed below: a decoder of Node 24 that
  // receives the first one in pieces removes a second one, too.
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  #isStart = true
  #line = ''
  /** The last line ended with CR, so a LF that follows belongs to it. */
  #afterReturn = false
  #name = ''
  #id = ''
  #data: string[] = []

  /** Returns the events that these bytes complete. */
  push(bytes: Uint8Array): ServerSentEvent[] {
    let text = this.#decoder.decode(bytes, { stream: true })
    if (this.#isStart && text !== '') {
      this.#isStart = false
      if (text.startsWith('\ufeff')) text = text.slice(1)
    }
    const events: ServerSentEvent[] = []
    let from = this.#afterReturn && text.startsWith('\n') ? 1 : 0
    if (text !== '') this.#afterReturn = false
    for (const end of text.matchAll(/\r\n?|\n/g)) {
      if (end.index < from) continue
      const event = this.#take(this.#line + text.slice(from, end.index))
      if (event) events.push(event)
      this.#line = ''
      from = end.index + end[0].length
      this.#afterReturn = end[0] === '\r' && from === text.length
    }
    this.#line += text.slice(from)
    return events
  }

  #take(line: string): ServerSentEvent | undefined {
    if (line === '') {
      const id = this.#id === '' ? {} : { id: this.#id }
      const event = this.#data.length > 0 ? { name: this.#name || 'message', data: this.#data.join('\n'), ...id } : undefined
      this.#name = ''
      this.#id = ''
      this.#data = []
      return event
    }
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'event') this.#name = value
    if (field === 'id' && !value.includes('\0')) this.#id = value
    if (field === 'data') this.#data.push(value)
    return undefined
  }
}
