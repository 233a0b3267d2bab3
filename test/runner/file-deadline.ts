/**
 * Preloaded into every test file by test/run.ts: ends a file in which no test has finished for a long time, so that it fails instead of
 * hanging, ends a finished file immediately, and notifies what the tests of a process share. Does not change the result of any test.
 */
import { channel } from 'node:diagnostics_channel'
import { after, afterEach } from 'node:test'
import { isMainThread } from 'node:worker_threads'

// Twice the time that one test may take.
const limitMs = 600_000
// Time for the runner, which reports its last results when no work is left.
const lastWordsMs = 50

// The threads of a store start with the same arguments, so they load this file too.
if (isMainThread) {
  const deadline = setTimeout(() => {
    console.error(`no test has finished for ${limitMs / 1000} s: ${process.argv[1]}`)
    process.exit(1)
  }, limitMs).unref()
  afterEach(() => void deadline.refresh())
  after(() => channel('turnkeep-test:process-ended').publish({}))

  // When a process ends by itself, Node 24 frees its environment. Under full load, it has been seen to wait there forever for a request of
  // a connection that was reset. At this point, every test has its result and no open handle can be hidden by the exit.
  process.once('beforeExit', () => {
    setTimeout(() => process.once('beforeExit', () => process.exit()), lastWordsMs)
  })
}
