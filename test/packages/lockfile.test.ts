/**
 * What the lockfile installs. Every package has a checksum, so that a registry or a mirror cannot replace its content, and comes from the
 * registry that npm is configured for. `npm ci` runs only this project's `prepare`: a package's install script may do anything, and some send
 * data to their vendor.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../..')

type Entry = { hasInstallScript?: true; os?: string[]; link?: true; integrity?: string; resolved?: string }

// Lockfiles of other tools need checks of their own.
const lockfileName =
  /^(package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|yarn\.lock|bun\.lockb?|deno\.lock|uv\.lock|poetry\.lock|pylock.*\.toml|Pipfile\.lock|requirements.*\.txt|Cargo\.lock|go\.sum)$/

const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { packages: Record<string, Entry> }

// The others are this project and its workspaces, and links to them.
const installed = Object.entries(packages).filter(([path, { link }]) => /(^|\/)node_modules\//.test(path) && !link)

/** What could be wrong with an entry of the lockfile, or undefined. */
function faultOf({ integrity, resolved }: Entry): string | undefined {
  // SHA-512 has 64 bytes: 86 characters and two of padding.
  if (!integrity || !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity)) return `integrity is ${integrity ?? 'missing'}`
  if (resolved !== undefined && !resolved.startsWith('https://registry.npmjs.org/')) return `resolved is ${resolved}`
  return undefined
}

void test('packages: the repository has one lockfile, and every package in it has a checksum and comes from the standard registry', () => {
  const tracked = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).trim().split('\n')
  assert.deepEqual(
    tracked.filter((path) => lockfileName.test(basename(path))),
    ['package-lock.json'],
  )
  assert.ok(installed.length > 500, `${installed.length} packages`)
  const lines = installed.flatMap(([path, entry]) => {
    const fault = faultOf(entry)
    return fault === undefined ? [] : [`${path}: ${fault}`]
  })
  assert.deepEqual(lines, [])
})

void test('packages: entries outside node_modules are only this project and its workspaces, and links lead to them', () => {
  const own = ['', 'packages/client', 'packages/console']
  const outside = Object.entries(packages).filter(([path, { link }]) => link || !/(^|\/)node_modules\//.test(path))
  for (const [path, { link, resolved }] of outside) assert.ok(own.includes(link ? resolved! : path), path)
})

void test('packages: no package of the lockfile runs an install script', () => {
  const running = Object.entries(packages).filter(([path, { hasInstallScript, os }]) => path !== '' && hasInstallScript && !os)
  assert.deepEqual(
    running.map(([path]) => path),
    [],
  )
})
