/**
 * Preloaded into every test file by test/run.ts: what still runs when the time of a whole file is over is ended, so that it fails and hangs nobody;
 * and what is over ends at once. Changes no verdict.
 */
import { isMainThread } from 'node:worker_threads'

// Twice the time that one test may take.
const limitMs = 600_000
// For the runner, which tells its last results when nothing is left to do.
const lastWordsMs = 50

// The threads of a store are started with the same arguments.
if (isMainThread) {
  setTimeout(() => {
    console.error(`the file was not over within ${limitMs / 1000} s: ${process.argv[1]}`)
    process.exit(1)
  }, limitMs).unref()

  // Node 24 frees the environment of a process that ends by itself, and has been seen to wait there for ever, at full load, for a request of a
  // connection that was reset. By then every test has its verdict, and no handle is left that could be hidden by it.
  process.once('beforeExit', () => {
    setTimeout(() => process.once('beforeExit', () => process.exit()), lastWordsMs)
  })
}
