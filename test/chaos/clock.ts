/**
 * Moves the wall clock of some servers of a run while they run: libfaketime is preloaded into the process, and a file contains the offset.
 * The monotonic clock stays real, and so does the clock of the machine.
 */
import { globSync, renameSync, writeFileSync } from 'node:fs'

export type Clock = {
  /** The environment with which a process uses it. */
  env: Record<string, string>
  set(offsetSeconds: number): void
}

const supervisedServers = [
  '/usr/lib/*/faketime/libfaketimeMT.so.1',
  '/usr/lib/faketime/libfaketimeMT.so.1',
  '/usr/local/lib/faketime/libfaketimeMT.so.1',
]
const library = (): string | undefined => globSync(supervisedServers)[0]

/** Why it is not possible here, or false. */
export const noClock = (): string | false => library() === undefined && 'moving a clock needs libfaketime (apt-get install faketime)'

export function makeClock(file: string): Clock {
  const set = (offsetSeconds: number): void => {
    // Never half a file for a process that reads it at this moment.
    writeFileSync(`${file}.new`, `${offsetSeconds < 0 ? '' : '+'}${offsetSeconds}\n`)
    renameSync(`${file}.new`, file)
  }
  set(0)
  const env = {
    LD_PRELOAD: library() ?? '',
    FAKETIME_TIMESTAMP_FILE: file,
    // Seconds for which the file is not read again.
    FAKETIME_CACHE_DURATION: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    DONT_FAKE_MONOTONIC: '1',
    NO_FAKE_STAT: '1',
  }
  return { env, set }
}
