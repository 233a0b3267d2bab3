/** Requests of one sender that arrive together: in which order they start, and who starts between them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FairStart } from '../../src/http/edge/fair-start.ts'

/** The requests start in this order. Each costs its sender `ms`. */
function begin({ ms }: { ms: number }) {
  let now = 0
  const starts = new FairStart(() => now)
  const order: string[] = []
  const request = async (sender: string): Promise<void> => {
    const wait = starts.wait(sender)
    if (wait) await wait
    order.push(sender)
    now += ms
  }
  return { order, request }
}

void test('overload.starts: of many requests of one sender that arrive together one starts in each round, and another sender waits for one of them', async () => {
  const { order, request } = begin({ ms: 4 })
  const many = Array.from({ length: 20 }, () => request('busy'))
  const other = request('other')
  // Immediately, in the round in which they arrived.
  assert.deepEqual(order, ['busy', 'other'])
  await other
  for (let round = 2; round < 10; round++) {
    await new Promise(setImmediate)
    await request(`other ${round}`)
    assert.ok(order.filter((sender) => sender === 'busy').length <= round + 1, order.join(', '))
  }
  await Promise.all(many)
  assert.equal(order.filter((sender) => sender === 'busy').length, 20)
})

void test('overload.starts: small requests do not wait for a round each', async () => {
  const { order, request } = begin({ ms: 0.1 })
  const many = Array.from({ length: 30 }, (_, at) => request('busy').then(() => at))
  assert.ok(order.length >= 10 && order.length < 20, `${order.length}`)
  for (let round = 0; round < 4; round++) await new Promise(setImmediate)
  assert.equal(order.length, 30)
  assert.deepEqual(
    await Promise.all(many),
    Array.from({ length: 30 }, (_, at) => at),
  )
})

void test('overload.starts: a sender that waits keeps its order, and one that comes back later does not wait', async () => {
  const { order, request } = begin({ ms: 4 })
  const started: number[] = []
  const send = (at: number): Promise<void> => request('busy').then(() => void started.push(at))
  const first = [send(0), send(1), send(2)]
  await new Promise(setImmediate)
  await Promise.all([...first, send(3), send(4)])
  assert.deepEqual(started, [0, 1, 2, 3, 4])
  await new Promise(setImmediate)
  void request('busy')
  assert.equal(order.length, 6)
})
