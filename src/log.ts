/**
 * The operator's log: one JSON object a line on stderr, so that stdout keeps the few lines a person reads. Never holds message text,
 * keys or tokens: who logs passes ids and causes, and the names below are blacked out should a header slip in.
 */
import { pino } from 'pino'
import type { DestinationStream, Logger, LevelWithSilent } from 'pino'

/** Written at once, so that a process that dies has said why. `destination` is stderr unless a test wants the lines. */
export function createLog(level: LevelWithSilent, destination: DestinationStream = pino.destination({ dest: 2, sync: true })): Logger {
  return pino(
    {
      level,
      base: undefined,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: ['authorization', 'headers.authorization', 'req.headers.authorization', 'apiKey', 'adminToken'],
    },
    destination,
  )
}
