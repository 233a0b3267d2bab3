/**
 * A disk for the data folder of SQLite that can be filled immediately without using memory: an in-memory file system whose size is reduced
 * to what is in use. Needs Linux and root. Its content survives a killed server, but not a restart of the machine.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmdirSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type Disk = {
  folder: string
  /** From now on no further page fits. */
  fill(): void
  free(): void
  remove(): void
}

/** Why it is not possible here, or false. */
export function noDisk(): string | false {
  const why = 'mounting a small file system needs Linux and root'
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return why
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-disk-'))
  try {
    // The root user of a container may not be allowed to.
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4096', 'tmpfs', folder], { stdio: 'ignore' })
    execFileSync('umount', [folder])
    return false
  } catch {
    return `${why}, and this root may not`
  } finally {
    rmdirSync(folder)
  }
}

// More than a run of hours writes. Memory is only used when it is written.
const roomy = '4g'

export function makeDisk(folder: string): Disk {
  mkdirSync(folder)
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${roomy},mode=0700`, 'tmpfs', folder])
  const resize = (size: string): void => void execFileSync('mount', ['-o', `remount,size=${size}`, folder], { stdio: 'pipe' })
  return {
    folder,
    fill() {
      // A write between reading and changing the size makes the new size too small to be accepted.
      for (let tries = 0; ; tries++) {
        const { blocks, bfree, bsize } = statfsSync(folder)
        try {
          return resize(String((blocks - bfree + tries) * bsize))
        } catch (error) {
          if (tries === 20) throw error
        }
      }
    },
    free: () => resize(roomy),
    remove: () => void execFileSync('umount', [folder]),
  }
}
