// Starts the command on Node 24 or newer.
'use strict'
const { readFileSync } = require('node:fs')
const { enableCompileCache } = require('node:module')
const { basename, dirname, join } = require('node:path')

const root = dirname(__dirname)
const isPackage = basename(dirname(root)) === 'node_modules'
const watchEveryMs = 1000

module.exports = function start() {
  // Node opens its debugger at SIGUSR1, to every user of this machine. --disable-sigusr1 does the same, but only a parent could set it.
  process.on('SIGUSR1', () => undefined)

  // The compile cache halves the start time from the second start on. Its content is executed, so it must not be in the shared temporary
  // folder, where another user of the machine could plant a cache. It is in node_modules, which only users who may change the code can
  // write. If this user cannot write there (for example because root installed the package), there is no cache.
  enableCompileCache(join(isPackage ? dirname(root) : join(root, 'node_modules'), '.cache', 'turnkeep'))

  const { TURNKEEP_STARTED_BY: startedBy } = process.env
  delete process.env.TURNKEEP_STARTED_BY
  const started = startedBy === undefined ? npmAbove() : { parentOf: process.pid, parent: Number(startedBy) }
  if (started) endWith(started)

  import('../src/cli/turnkeep.ts')
}

/**
 * A parent that was killed with SIGKILL could not pass it on. Then its children get another parent, and this process ends as it does when
 * its terminal is closed: no one else would end it. SIGHUP, because a second SIGTERM would end a drain that a signal has already started.
 */
function endWith({ parentOf, parent }) {
  const watch = setInterval(() => {
    const now = parentOf === process.pid ? process.ppid : parentIn(parentOf)
    if (now === parent) return
    clearInterval(watch)
    process.kill(process.pid, 'SIGHUP')
  }, watchEveryMs)
  watch.unref()
}

/**
 * `npm start` and `npx` start the server through a shell, and wait for it. Undefined without npm, and for a script that does more than start
 * one program, which may leave the server in the background on purpose.
 */
function npmAbove() {
  if (process.env.npm_command === undefined) return undefined
  const { ppid } = process
  const [shell, flag, script = ''] = wordsOf(ppid)
  const isShell = /^(.*\/)?(ba|da)?sh$/.test(shell) && flag === '-c' && !/[&;|\n]/.test(script)
  const started = isShell ? { parentOf: ppid, parent: parentIn(ppid) } : { parentOf: process.pid, parent: ppid }
  return /^npm\b/.test(wordsOf(started.parent)[0]) ? started : undefined
}

/** The command line of a process. Only Linux has these files. */
const wordsOf = (pid) => readProcess(pid, 'cmdline').split('\0')
const parentIn = (pid) => Number(/\) \w (\d+)/.exec(readProcess(pid, 'stat'))?.[1])

function readProcess(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    // The process is gone, or this is not Linux.
    return ''
  }
}
