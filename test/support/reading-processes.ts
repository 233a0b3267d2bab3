/** The processes that read documents for a server, found in the system's process list as an operator would. Linux only. */
import { readdirSync, readFileSync } from 'node:fs'

/**
 * Their process IDs, without those that have already ended. Where the system confines them, the server's child is what prepares the
 * namespaces, and the process that reads is the last of its descendants.
 */
export function readingProcessesOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => parentOf(pid) === parent && isReading(pid))
    .map(lastOf)
    .filter((pid) => isReading(pid) && !isPreparing(pid))
}

/** Undefined for a process that has ended. */
function parentOf(pid: number): number | undefined {
  const stat = read(`/proc/${pid}/stat`)
  const [state, ppid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return state === 'Z' ? undefined : Number(ppid)
}

const isReading = (pid: number): boolean => parentOf(pid) !== undefined && read(`/proc/${pid}/cmdline`).includes('extract-process.ts')
const isPreparing = (pid: number): boolean => /^(?:\/bin\/sh|\/(?:usr\/)?bin\/unshare|env)\0/.test(read(`/proc/${pid}/cmdline`))

function lastOf(pid: number): number {
  const child = /\d+/.exec(read(`/proc/${pid}/task/${pid}/children`))?.[0]
  return child === undefined ? pid : lastOf(Number(child))
}

/** Empty if the process has ended meanwhile. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH')) return ''
    throw error
  }
}
