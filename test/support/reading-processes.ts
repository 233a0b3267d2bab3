/** The processes that read documents for a server, found in the system's process list as an operator would. Linux only. */
import { readdirSync, readFileSync } from 'node:fs'

/** Their process IDs, without those that have already ended. */
export function readingProcessesOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      const stat = read(`/proc/${pid}/stat`)
      const [state, ppid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return Number(ppid) === parent && state !== 'Z' && read(`/proc/${pid}/cmdline`).includes('extract-process.ts')
    })
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
