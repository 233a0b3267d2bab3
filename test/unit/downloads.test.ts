/** Reports and exports that are downloaded at the same time: one part at a time, in turns, with rests. */
import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { until } from '../support/until.ts'
import { streamOf } from '../../src/http/admin/downloads.ts'

type Parts = (sender: string) => AsyncIterable<string>

const download = (sender: string, parts: Parts): Promise<string> => text(streamOf({ method: 'GET', principalName: sender }, parts(sender)))

void test('overload.downloads: one part is written at a time, and senders take turns', async () => {
  const order: string[] = []
  let [writing, most] = [0, 0]
  const parts: Parts = async function* (sender) {
    for (let part = 0; part < 5; part++) {
      order.push(sender)
      most = Math.max(most, ++writing)
      await new Promise(setImmediate)
      writing--
      yield `${part}`
    }
  }
  const many = Array.from({ length: 20 }, () => download('many', parts))
  assert.equal(await download('one', parts), '01234')
  // It waited for at most two parts of the other before each of its own.
  assert.ok(order.lastIndexOf('one') <= 3 * 5, order.join(' '))
  assert.deepEqual(new Set(await Promise.all(many)), new Set(['01234']))
  assert.equal(most, 1)
})

void test('overload.downloads: after a part, all rest for as long as it took', async () => {
  const ends: number[] = []
  const starts: number[] = []
  const parts: Parts = async function* () {
    for (let part = 0; part < 3; part++) {
      starts.push(performance.now())
      await pass(40)
      ends.push(performance.now())
      yield 'x'
    }
  }
  await Promise.all([download('one', parts), download('two', parts)])
  // A timer may be a millisecond early.
  for (const [at, end] of ends.slice(0, -1).entries()) assert.ok(starts[at + 1]! - end >= 38, `${starts[at + 1]! - end}`)
})

void test('overload.downloads: a part that waits for the store leaves its place to others, and its error ends only its own download', async () => {
  const answer = Promise.withResolvers<string>()
  const slow = download('slow', async function* () {
    yield await answer.promise
  })
  const outcome = slow.then(
    () => 'complete',
    (error: Error) => error.message,
  )
  assert.equal(
    await download('other', async function* () {
      yield 'a'
      yield 'b'
    }),
    'ab',
  )
  answer.reject(new Error('the store is away'))
  assert.equal(await outcome, 'the store is away')
})

void test('overload.downloads: a download that is cut ends its reading', async () => {
  let ended = false
  const stream = streamOf(
    { method: 'GET', principalName: 'one' },
    (async function* () {
      try {
        for (;;) yield 'x'
      } finally {
        ended = true
      }
    })(),
  )
  for await (const part of stream) if (part) break
  await until('the reading has ended', () => ended)
})
