/** What `turnkeep mcp` reads from its client: whole lines without null, however they arrive, and each character is searched once. */
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { cleanLines } from '../../src/cli/mcp/clean-lines.ts'

const message = (about: string): string => JSON.stringify({ jsonrpc: '2.0', method: 'ping', id: 1, params: { about } })
const piecesOf = (bytes: Buffer, size: number): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, place) => bytes.subarray(place * size, (place + 1) * size))

void describe('the lines of an MCP client', () => {
  void test('mcp.tool: lines without null come out whole, in pieces of any size', async () => {
    const sent = `{"jsonrpc":"2.0","method":"ping","id":1,"params":null}\n${message('für 漢字 👍🏽')}\n\nnot JSON\n{"id":2`
    const wanted = `{"jsonrpc":"2.0","method":"ping","id":1}\n${message('für 漢字 👍🏽')}\n\nnot JSON\n{"id":2`
    for (const size of [1, 2, 3, 7, 64, 1024])
      assert.equal(await text(Readable.from(piecesOf(Buffer.from(sent), size)).pipe(cleanLines())), wanted, `pieces of ${size} bytes`)
  })

  void test('a long line in many pieces costs no more than its length', async (t) => {
    const line = `${message('x'.repeat(400_000))}\n`
    let searched = 0
    for (const method of ['split', 'indexOf', 'lastIndexOf'] as const) {
      // The methods differ in their arguments only, which are passed on.
      const original = String.prototype[method] as (...given: unknown[]) => unknown
      t.mock.method(String.prototype, method, function (this: string, ...given: unknown[]) {
        searched += this.length
        return original.apply(this, given)
      })
    }
    const read = await text(Readable.from(piecesOf(Buffer.from(line), 1_000)).pipe(cleanLines()))
    t.mock.restoreAll()
    assert.ok(read === line, 'the line came out changed')
    assert.ok(searched < 2 * line.length, `${searched} characters were searched for a line of ${line.length}`)
  })
})
