/**
 * The operator's log: one JSON object a line on stderr, so that stdout keeps the few lines a person reads. Never holds message text,
 * keys or tokens: who logs passes ids and causes, and the names below are blacked out should a header slip in.
 */
import { pino } from 'pino'
import type { DestinationStream, Logger, LevelWithSilent } from 'pino'

/**
 * Written at once, so that a process that dies has said why. `destination` is stderr unless a test wants the lines; `worker` stands in every
 * line where there are several.
 */
export function createLog(
  level: LevelWithSilent,
  {
    destination = pino.destination({ dest: 2, sync: true }),
    worker,
  }: { destination?: DestinationStream; worker?: number | undefined } = {},
): Logger {
  return pino(
    {
      level,
      base: worker === undefined ? undefined : { worker },
      timestamp: pino.stdTimeFunctions.isoTime,
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

// One write a line costs 11 µs, and stops the whole process for as long as whoever reads stderr does not; gathered it costs 6 and never waits.
const gatheredBytes = 3072
// POSIX writes up to 4096 bytes to a pipe in one piece (PIPE_BUF), so these lines and those written at once never tear each other apart.
const maxBytesPerWrite = 4096
// What a person who watches the log does not notice, and what a killed process may leave unsaid.
const flushMs = 250
// Some 20,000 lines for a reader that has stopped; beyond it lines are dropped rather than memory filled.
const unwrittenLimitBytes = 8_388_608

/** Stderr for the access log: gathered, written beside the event loop, and flushed when the process exits. */
export function accessLines(): DestinationStream {
  const lines = pino.destination({
    dest: 2,
    sync: false,
    minLength: gatheredBytes,
    maxWrite: maxBytesPerWrite,
    periodicFlush: flushMs,
    maxLength: unwrittenLimitBytes,
  })
  // A log that cannot be written (a full disk) is no reason to refuse turns; the next write tries again.
  lines.on('error', () => undefined)
  return lines
}
