/** Watches source folders for saved files. Folders are watched, not files, since many editors replace a file when they save it. */
import { globSync, watch } from 'node:fs'
import type { FSWatcher } from 'node:fs'
import { join, relative } from 'node:path'

// One save is several events, and a checkout is many files.
const settleMs = 100

export type SourceWatcher = { close(): void }

/** Calls `onChange` with the path of a changed file, relative to `root`, once things have been quiet for a moment. New folders are watched too. */
export function watchSources(root: string, folder: string, onChange: (file: string) => void): SourceWatcher {
  const watchers = new Map<string, FSWatcher>()
  let timer: NodeJS.Timeout | undefined

  function watchFolders(): void {
    const present = new Set([join(root, folder), ...foldersBelow(join(root, folder))])
    for (const path of present) if (!watchers.has(path)) watchers.set(path, watchFolder(path))
    for (const [path, watcher] of watchers) {
      if (present.has(path)) continue
      watcher.close()
      watchers.delete(path)
    }
  }

  function watchFolder(path: string): FSWatcher {
    const watcher = watch(path, (_event, name) => {
      // Editors write swap and backup files beside the source.
      if (name === null || name.startsWith('.') || name.endsWith('~')) return
      clearTimeout(timer)
      timer = setTimeout(() => {
        watchFolders()
        onChange(relative(root, join(path, name)))
      }, settleMs)
    })
    // A folder that is deleted ends its watcher.
    watcher.on('error', () => watcher.close())
    return watcher
  }

  watchFolders()
  return {
    close() {
      clearTimeout(timer)
      for (const watcher of watchers.values()) watcher.close()
    },
  }
}

const foldersBelow = (path: string): string[] =>
  globSync('**/*', { cwd: path, withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
