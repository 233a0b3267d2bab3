/** What a package says of itself: the repository's package.json without all that is for a working copy of it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export type Manifest = {
  name: string
  version: string
  dependencies?: Record<string, string>
  [field: string]: unknown
}

export const projectRoot = join(import.meta.dirname, '..')

export const readManifest = (folder: string): Manifest => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest

// Scripts and devDependencies need files that no package has, and the optional dependencies are Node itself, 143 MB each.
const ofWorkingCopies = ['private', 'workspaces', 'scripts', 'devDependencies', 'optionalDependencies']

/** The server runs on Node 24 alone; a working copy begins on less, since it brings its own. */
export function serverManifest(files: string[]): Manifest {
  const manifest = readManifest(projectRoot)
  return { ...without(manifest), keywords, engines: { node: '>=24' }, files }
}

export function clientManifest(): Manifest {
  return without(readManifest(join(projectRoot, 'packages/client')))
}

const without = (manifest: Manifest): Manifest => {
  const kept = Object.entries(manifest).filter(([field]) => !ofWorkingCopies.includes(field))
  return Object.fromEntries(kept) as Manifest
}

const keywords = ['agents', 'chat', 'llm', 'rest-api', 'server', 'idempotency', 'streaming', 'billing', 'sqlite', 'postgresql']
