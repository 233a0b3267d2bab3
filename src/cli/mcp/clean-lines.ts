/** Reads the messages of an MCP client from its lines, and passes them on without null, as /mcp does (`mcp.tool`). */
import { Transform } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { withoutNulls } from '../../mcp/without-nulls.ts'

/** A line that is not JSON is passed on as it is: the SDK reports it. So is the end of the input if it is not a whole line. */
export function cleanLines(): Transform {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  return new Transform({
    transform(bytes: Buffer, _encoding, done) {
      const lines = (rest + decoder.write(bytes)).split('\n')
      rest = lines.pop()!
      done(null, lines.map((line) => `${clean(line)}\n`).join(''))
    },
    flush: (done) => done(null, rest + decoder.end()),
  })
}

function clean(line: string): string {
  try {
    return JSON.stringify(withoutNulls(JSON.parse(line)))
  } catch {
    return line
  }
}
