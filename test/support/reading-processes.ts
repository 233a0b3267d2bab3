/** The processes that read documents for a server, found as an operator would find them: in the system's list. Linux only, as what asks for them. */
import { readdirSync, readFileSync } from 'node:fs'

/** Their pids; those that have ended and are not yet taken note of are left out. */
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

/** Empty where the process has gone meanwhile. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH')) return ''
    throw error
  }
}
