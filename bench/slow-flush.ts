/** Compiles slow-flush.c with the machine's own compiler, to simulate a slower disk. Nothing is installed. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Preload } from './turnkeep-server.ts'

const source = fileURLToPath(new URL('slow-flush.c', import.meta.url))

export function noCompiler(): string | false {
  if (process.platform !== 'linux') return 'a flush is slowed by LD_PRELOAD, which Linux has'
  try {
    execFileSync('cc', ['--version'], { stdio: 'ignore' })
    return false
  } catch {
    return 'no C compiler here; install one as cc (apt-get install gcc)'
  }
}

/** Once per run, into `folder`. */
export function compileSlowFlush(folder: string): (milliseconds: number) => Preload {
  const library = join(folder, 'slow-flush.so')
  execFileSync('cc', ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl'])
  return (milliseconds) => ({ library, environment: { SLOW_US: String(milliseconds * 1000) } })
}
