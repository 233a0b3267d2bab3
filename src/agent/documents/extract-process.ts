/**
 * The process in which documents are read, so that a malicious file can at most crash this process. A thread reads while the main thread
 * watches it; the main thread therefore stays idle, notices immediately when the server is gone, and exits. Its only argument is the
 * limits.
 */
import { Worker } from 'node:worker_threads'
import type { FromReading, FromThread, ReadingLimits, ToReading } from './extract-messages.ts'

// A file that expands during reading grows by about 100 MB in this time.
const watchEveryMs = 100
// Enough for the most deeply nested page that is not an attack. The stack is part of the thread's memory.
const stackMegabytes = 4

const limits = JSON.parse(process.argv[2]!) as ReadingLimits
const say = (message: FromReading): void => void process.send?.(message, endNow)
let watch: NodeJS.Timeout | undefined

// Without the server no one needs the result. SIGKILL, because the thread may be in the middle of anything.
function endNow(gone: Error | null = null): void {
  if (gone || !process.connected) process.kill(process.pid, 'SIGKILL')
}

process.on('disconnect', endNow)
// The server may have gone before the listener was added.
endNow()
// A terminal sends these to the whole process group. The server shuts down at its own pace and ends this process when it is done with it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)

const thread = new Worker(new URL('./extract-thread.ts', import.meta.url), {
  resourceLimits: { maxOldGenerationSizeMb: limits.heapMegabytes, stackSizeMb: stackMegabytes },
  // Captured and dropped: what libraries print about a file does not belong in the server's output.
  stdout: true,
  stderr: true,
})
thread.stdout.resume()
thread.stderr.resume()

process.on('message', (message: ToReading) => {
  if (message.kind === 'read') beginWatching(message.computingMs)
  if (message.kind !== 'part') return thread.postMessage(message)
  // Copied, because the bytes are a view of memory that the channel uses, and the copy is transferred to the thread.
  const bytes = new Uint8Array(message.bytes)
  thread.postMessage({ ...message, bytes }, [bytes.buffer])
})

thread.on('message', (message: FromThread) => {
  if (message.kind !== 'progress') clearInterval(watch)
  say(message)
})
thread.on('error', (error: Error & { code?: string }) => {
  if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') say({ kind: 'exceeded', what: 'memory' })
  else say({ kind: 'failed', cause: error.stack ?? error.message })
})
// Not sent again after an error.
thread.on('exit', () => say({ kind: 'failed', cause: 'the thread that reads documents ended by itself' }))

function beginWatching(computingMs: number): void {
  let spentBeforeMs: number | undefined
  async function look(): Promise<void> {
    const [{ external_memory: outsideBytes }, { user, system }] = await Promise.all([thread.getHeapStatistics(), thread.cpuUsage()])
    const cpuMs = (user + system) / 1000
    spentBeforeMs ??= cpuMs
    if (outsideBytes > limits.outsideBytes) say({ kind: 'exceeded', what: 'memory' })
    else if (cpuMs - spentBeforeMs > computingMs) say({ kind: 'exceeded', what: 'computing' })
  }
  clearInterval(watch)
  watch = setInterval(() => {
    look().catch((error: Error & { code?: string }) => {
      // ERR_WORKER_NOT_RUNNING: the thread has not started yet, or it has exited, which the `exit` event reports. If it cannot be watched,
      // it must not read.
      if (error.code !== 'ERR_WORKER_NOT_RUNNING') say({ kind: 'failed', cause: error.stack ?? error.message })
    })
  }, watchEveryMs)
}
