/**
 * Classifies a failed call to PostgreSQL: repeat it, the database is unavailable, or an internal error. Does not decide how often to
 * repeat.
 */
import { DatabaseError } from 'pg'
import { StoreUnavailable } from '../store.ts'

/** The client-side deadline passed or the connection was lost while a statement was running: its outcome is not known. */
export class Unheard extends Error {}

/** A connection to a standby, or to a server that is set to read-only. Another one may lead to the primary. */
export class TakesNoWrites extends Error {}

// SQLSTATE: serialization failure, deadlock. https://www.postgresql.org/docs/15/errcodes-appendix.html
const again = new Set(['40001', '40P01'])
// Classes: connection, authorization, insufficient resources (disk full), operator intervention (shutdown), system error. Also: no such
// database, read-only (a standby answers instead of the primary), and a lock that took too long to get: another attempt would be abandoned
// during its wait, and might take effect later.
const machineClasses = new Set(['08', '28', '53', '57', '58'])
const machineCodes = new Set(['3D000', '25006', '55000', '55P03'])
// The errors of Node, including those for a machine without a free descriptor or port, and those of pg and its pool, which have only a
// message.
const networkCodes = /^(ECONN|EPIPE$|ETIMEDOUT$|ENOTFOUND$|EAI_|EHOST|ENET|ENOENT$|EMFILE$|ENFILE$|ENOBUFS$|EADDRNOTAVAIL$|ERR_SSL|CERT_)/
const networkWords =
  /Connection terminated|connection timeout|timeout exceeded|Client has encountered a connection error|not queryable|SSL connections|after calling end on the pool/i

/** Whether the same call may succeed immediately on the same connection. */
export const isWorthAnother = (error: unknown): boolean => error instanceof DatabaseError && again.has(error.code ?? '')

/** Whether to discard the connection: it is closed, or leads to a server that does not serve. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof Unheard || error instanceof TakesNoWrites) return true
  // A closed connection is not used again.
  if (!(error instanceof DatabaseError)) return isNetwork(error) && !/after calling end/.test((error as Error).message)
  const code = error.code ?? ''
  return code.startsWith('08') || code.startsWith('57P') || code === '25006'
}

/** Whether another transaction held a row for too long. Nothing of the call was stored, and items that need other rows may continue. */
export const isLockTimeout = (error: unknown): boolean =>
  error instanceof StoreUnavailable && error.cause instanceof DatabaseError && error.cause.code === '55P03'

/**
 * Returns StoreUnavailable for a failure of the machine, otherwise an internal error. The message is for the log and never contains the
 * values of a statement.
 */
export function asStoreError(thrown: unknown): Error {
  if (!(thrown instanceof Error)) return new Error(String(thrown))
  if (thrown instanceof Unheard || thrown instanceof TakesNoWrites || isNetwork(thrown))
    return new StoreUnavailable(messageOf(thrown), { cause: thrown })
  if (/client password must be a string/.test(thrown.message))
    return new StoreUnavailable('it requires a password: set it in the URL, in PGPASSWORD or in ~/.pgpass', { cause: thrown })
  if (!(thrown instanceof DatabaseError)) return thrown
  const code = thrown.code ?? ''
  const isMachine = machineClasses.has(code.slice(0, 2)) || machineCodes.has(code) || again.has(code)
  if (isMachine) return new StoreUnavailable(`${thrown.message} (${code})`, { cause: thrown })
  // The server's own error names the row and its values, which may be user data. For a text that does not fit, even its message does.
  const words = code.startsWith('22') ? 'a value that the database does not take' : thrown.message
  const fault = new Error(
    `${words} (${code}${thrown.constraint ? `, ${thrown.constraint}` : ''}${thrown.routine ? `, ${thrown.routine}` : ''})`,
  )
  if (thrown.stack) fault.stack = `${fault.message}\n${thrown.stack.slice(thrown.stack.indexOf('\n') + 1)}`
  return fault
}

/** If all addresses of a host name failed, the error itself has no message. */
const messageOf = (error: Error): string =>
  error instanceof AggregateError && error.message === ''
    ? [...new Set(error.errors.map((one: unknown) => (one instanceof Error ? one.message : String(one))))].join(', ')
    : error.message

function isNetwork(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  // Several addresses of one host name that all failed.
  if (error instanceof AggregateError) return error.errors.some(isNetwork)
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return networkCodes.test(code) || networkWords.test(error.message)
}
