/**
 * Preloaded into every test file by test/run.ts. The threads of a store and the processes that a test starts get the same arguments; they
 * load nothing more than this file.
 */
import { isMainThread } from 'node:worker_threads'

if (isMainThread) {
  await import('./file-cost.ts')
  await import('./file-deadline.ts')
  await import('../support/answer-check-fetch.ts')
}
