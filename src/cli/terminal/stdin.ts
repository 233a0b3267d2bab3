/** Reads all of stdin. It waits for the writer: a synchronous read (`readFileSync(0)`) fails if the writer is slower than this process. */

export async function readStdin(): Promise<Buffer<ArrayBuffer>> {
  const pieces: Buffer[] = []
  for await (const piece of process.stdin) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}
