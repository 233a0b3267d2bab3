/** Tells what a failed call to PostgreSQL means: try again, the database is not there now, or a fault of ours. Never decides how often to try. */
import { DatabaseError } from 'pg'
import { StoreUnavailable } from '../store.ts'

/** Our deadline passed, or the connection was lost, while a statement was under way: what became of it is not known. */
export class Unheard extends Error {}

/** A connection to a standby, or to a server set to take no writes: another one may lead to the primary. */
export class TakesNoWrites extends Error {}

// SQLSTATE: serialization failure, deadlock. https://www.postgresql.org/docs/15/errcodes-appendix.html
const again = new Set(['40001', '40P01'])
// Classes: connection, authorization, insufficient resources (a full disk), operator intervention (shutdown), system error. And: no such
// database, read-only (a standby answers in the place of the primary), a lock that was waited for too long: another try would be given up in the
// middle of its wait, and might then take effect unheard.
const machineClasses = new Set(['08', '28', '53', '57', '58'])
const machineCodes = new Set(['3D000', '25006', '55000', '55P03'])
// What Node says of a connection, also of one for which this machine has no descriptor or port left, and pg and its pool in words alone.
const networkCodes = /^(ECONN|EPIPE$|ETIMEDOUT$|ENOTFOUND$|EAI_|EHOST|ENET|ENOENT$|EMFILE$|ENFILE$|ENOBUFS$|EADDRNOTAVAIL$|ERR_SSL|CERT_)/
const networkWords =
  /Connection terminated|connection timeout|timeout exceeded|Client has encountered a connection error|not queryable|SSL connections|after calling end on the pool/i

/** Whether the same call may succeed at once, on the same connection. */
export const isWorthAnother = (error: unknown): boolean => error instanceof DatabaseError && again.has(error.code ?? '')

/** Whether the connection is to be thrown away: it is gone, or leads to a server that does not serve. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof Unheard || error instanceof TakesNoWrites) return true
  // Nothing is asked again of what was closed.
  if (!(error instanceof DatabaseError)) return isNetwork(error) && !/after calling end/.test((error as Error).message)
  const code = error.code ?? ''
  return code.startsWith('08') || code.startsWith('57P') || code === '25006'
}

/** Whether somebody else held a row for too long: nothing of the call was stored, and what needs other rows may go on. */
export const isLockTimeout = (error: unknown): boolean =>
  error instanceof StoreUnavailable && error.cause instanceof DatabaseError && error.cause.code === '55P03'

/** StoreUnavailable for what is the machine's, otherwise a fault of ours. What it says is for the log and never holds a statement's values. */
export function asStoreError(thrown: unknown): Error {
  if (!(thrown instanceof Error)) return new Error(String(thrown))
  if (thrown instanceof Unheard || thrown instanceof TakesNoWrites || isNetwork(thrown))
    return new StoreUnavailable(thrown.message, { cause: thrown })
  if (/client password must be a string/.test(thrown.message))
    return new StoreUnavailable('it asks for a password, which may stand in the address, in PGPASSWORD or in ~/.pgpass', { cause: thrown })
  if (!(thrown instanceof DatabaseError)) return thrown
  const code = thrown.code ?? ''
  const isMachine = machineClasses.has(code.slice(0, 2)) || machineCodes.has(code) || again.has(code)
  if (isMachine) return new StoreUnavailable(`${thrown.message} (${code})`, { cause: thrown })
  // The server's own error names the row and its values, and so what a caller wrote; of a text that does not fit even its message does.
  const words = code.startsWith('22') ? 'a value that the database does not take' : thrown.message
  const fault = new Error(
    `${words} (${code}${thrown.constraint ? `, ${thrown.constraint}` : ''}${thrown.routine ? `, ${thrown.routine}` : ''})`,
  )
  if (thrown.stack) fault.stack = `${fault.message}\n${thrown.stack.slice(thrown.stack.indexOf('\n') + 1)}`
  return fault
}

function isNetwork(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  // Several addresses of one name that all failed.
  if (error instanceof AggregateError) return error.errors.some(isNetwork)
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return networkCodes.test(code) || networkWords.test(error.message)
}
