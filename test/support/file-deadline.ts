/** Preloaded into every test file by test/run.ts: what still runs when the time of a whole file is over is ended, so that it fails and hangs nobody. */
import { isMainThread } from 'node:worker_threads'

// Twice the time that one test may take.
const limitMs = 600_000

// The threads of a store are started with the same arguments.
if (isMainThread) {
  setTimeout(() => {
    console.error(`the file was not over within ${limitMs / 1000} s: ${process.argv[1]}`)
    process.exit(1)
  }, limitMs).unref()
}
