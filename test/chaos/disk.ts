/**
 * A disk for the data folder of SQLite that can be filled at once and without using memory: a file system in memory whose size is set to what is
 * in use. Needs Linux and root. What is on it outlives a killed server, not the machine.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmdirSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type Disk = {
  folder: string
  /** From now on no page more fits. */
  fill(): void
  free(): void
  remove(): void
}

/** Why there can be none here; false where there can. */
export function noDisk(): string | false {
  const why = 'mounting a small file system needs Linux and root'
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return why
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-disk-'))
  try {
    // A container's root may not.
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4096', 'tmpfs', folder], { stdio: 'ignore' })
    execFileSync('umount', [folder])
    return false
  } catch {
    return `${why}, and this root may not`
  } finally {
    rmdirSync(folder)
  }
}

// More than a run of hours writes; no memory is taken before it is written.
const roomy = '4g'

export function makeDisk(folder: string): Disk {
  mkdirSync(folder)
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${roomy},mode=0700`, 'tmpfs', folder])
  const resize = (size: string): void => void execFileSync('mount', ['-o', `remount,size=${size}`, folder], { stdio: 'pipe' })
  return {
    folder,
    fill() {
      // What is written between the look and the change makes it too small to be taken.
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
