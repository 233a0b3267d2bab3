/**
 * The clients that the scenarios run on: one line each. Another client needs another line, and a program that implements the protocol of
 * clients/README.md.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export type Driver = {
  name: string
  /** The program and its arguments. */
  command: [string, ...string[]]
  /** Why it cannot run here; false if it can. */
  missing: string | false
}

const path = (file: string): string => fileURLToPath(new URL(`../../${file}`, import.meta.url))

export const drivers: readonly Driver[] = [
  { name: 'TypeScript', command: [process.execPath, path('packages/client/test/driver.ts')], missing: false },
  { name: 'Python', command: ['python3', path('clients/python/tests/driver.py')], missing: unless('python3') },
]

function unless(program: string): string | false {
  return spawnSync(program, ['--version']).error !== undefined && `needs ${program}: apt-get install ${program}`
}
