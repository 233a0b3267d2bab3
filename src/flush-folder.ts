/** Makes the names in a folder durable: a file that was created, renamed or removed there is so after a power failure, too. */
import { closeSync, fsyncSync, openSync } from 'node:fs'

export function flushFolder(path: string): void {
  // Windows cannot open a folder. There the file system orders its own metadata.
  if (process.platform === 'win32') return
  const folder = openSync(path, 'r')
  fsyncSync(folder)
  closeSync(folder)
}
