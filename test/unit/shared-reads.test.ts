/** Concurrent reads of the same key share one read. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SharedReads } from '../../src/agent/shared-reads.ts'

void test('shared reads: a hundred concurrent calls make one read, and the next call reads again', async () => {
  const shared = new SharedReads<number>()
  let started = 0
  const begin = async (): Promise<number> => ++started
  assert.deepEqual([...new Set(await Promise.all(Array.from({ length: 100 }, () => shared.read('a', begin))))], [1])
  assert.equal(await shared.read('a', begin), 2)
})

void test('shared reads: another key has a separate read, and a failure goes to all callers that shared it and is not cached', async () => {
  const shared = new SharedReads<string>()
  const gone = async (): Promise<string> => {
    throw new Error('gone')
  }
  const asked = [shared.read('a', gone), shared.read('a', async () => 'never asked for'), shared.read('b', async () => 'b')]
  const reported = await Promise.allSettled(asked)
  assert.deepEqual(
    reported.map(({ status }) => status),
    ['rejected', 'rejected', 'fulfilled'],
  )
  assert.equal(await shared.read('a', async () => 'here'), 'here')
})

void test('shared reads: a read from before a change is not used by later callers, and its end does not affect theirs', async () => {
  const shared = new SharedReads<string>()
  const first = Promise.withResolvers<string>()
  const second = Promise.withResolvers<string>()
  const before = shared.read('a', () => first.promise)
  shared.forget()
  const after = shared.read('a', () => second.promise)
  first.resolve('old')
  assert.equal(await before, 'old')
  const third = shared.read('a', async () => 'a third read')
  second.resolve('new')
  assert.deepEqual([await after, await third], ['new', 'new'])
})
