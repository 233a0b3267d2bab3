/**
 * The operator's log: one JSON object per line on stderr, so that stdout contains only the lines for people. At no level does it contain
 * message text, keys or tokens: callers log IDs and kinds of causes (cause-kinds.ts), errors are reduced to what is safe, and the names below
 * are redacted in case a header is logged.
 */
import { isatty } from 'node:tty'
import { pino } from 'pino'
import type { DestinationStream, Logger, LevelWithSilent } from 'pino'
import { loggableError } from './loggable-error.ts'

/**
 * Written synchronously, so that a process that dies has logged why. `destination` is stderr except in tests. With several workers, each
 * line contains `worker`.
 */
export function createLog(
  level: LevelWithSilent,
  { destination = toStderr({ sync: true }), worker }: { destination?: DestinationStream; worker?: number | undefined } = {},
): Logger {
  return pino(
    {
      level,
      base: worker === undefined ? undefined : { worker },
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: (error: unknown) => loggableError(error) },
      formatters: { level: (label) => ({ level: label }) },
      redact: [
        'authorization',
        'headers.authorization',
        'req.headers.authorization',
        'cookie',
        'headers.cookie',
        'req.headers.cookie',
        'apiKey',
        'adminToken',
      ],
    },
    destination,
  )
}

// One write per line costs 11 µs and blocks the process while stderr is not read. Collected lines cost 6 µs and never block.
const gatheredBytes = 3072
// POSIX writes up to 4096 bytes to a pipe atomically (PIPE_BUF), so these lines and those written synchronously are never mixed.
const maxBytesPerWrite = 4096
// Short enough for a person who watches the log, and the most that a killed process loses.
const flushMs = 250
// About 20,000 lines for a reader that has stopped. Beyond it, lines are dropped so that memory does not fill up.
const unwrittenLimitBytes = 8_388_608

/** Stderr for the access log: lines are collected, written asynchronously, and flushed when the process exits. */
export const accessLines = (): DestinationStream =>
  toStderr({ sync: false, minLength: gatheredBytes, maxWrite: maxBytesPerWrite, periodicFlush: flushMs })

type StderrOptions = { sync: boolean; minLength?: number; maxWrite?: number; periodicFlush?: number }

/** A log that cannot be written, because the disk is full or the terminal was closed, stops neither turns nor the exit. */
function toStderr(options: StderrOptions): DestinationStream {
  const lines = pino.destination({ dest: 2, maxLength: unwrittenLimitBytes, ...options })
  const wasTerminal = isatty(2)
  let failed = false
  // The next write tries again.
  lines.on('error', () => void (failed = true)).on('write', () => void (failed = false))
  // The flush at the exit would repeat a failed write forever. A terminal that was closed is not one anymore.
  const flushSync = lines.flushSync.bind(lines)
  lines.flushSync = () => {
    if (!failed && isatty(2) === wasTerminal) flushSync()
  }
  return lines
}
