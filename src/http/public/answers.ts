/** Describes the responses of a route for /openapi.json: the errors of src/errors.ts grouped by status, and the response headers. */
import type { TSchema } from 'typebox'
import { failures } from '../../errors.ts'
import type { FailureCode } from '../../errors.ts'
import { Type } from '../edge/schema.ts'

type Described = { description: string; headers: object; content: object }
type Failures = Record<(typeof failures)[FailureCode]['status'], Described>

/** The request ID in the examples. */
export const exampleId = '0193a6e2-5d4c-7b1a-9f3e-2c8d7a6b5e41'
// `bad_request` is the only code with several statuses: it covers everything that the HTTP parser rejects.
const badRequestStatuses = [400, 408, 417, 431]

export const rateLimitHeaders = {
  'X-RateLimit-Limit': Type.Integer({ description: 'Number of requests allowed per window.' }),
  'X-RateLimit-Remaining': Type.Integer({ description: 'Number of requests left in the current window.' }),
  'X-RateLimit-Reset': Type.Integer({ description: 'Unix time, in seconds, at which the window resets.' }),
}

const retryAfter = { 'Retry-After': Type.Integer({ description: 'Number of seconds to wait before retrying the request.' }) }

export const blockingTurn = {
  Location: Type.String({
    description:
      'The path of the turn that is running, with `idempotency_in_progress` and `conversation_busy`: read, follow or cancel it there. Absent if it has ended in the meantime.',
  }),
}

// RFC 9110, 11.6.1: a 401 response names the authentication scheme.
const challenge = { 'WWW-Authenticate': Type.String({ description: 'The required authentication scheme: `Bearer`.' }) }

export const describeHeaders = () => ({
  'X-Request-ID': Type.String({ format: 'uuid', description: 'The id of the request. Present on every response.' }),
})

/** A response without a body. */
export const describeEmpty = (description: string, headers: object = describeHeaders()) =>
  Type.Unsafe<undefined>(Type.Null({ description, headers }))

/**
 * Describes a stream of server-sent events. Its body is a text, so code generators must not read it as one JSON object. `event` is the schema of
 * each event in it: its name and its data. `examples` are whole streams.
 */
export const describeStream = (event: TSchema, examples: Record<string, { value: string }>, more = '') => ({
  'text/event-stream': {
    // No handler returns it: a stream is written to the socket.
    schema: Type.Unsafe<never>({
      type: 'string',
      contentMediaType: 'text/event-stream',
      contentSchema: event,
      description: `Server-sent events. \`contentSchema\` describes each of them: its name and its data, which is one line of JSON.${more}`,
    }),
    examples,
  },
})

/** The text of a stream with these events. */
export const writeStream = (...events: { event?: string; data: object | string }[]): string =>
  events
    .map(
      ({ event, data }) =>
        `${event === undefined ? '' : `event: ${event}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`,
    )
    .join('')

/** Returns the error responses, by status, of a route that can fail with these codes: only those of their statuses. */
export function describeFailures(...codes: FailureCode[]): Failures {
  const byStatus = new Map<number, FailureCode[]>()
  for (const code of codes) {
    for (const status of code === 'bad_request' ? badRequestStatuses : [failures[code].status]) {
      byStatus.set(status, [...(byStatus.get(status) ?? []), code])
    }
  }
  return Object.fromEntries([...byStatus].map(([status, alike]) => [status, describe(alike)])) as Failures
}

function describe(codes: FailureCode[]): Described {
  const limited = codes.includes('rate_limit_exceeded')
  const returns = limited || codes.includes('spend_limit_exceeded') || codes.some((code) => 'retryAfterSeconds' in failures[code])
  return {
    description: codes.map((code) => `\`${code}\`: ${failures[code].message}`).join('\n\n'),
    headers: {
      ...describeHeaders(),
      ...(limited ? rateLimitHeaders : {}),
      ...(returns ? retryAfter : {}),
      ...(codes.includes('idempotency_in_progress') ? blockingTurn : {}),
      ...(codes.some((code) => failures[code].status === 401) ? challenge : {}),
    },
    content: {
      'application/json': { schema: envelopeOf(codes), examples: Object.fromEntries(codes.map((code) => [code, exampleOf(code)])) },
    },
  }
}

const envelopeOf = (codes: FailureCode[]) =>
  Type.Object({
    error: Type.Object({
      code: Type.Enum(codes, { description: 'Stable, machine-readable error code.' }),
      message: Type.String({ description: 'Human-readable description. The wording may change.' }),
      request_id: Type.String({ format: 'uuid', description: 'Same value as the `X-Request-ID` header.' }),
    }),
  })

const exampleOf = (code: FailureCode) => ({ value: { error: { code, message: failures[code].message, request_id: exampleId } } })
