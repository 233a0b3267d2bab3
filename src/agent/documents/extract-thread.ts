/**
 * The thread that reads documents, in the process of extract-process.ts. Keeps the chunks of one document until they are taken. The
 * document libraries are loaded here and not in the server.
 */
import { parentPort } from 'node:worker_threads'
import type { Chunk } from '../knowledge/chunk.ts'
import type { FromThread, ToReading } from './extract-messages.ts'
import { extractDocument } from './extract.ts'
import { DocumentRefused } from './limits.ts'

// Reporting every page would send more messages than needed.
const progressEveryMs = 100

// A thread started from here could get around the limits of this process, so give up the permission to start one. Older versions of Node
// cannot drop permissions, and Node's types do not have the method yet.
const permission: NodeJS.ProcessPermission & { drop?(scope: string): void } = process.permission
permission.drop?.('worker')

let parts: Uint8Array[] = []
let chunks: Chunk[] = []

const say = (message: FromThread): void => parentPort!.postMessage(message)

parentPort!.on('message', (message: ToReading) => {
  switch (message.kind) {
    case 'begin':
      parts = []
      chunks = []
      return
    case 'part':
      return void parts.push(message.bytes)
    case 'read':
      return void read(message.source)
    case 'take':
      return say({ kind: 'taken', chunks: chunks.slice(message.from, message.from + message.count) })
  }
})

async function read(source: Extract<ToReading, { kind: 'read' }>['source']): Promise<void> {
  const bytes = together(parts)
  parts = []
  let saidAt = 0
  const before = process.threadCpuUsage()
  const cpuMs = (): number => {
    const { user, system } = process.threadCpuUsage(before)
    return (user + system) / 1000
  }
  const onProgress = (share: number): void => {
    if (performance.now() - saidAt < progressEveryMs) return
    saidAt = performance.now()
    say({ kind: 'progress', share })
  }
  try {
    // The PDF reader detaches the buffer it gets.
    const size = bytes.length
    const extracted = await extractDocument({ ...source, bytes }, onProgress)
    chunks = extracted.chunks
    say({ kind: 'read', title: extracted.title, chunks: chunks.length, bytes: size, warnings: extracted.warnings, cpuMs: cpuMs() })
  } catch (error) {
    say({ kind: 'refused', ...refusal(error), cpuMs: cpuMs() })
  }
}

function together(pieces: Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.length
  }
  return bytes
}

function refusal(error: unknown): { reason: string; cause: string | null } {
  if (error instanceof DocumentRefused)
    return { reason: error.message, cause: error.cause === undefined ? null : withoutMessage(error.cause) }
  // V8's message for a stack overflow.
  if (error instanceof RangeError && /call stack/.test(error.message)) return { reason: 'This document is nested too deeply.', cause: null }
  const cause = withoutMessage(error)
  return { reason: 'This document could not be read, by a fault of Turnkeep. The log of the server says more.', cause }
}

/** Returns, for the log, the type of an error and where it was thrown. The message of a parser may quote the document. */
function withoutMessage(error: unknown): string {
  if (!(error instanceof Error)) return `a thrown ${typeof error}`
  return [error.name, ...(error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))].join('\n')
}
