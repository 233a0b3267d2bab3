/**
 * Loaded into a server of a chaos run before its own code, with NODE_OPTIONS. At SIGUSR2 the process does to itself what the file in
 * CHAOS_ORDERS says, as a bug in it would. Without the signal it does nothing.
 */
import { readFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

const orders = process.env['CHAOS_ORDERS']
if (isMainThread && orders !== undefined) process.on('SIGUSR2', () => obey(readFileSync(orders, 'utf8')))

function obey(order: string): void {
  const [word, given] = order.split(' ')
  switch (word) {
    case 'exception':
      throw new Error('an exception that the harness ordered')
    case 'rejection':
      void Promise.reject(new Error('a rejection that the harness ordered'))
      return
    case 'memory': {
      // Twice as much each time: filling a heap in small steps spends a minute on garbage collection.
      let kept = [0]
      for (;;) kept = kept.concat(kept)
    }
    case 'block': {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(given))
      return
    }
    default:
      throw new Error(`an unknown instruction: ${order}`)
  }
}
