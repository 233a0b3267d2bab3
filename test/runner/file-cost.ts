/**
 * Preloaded into every test file by test/run.ts, which sets `TEST_COST` to a folder: writes the costs of the file there when its process
 * ends. On Linux, the CPU time is that of the process and of the children that it waited for, from the kernel's counters; elsewhere it is
 * that of the process alone.
 */
import { randomUUID } from 'node:crypto'
import { subscribe } from 'node:diagnostics_channel'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'

/** `cpuMs`: user and system time. `processes`: started by the file itself. `databases`: created in PostgreSQL. */
export type FileCost = { file: string; cpuMs: number; processes: number; databases: number }

const folder = process.env['TEST_COST']
const file = process.argv[1] ?? ''

// Threads and forked processes inherit the environment and this preload; only the test file itself counts.
if (folder !== undefined && isMainThread && /\.test\.m?[jt]s$/.test(file)) {
  let processes = 0
  let databases = 0
  subscribe('child_process', () => void processes++)
  subscribe('turnkeep-test:database', () => void databases++)
  const cpuMs = (): number => cpuMsOf('self') ?? ownCpuMs()
  let reported: Omit<FileCost, 'file'> = { cpuMs: 0, processes: 0, databases: 0 }
  const write = (ended: string): void => {
    const total = { cpuMs: cpuMs(), processes, databases }
    const own = {
      file: ended,
      cpuMs: total.cpuMs - reported.cpuMs,
      processes: processes - reported.processes,
      databases: databases - reported.databases,
    }
    reported = total
    writeFileSync(join(folder, `${randomUUID()}.json`), JSON.stringify(own satisfies FileCost))
  }
  // Files that share a process run one after another, so what was used since the previous file ended belongs to the next one.
  subscribe('turnkeep-test:suite-ended', (message) => write((message as { file: string }).file))
  process.once('exit', () => write(file))
}

function ownCpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** Returns the CPU time of a process and of the children that it waited for, in milliseconds; undefined without /proc. */
export function cpuMsOf(pid: number | 'self'): number | undefined {
  try {
    // proc(5): utime, stime, cutime and cstime, in ticks of 10 ms. The name before them may contain anything, so count from its last
    // parenthesis.
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * 10
  } catch {
    return undefined
  }
}
