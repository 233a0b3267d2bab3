/** `export.csv`: the body of a report is not read for a request that does not want it. */
import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { streamOf } from '../../src/http/admin/downloads.ts'

void test('export.csv: HEAD reads no part of the report, and GET reads all of it', async () => {
  let read = 0
  async function* parts(): AsyncGenerator<string> {
    for (const part of ['a\n', 'b\n']) {
      read++
      yield part
    }
  }
  assert.deepEqual([await text(streamOf({ method: 'HEAD' }, parts())), read], ['', 0])
  assert.deepEqual([await text(streamOf({ method: 'GET' }, parts())), read], ['a\nb\n', 2])
})
