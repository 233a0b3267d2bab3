/**
 * `stream.slow-reader`: cuts off a reader who takes nothing for so long while something waits to be sent. Never touches what is sent, and never
 * cuts off a reader who goes on taking, however slowly. Node's own timeout of a socket is not used: it begins anew once where a part of the
 * newest write was taken, and so may last twice as long.
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

// A cut comes at most a thirtieth late; 30 s are told in seconds.
const looksPerStall = 30

/** Answers what is to be called after each write. The timer runs only while something is unsent. */
export function cutOffWhenStalled(response: ServerResponse, stallMs: number): () => void {
  const everyMs = stallMs / looksPerStall
  let timer: NodeJS.Timeout | undefined
  let taken: Taken | undefined
  let lookedAt = 0
  let unmovedMs = 0

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
    // A process that stood still has not seen what was taken meanwhile: that time is not the reader's.
    unmovedMs = moved ? 0 : unmovedMs + Math.min(since, 2 * everyMs)
    if (unmovedMs >= stallMs) response.destroy()
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

/** Bytes of whole writes that the system took, and bytes that are left of the write under way: one of them changes with every byte taken. */
type Taken = { whole: number; left: number | undefined }

/** Nothing where the response waits behind another one of its connection, whose reader is that one's affair. */
function takenFrom(socket: Socket | null): Taken | undefined {
  if (!socket) return undefined
  // Not in Node's documentation; its own timeout reads it. Without it a large write would be seen only as a whole.
  const { _handle: handle } = socket as Socket & { _handle?: { writeQueueSize?: number } | null }
  return { whole: socket.bytesWritten - socket.writableLength, left: handle?.writeQueueSize }
}
