/** `npm ci` runs only this project's `prepare`: a package's install script may do anything, and some send data to their vendor. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const lockfile = join(import.meta.dirname, '../../package-lock.json')

void test('packages: no package of the lockfile runs an install script', () => {
  const { packages } = JSON.parse(readFileSync(lockfile, 'utf8')) as {
    packages: Record<string, { hasInstallScript?: true; os?: string[] }>
  }
  const running = Object.entries(packages).filter(([path, { hasInstallScript, os }]) => path !== '' && hasInstallScript && !os)
  assert.deepEqual(
    running.map(([path]) => path),
    [],
  )
})
