/** What is piped into a command, whole. Waits for its writer: a read at once (`readFileSync(0)`) fails where that is a moment slower than we are. */

export async function readStdin(): Promise<Buffer<ArrayBuffer>> {
  const pieces: Buffer[] = []
  for await (const piece of process.stdin) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}
