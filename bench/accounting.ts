/**
 * The CPU time and memory of a process and its descendants, from /proc, so on Linux only. It never asks the process itself, so peers are
 * measured in the same way.
 */
import { readFileSync, readdirSync } from 'node:fs'

// USER_HZ, the unit of /proc/PID/stat: 100 on every Linux that Node runs on.
const msPerTick = 10

/** Milliseconds of CPU time since the start, of all threads and of children that have ended. */
export function cpuMs(pid: number): number {
  return sumOver(pid, (one) => {
    const stat = readFileSync(`/proc/${one}/stat`, 'latin1')
    // The process name before it may contain anything, so only what follows the last bracket is read.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return msPerTick * [11, 12, 13, 14].reduce((sum, field) => sum + Number(fields[field]), 0)
  })
}

/** Resident memory in MiB. Memory that several processes share is counted for each of them. */
export function rssMb(pid: number): number {
  return sumOver(pid, (one) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${one}/status`, 'latin1'))?.[1] ?? 0) / 1024)
}

/** Processes that end while they are counted add nothing. */
function sumOver(pid: number, of: (pid: number) => number): number {
  return treeOf(pid).reduce((sum, one) => sum + (ifThere(() => of(one)) ?? 0), 0)
}

function treeOf(pid: number): number[] {
  const tasks = ifThere(() => readdirSync(`/proc/${pid}/task`)) ?? []
  const children = tasks.flatMap((task) => ifThere(() => readFileSync(`/proc/${pid}/task/${task}/children`, 'latin1'))?.match(/\d+/g) ?? [])
  return [pid, ...children.flatMap((child) => treeOf(Number(child)))]
}

function ifThere<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}
