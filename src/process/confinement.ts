/**
 * How the operating system confines the process that reads documents, so that code that breaks out of JavaScript reaches no network and no
 * other process. On Linux, it gets namespaces of its own: a network without connections, a list of processes with only itself, and a user
 * without rights. Neither root nor an installation is needed, but the system may not allow it: containers with the default profile of
 * Docker and Kubernetes do not. What always holds is in
 * src/agent/documents/confine-code.js and src/agent/documents/reading-process.ts.
 */
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'

export type Confinement = {
  /** The command that starts a program in the namespaces. Empty if the system does not allow them. */
  command: string[]
  /** For the operator: what confines the process, or why the system does not. */
  words: string
}

// `unshare` of util-linux 2.38 and newer has all of these. The process is killed with its `unshare`.
const namespaces = ['--user', '--map-user=65534', '--map-group=65534', '--net', '--ipc', '--pid', '--fork', '--kill-child']
// Not possible where parts of /proc are hidden, as in a container or in a service of systemd.
const ownProc = ['--mount', '--mount-proc']
// Process 1 of a namespace ignores the signals that end others, so it is a shell. The environment of the process has the channel alone.
const inside =
  'env -i NODE_CHANNEL_FD="$NODE_CHANNEL_FD" NODE_CHANNEL_SERIALIZATION_MODE="$NODE_CHANNEL_SERIALIZATION_MODE" "$@"; exit "$?"'
const probeMs = 5_000

let found: Promise<Confinement> | undefined

/** Found out once, by trying. */
export function confinement(): Promise<Confinement> {
  return (found ??= findConfinement())
}

async function findConfinement(): Promise<Confinement> {
  if (process.platform !== 'linux') return none(`there are no namespaces on ${process.platform}`)
  const unshare = ['/usr/bin/unshare', '/bin/unshare'].find((path) => existsSync(path))
  if (unshare === undefined || !existsSync('/bin/sh')) return none('unshare of util-linux is not installed')
  let reason = ''
  for (const more of [ownProc, []]) {
    const command = [unshare, ...namespaces, ...more, '/bin/sh', '-c', inside, 'sh']
    const failure = await failureOf(command)
    if (failure === undefined) {
      const words = 'no network, no other processes, no rights of its user'
      return { command, words: more.length > 0 ? words : `${words} (the list of processes in /proc is visible)` }
    }
    reason = failure
  }
  return none(`the system does not allow namespaces (${reason})`)
}

const none = (why: string): Confinement => ({ command: [], words: why })

/** Tries whether a program runs in the namespaces and may read this code. Returns why not. Never rejects: a lack of memory is a reason, too. */
async function failureOf([program, ...args]: string[]): Promise<string | undefined> {
  // Loaded on first use: a server that reads no documents starts no process.
  const { execFile } = process.getBuiltinModule('node:child_process')
  const readsCode = ['/bin/sh', '-c', '[ -r "$1" ] && [ -x "$2" ]', 'sh', import.meta.filename, process.execPath]
  try {
    await promisify(execFile)(program!, [...args, ...readsCode], { timeout: probeMs, killSignal: 'SIGKILL', env: {} })
    return undefined
  } catch (error) {
    const { stderr = '', message } = error as Error & { stderr?: string }
    return (stderr.trim().split('\n')[0] || message).slice(0, 200)
  }
}
