/**
 * `stream.slow-reader`, `overload.unread`: disconnects a reader that accepts no data for a given time while data is waiting. A reader of a stream
 * that goes on may read as slowly as it likes, because little is kept for it. What is left after the last write has to be read at a minimum
 * rate, so that no one can make a large response wait for hours. Node's socket timeout does not fit: it restarts once if part of the latest write was accepted, so it can
 * take twice as long.
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

// A reader is disconnected at most 1/30 of the limit late: one second for 30 s.
const looksPerStall = 30

export type ReaderTimes = {
  /** A reader that accepts no data for this long is disconnected. */
  stallMs: number
  /** The rate at which the rest of a finished response has to be read, after the first `stallMs`. */
  minBytesPerSecond: number
}

/** Returns a function to call after each write. Its timer runs only while data is waiting to be sent. */
export function cutOffWhenStalled(response: ServerResponse, { stallMs, minBytesPerSecond }: ReaderTimes): () => void {
  const everyMs = stallMs / looksPerStall
  let timer: NodeJS.Timeout | undefined
  let taken: Taken | undefined
  let lookedAt = 0
  let unmovedMs = 0
  /** How long the rest of a finished response may take; undefined until it is the response that its connection sends. */
  let leftMs: number | undefined

  function stop(): void {
    clearInterval(timer)
    timer = undefined
  }

  function look(): void {
    if (response.writableLength === 0) return stop()
    const before = taken
    const since = performance.now() - lookedAt
    lookedAt += since
    taken = takenFrom(response.socket)
    const moved = !before || !taken || before.whole !== taken.whole || before.left !== taken.left
    // While the process was suspended it could not see the reader accept data, so at most two intervals count.
    const passedMs = Math.min(since, 2 * everyMs)
    unmovedMs = moved ? 0 : unmovedMs + passedMs
    if (response.writableEnded && taken) leftMs = (leftMs ?? stallMs + (1000 * response.writableLength) / minBytesPerSecond) - passedMs
    if (unmovedMs >= stallMs || (leftMs !== undefined && leftMs <= 0)) response.destroy()
  }

  response.once('close', stop)
  return () => {
    if (timer !== undefined || response.writableLength === 0 || response.destroyed) return
    taken = takenFrom(response.socket)
    lookedAt = performance.now()
    unmovedMs = 0
    timer = setInterval(look, everyMs)
  }
}

/** Bytes of completed writes, and bytes left of the current write. One of the two changes with every byte that the system accepts. */
type Taken = { whole: number; left: number | undefined }

/** Undefined while the response waits for another one on the same connection, which then watches the reader. */
function takenFrom(socket: Socket | null): Taken | undefined {
  if (!socket) return undefined
  // Undocumented, but Node's own socket timeout reads it. Without it, progress within one large write would be invisible.
  const { _handle: handle } = socket as Socket & { _handle?: { writeQueueSize?: number } | null }
  return { whole: socket.bytesWritten - socket.writableLength, left: handle?.writeQueueSize }
}
