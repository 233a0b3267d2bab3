/** Reads all of stdin. It waits for the writer: a synchronous read (`readFileSync(0)`) fails if the writer is slower than this process. */
import type { CommandRun } from '../command-run.ts'

/** Stops reading soon after `maxBytes`, so the result may be slightly longer. */
export async function readStdin({ stdin }: CommandRun, maxBytes = Infinity): Promise<Buffer<ArrayBuffer>> {
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of stdin) {
    pieces.push(piece as Buffer)
    length += (piece as Buffer).length
    if (length > maxBytes) break
  }
  return Buffer.concat(pieces)
}
