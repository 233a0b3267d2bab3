/** Progress of long-running commands on stderr: a line that is redrawn on a terminal, otherwise a plain line every few seconds. */

export type Step = { phase: string; part: string; done: number; of: number }

export type Progress = {
  tell(step: Step): void
  /** Clears the redrawn line. */
  end(): void
}

export type Screen = { isTTY?: boolean; columns?: number; write(text: string): unknown }

// Fast enough to look live, slow enough to cost nothing.
const redrawMs = 100
// Without a terminal, the lines usually end up in a log.
const lineMs = 5_000
const barWidth = 24

/**
 * @param unit what is counted, such as rows; undefined if only a percentage is known
 * @param now a monotonic clock in milliseconds
 */
export function showProgress(unit: string | undefined, screen: Screen, now: () => number = () => performance.now()): Progress {
  let shownAt = -Infinity
  let phase: { name: string; at: number; startedWith: number } | undefined

  function lineOf({ phase: name, part, done, of }: Step, at: number): string {
    const share = of === 0 ? 1 : Math.min(1, done / of)
    const filled = Math.round(share * barWidth)
    const bar = screen.isTTY ? `${'█'.repeat(filled)}${'░'.repeat(barWidth - filled)} ` : ''
    const head = `${name} ${bar}${String(Math.floor(share * 100)).padStart(3)} %`
    if (unit === undefined) return `${head}  ${part}`
    const seconds = (at - phase!.at) / 1000
    const rate = seconds >= 1 ? `, ${count((done - phase!.startedWith) / seconds)} ${unit}/s` : ''
    return `${head}  ${count(done)} of ${count(of)} ${unit}${rate}  ${part}`
  }

  return {
    tell(step) {
      const at = now()
      const isNewPhase = phase?.name !== step.phase
      if (isNewPhase) phase = { name: step.phase, at, startedWith: step.done }
      if (!isNewPhase && at - shownAt < (screen.isTTY ? redrawMs : lineMs)) return
      shownAt = at
      const line = lineOf(step, at)
      screen.write(screen.isTTY ? `\r${line.slice(0, (screen.columns || 80) - 1)}\u001b[K` : `${line}\n`)
    },
    end() {
      if (screen.isTTY && phase) screen.write('\r\u001b[K')
    },
  }
}

const count = (value: number): string => Math.floor(value).toLocaleString('en-US')
