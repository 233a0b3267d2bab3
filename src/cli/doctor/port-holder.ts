/** Finds the local process that listens on a port, from /proc on Linux. Returns undefined on other systems or without permission. */
import { readFileSync, readdirSync, readlinkSync } from 'node:fs'

export function findPortHolder(port: number): { pid: number; program: string } | undefined {
  try {
    const sockets = new Set(['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) => socketsOf(file, port)))
    if (sockets.size === 0) return undefined
    const pid = readdirSync('/proc').find((name) => /^\d+$/.test(name) && holds(name, sockets))
    return pid === undefined ? undefined : { pid: Number(pid), program: readFileSync(`/proc/${pid}/comm`, 'utf8').trim() }
  } catch {
    // Not Linux, or the process ended during the search.
    return undefined
  }
}

// https://www.kernel.org/doc/html/latest/networking/proc_net_tcp.html: the second field is the local address, the fourth the state, the
// tenth the inode.
const listening = '0A'

function socketsOf(file: string, port: number): string[] {
  const end = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(end) && state === listening)
    .map((fields) => `socket:[${fields[9]}]`)
}

function holds(pid: string, sockets: Set<string>): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => sockets.has(linkOf(`/proc/${pid}/fd/${fd}`)))
  } catch {
    return false
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    // The file was closed in the meantime.
    return ''
  }
}
