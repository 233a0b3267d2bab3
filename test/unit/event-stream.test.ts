/** The framing of the event stream, read back by a parser of the HTML standard (9.2.6). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { event } from '../../src/http/public/turn-events.ts'

/** Lines end with CRLF, LF or CR; an empty line dispatches; `data` lines are joined by LF. */
function parse(text: string): { event: string; data: string }[] {
  const events: { event: string; data: string }[] = []
  let name = ''
  let data: string[] = []
  for (const line of text.split(/\r\n|\n|\r/)) {
    const [, field = '', value = ''] = /^([^:]*):? ?(.*)$/su.exec(line) ?? []
    if (line === '') {
      if (data.length > 0) events.push({ event: name || 'message', data: data.join('\n') })
      ;[name, data] = ['', []]
    } else if (field === 'event') name = value
    else if (field === 'data') data.push(value)
  }
  return events
}

void test('event stream: any text is read back as one event, even if it contains line endings or field names', () => {
  const evil = fc.constantFrom('\n\ndata: x\n\n', '\r', '\r\n', '\u2028', '\u2029', '\u0085', 'event: error\n', ':\n\n', '\ufeff', '\0')
  const text = fc.array(fc.oneof(evil, fc.string({ unit: 'binary' }))).map((parts) => parts.join(''))
  fc.assert(
    fc.property(fc.array(text), (deltas) => {
      const sent = deltas.map((delta) => event('response.output_text.delta', '1-1', JSON.stringify({ delta }))).join(':\n\n')
      const read = parse(sent)
      assert.ok(read.every(({ event: name }) => name === 'response.output_text.delta'))
      assert.deepEqual(
        read.map(({ data }) => (JSON.parse(data) as { delta: string }).delta),
        deltas,
      )
    }),
  )
})
