/**
 * What the log contains of an unexpected error (`log.cause-kind`): its type, message, code and stack, and those of its causes. All other
 * fields are left out, because drivers and provider packages put what they worked on there: PostgreSQL's `detail` has the values of a row,
 * the error of a call has its request and response.
 */

// Codes and names that libraries choose. None contains data.
const safeFields = ['code', 'constraint', 'table', 'column', 'routine', 'severity', 'syscall', 'statusCode']

// An error of a store or a socket has one or two causes.
const deepest = 4

export function loggableError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return { type: typeof error }
  const fields = new Map(Object.entries(error))
  const message = messageOf(error, fields.get('ownMessage'))
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  const cause = error.cause === undefined || depth === deepest ? {} : { cause: loggableError(error.cause, depth + 1) }
  const safe = safeFields.flatMap((name) => (['string', 'number'].includes(typeof fields.get(name)) ? [[name, fields.get(name)]] : []))
  const type = typeOf(error)
  return { type, message, ...Object.fromEntries(safe), stack: [`${type}: ${message}`, ...frames].join('\n'), ...cause }
}

/** Returns the class name, even if the class does not set `name`. */
const typeOf = ({ name, constructor }: Error): string => (name === 'Error' ? constructor.name : name)

/** A parser quotes its input in the message of a SyntaxError. */
function messageOf(error: Error, ownMessage: unknown): string {
  if (typeof ownMessage === 'string') return ownMessage
  return error instanceof SyntaxError ? 'invalid syntax' : error.message
}
