/** Finds a page of the documentation on this machine: the package contains the pages for operators. */
import { isAbsolute, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Returns the path of a page such as `docs/operate/backup-restore.md`, relative if it is below the working directory. */
export function docPage(page: string): string {
  const path = fileURLToPath(new URL(`../../../${page}`, import.meta.url))
  const near = relative('', path)
  return near.startsWith('..') || isAbsolute(near) ? path : near
}
