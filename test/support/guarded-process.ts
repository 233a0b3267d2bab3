/**
 * A server that a test starts and that never outlives it: a shell beside it waits on a pipe from this process, and ends the server and
 * removes its folder when the pipe closes, however this process ended. It does not keep the event loop running and prints nothing to the
 * test's output.
 */
import { execFileSync, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { constants, setPriority } from 'node:os'

export type GuardedProcess = {
  pid: number
  /** Resolves when it has ended. After a request to end it, this process waits for that. */
  readonly exited: Promise<void>
  readonly running: boolean
  signal(name: NodeJS.Signals): void
  /** The server and all processes that it started. */
  signalAll(name: NodeJS.Signals): void
}

export type User = { uid: number; gid: number }
export type GuardedOptions = {
  /** The target of its output. */
  log: string
  /** Removed by the guard if this process ends without having done so. */
  folder: string
  /** The signals that end the server regularly and immediately. */
  endSignal: 'QUIT' | 'TERM'
  user?: User | undefined
}

/** Reads the server's process ID and waits: a line means that everything is done, the end of the pipe that this process has ended. */
const guard = `
read -r pid || exit 0
read -r line && exit 0
kill -$1 "$pid" 2>/dev/null; kill -CONT "$pid" 2>/dev/null
tries=0
while kill -0 "$pid" 2>/dev/null && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
kill -KILL "$pid" 2>/dev/null
rm -rf "$2"`

export async function startGuarded(command: string, args: string[], options: GuardedOptions): Promise<GuardedProcess> {
  // A separate session: Ctrl-C at the terminal ends the tests, which is what the guard waits for.
  const watch = spawn('/bin/sh', ['-c', guard, 'guard', options.endSignal, options.folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  const log = openSync(options.log, 'a')
  const child = spawn(command, args, { stdio: ['ignore', log, log], cwd: options.folder, detached: true, ...options.user })
  closeSync(log)
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => {
      watch.stdin.end('done\n')
      resolve()
    })
  })
  watch.stdin.on('error', () => undefined)
  await spawned(child).catch((error: unknown) => {
    watch.stdin.end()
    throw error
  })
  watch.stdin.write(`${child.pid}\n`)
  comeFirst(child.pid!)
  for (const held of [child, watch]) held.unref()
  // Node's type for a child's pipe hides that it is a socket.
  ;(watch.stdin as unknown as { unref(): void }).unref()

  const pid = child.pid!
  const running = (): boolean => child.exitCode === null && child.signalCode === null
  return {
    pid,
    get exited() {
      if (running()) child.ref()
      return exited
    },
    get running() {
      return running()
    },
    signal: (name) => void child.kill(name),
    signalAll(name) {
      if (!running()) return
      for (const each of [...descendants(pid), pid]) send(each, name)
    },
  }
}

/**
 * The service gives its database a second and Redis a quarter of one. Beside many busy processes they must get a processor in time. Only root
 * may raise a priority.
 */
function comeFirst(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_HIGH)
  } catch (error) {
    const { info } = error as { info?: { code: string } }
    if (!info || !['EACCES', 'EPERM', 'ESRCH'].includes(info.code)) throw error
  }
}

function spawned(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', reject)
  })
}

/** A process that has ended by itself needs no signal. */
function send(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

function descendants(pid: number): number[] {
  const parents = existsSync('/proc/self/stat')
    ? readdirSync('/proc')
        .filter((name) => /^\d+$/.test(name))
        .flatMap((name) => parentOf(name).map((parent) => ({ child: Number(name), parent })))
    : [...execFileSync('ps', ['-axo', 'pid=,ppid='], { encoding: 'utf8' }).matchAll(/(\d+) +(\d+)/g)].map(([, child, parent]) => ({
        child: Number(child),
        parent: Number(parent),
      }))
  const below = (of: number): number[] => parents.filter(({ parent }) => parent === of).flatMap(({ child }) => [child, ...below(child)])
  return below(pid)
}

/** None if the process ended while the list was read. */
function parentOf(pid: string): number[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The process name before it may contain anything, so only what follows its last bracket is read.
    return [Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])]
  } catch {
    return []
  }
}

/** A port that was free a moment ago. A server that is started on it may still find it taken. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
