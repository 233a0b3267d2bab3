/** What a reader must know of the machine to judge a figure: cores, Node, the time of one flush of its disk. No names and no paths. */
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { availableParallelism, cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { percentile } from './spread.ts'
import { write } from './table.ts'

const flushes = 200

/** One sentence; `folder` is on the disk that the stores use. */
export function describeMachine(folder: string, { rounds, seconds }: { rounds: number; seconds: number }): string {
  const times = flushTimes(folder)
  return [
    `${availableParallelism()} cores (${cpus()[0]?.model.trim() ?? 'unknown'}), Node ${process.versions.node}, ${process.platform} ${process.arch}`,
    `a flush of 4 KiB takes ${write(percentile(times, 0.5))} ms (p99 ${write(percentile(times, 0.99))})`,
    `load of the machine before the run ${write(loadavg()[0]!)}`,
    `${rounds} round${rounds === 1 ? '' : 's'} of ${write(seconds)} s: median (least–most)`,
  ].join('; ')
}

function flushTimes(folder: string): Float64Array {
  const file = openSync(join(folder, 'flush'), 'w')
  const page = Buffer.alloc(4096, 1)
  const times = Float64Array.from({ length: flushes }, () => {
    writeSync(file, page)
    const startedAt = performance.now()
    fsyncSync(file)
    return performance.now() - startedAt
  })
  closeSync(file)
  return times.toSorted()
}
