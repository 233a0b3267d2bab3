/** Reads that are shared while they are under way. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SharedReads } from '../../src/agent/shared-reads.ts'

void test('a hundred who ask at once make one read, and the next one reads anew', async () => {
  const shared = new SharedReads<number>()
  let begun = 0
  const begin = async (): Promise<number> => ++begun
  assert.deepEqual([...new Set(await Promise.all(Array.from({ length: 100 }, () => shared.read('a', begin))))], [1])
  assert.equal(await shared.read('a', begin), 2)
})

void test('another key has a read of its own, and a failure is told to all who shared it and not kept', async () => {
  const shared = new SharedReads<string>()
  const gone = async (): Promise<string> => {
    throw new Error('gone')
  }
  const asked = [shared.read('a', gone), shared.read('a', async () => 'never begun'), shared.read('b', async () => 'b')]
  const told = await Promise.allSettled(asked)
  assert.deepEqual(
    told.map(({ status }) => status),
    ['rejected', 'rejected', 'fulfilled'],
  )
  assert.equal(await shared.read('a', async () => 'here'), 'here')
})

void test('what was asked before a change is not for those who ask after it, nor does its end take theirs away', async () => {
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
