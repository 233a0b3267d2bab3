/**
 * The process in which documents are read: whatever a file does to its reader, even to the process around it, it does it here. A thread reads and
 * the process watches it, so that the process itself is never busy: it hears at once that its server is gone, and ends with it. Its one argument is
 * the limits.
 */
import { Worker } from 'node:worker_threads'
import type { FromReading, FromThread, ReadingLimits, ToReading } from './extract-messages.ts'

// A file that swells does it by some 100 MB in this time.
const watchEveryMs = 100
// Enough for the deepest page that is no attack; the stack of a thread comes out of its memory.
const stackMegabytes = 4

const limits = JSON.parse(process.argv[2]!) as ReadingLimits
const say = (message: FromReading): void => void process.send?.(message, endNow)
let watch: NodeJS.Timeout | undefined

// Nobody is left who would want what is read. Without a look at the thread, which may be in the middle of anything.
function endNow(gone: Error | null = null): void {
  if (gone || !process.connected) process.kill(process.pid, 'SIGKILL')
}

process.on('disconnect', endNow)
// It may have gone before anybody listened.
endNow()
// A terminal's are for all that run in it: the server takes its time to end, and ends this process when it needs it no more.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)

const thread = new Worker(new URL('./extract-thread.ts', import.meta.url), {
  resourceLimits: { maxOldGenerationSizeMb: limits.heapMegabytes, stackSizeMb: stackMegabytes },
  // What libraries print of a file is no line of ours.
  stdout: true,
  stderr: true,
})
thread.stdout.resume()
thread.stderr.resume()

process.on('message', (message: ToReading) => {
  if (message.kind === 'read') beginWatching()
  if (message.kind !== 'part') return thread.postMessage(message)
  // A copy: what came is a window on memory that the channel uses, and this is handed over.
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
// After an error this is not heard any more.
thread.on('exit', () => say({ kind: 'failed', cause: 'the thread that reads documents ended by itself' }))

function beginWatching(): void {
  let spentBeforeMs: number | undefined
  async function look(): Promise<void> {
    const [{ external_memory: outsideBytes }, { user, system }] = await Promise.all([thread.getHeapStatistics(), thread.cpuUsage()])
    const cpuMs = (user + system) / 1000
    spentBeforeMs ??= cpuMs
    if (outsideBytes > limits.outsideBytes) say({ kind: 'exceeded', what: 'memory' })
    else if (cpuMs - spentBeforeMs > limits.computingMs) say({ kind: 'exceeded', what: 'computing' })
  }
  clearInterval(watch)
  watch = setInterval(() => {
    look().catch((error: Error & { code?: string }) => {
      // Before its life; that it is over is heard by itself. A thread that cannot be watched reads nothing.
      if (error.code !== 'ERR_WORKER_NOT_RUNNING') say({ kind: 'failed', cause: error.stack ?? error.message })
    })
  }, watchEveryMs)
}
