/**
 * Runs many small test files in one process: a generated file makes each of them a suite that is named by its path. The files share a process and
 * nothing else, so that a file which sets the environment, replaces a global or starts processes does not belong here.
 */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Beginnings of paths. */
const small = ['test/unit/', 'packages/client/test/']
/** They start processes, wait for most of their time, or change what the process has only once. */
const alone = [
  'test/unit/clock',
  'test/unit/embeddings',
  'test/unit/redis-window',
  'test/unit/shared-page',
  'test/unit/store-window',
  'test/unit/test-servers',
  'test/unit/vector-set',
  'test/unit/verification',
  'packages/client/test/left-behind',
  'packages/client/test/persist',
  'packages/client/test/service',
]

export const sharesProcess = (file: string): boolean =>
  small.some((start) => file.startsWith(start)) && !alone.some((start) => file.startsWith(start))

/** Writes the file that runs all of `files`, relative to `root`; returns its path and the folder to remove afterwards. */
export function writeSharedFile(root: string, files: string[]): { path: string; folder: string } {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-shared-'))
  const path = join(folder, 'shared-process.test.mjs')
  const suites = files.map((file) => {
    const url = pathToFileURL(join(root, file)).href
    return `describe(${JSON.stringify(file)}, async () => {\n  await import(${JSON.stringify(url)})\n})\n`
  })
  writeFileSync(path, `import { describe } from 'node:test'\n${suites.join('')}`)
  return { path, folder }
}
