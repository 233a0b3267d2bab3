/** Reads the messages of an MCP client from its lines, and passes them on without null, as /mcp does (`mcp.tool`). */
import { Transform } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { withoutNulls } from '../../mcp/without-nulls.ts'

/** A line that is not JSON is passed on as it is: the SDK reports it. So is the end of the input if it is not a whole line. */
export function cleanLines(): Transform {
  const decoder = new StringDecoder('utf8')
  // Of the line that has not ended. Each is searched once: a long message arrives in many pieces.
  let pieces: string[] = []
  return new Transform({
    transform(bytes: Buffer, _encoding, done) {
      const [piece, ...rest] = decoder.write(bytes).split('\n')
      pieces.push(piece!)
      if (rest.length === 0) return done()
      const lines = [pieces.join(''), ...rest]
      pieces = [lines.pop()!]
      done(null, lines.map((line) => `${clean(line)}\n`).join(''))
    },
    flush: (done) => done(null, pieces.join('') + decoder.end()),
  })
}

function clean(line: string): string {
  try {
    return JSON.stringify(withoutNulls(JSON.parse(line)))
  } catch {
    return line
  }
}
