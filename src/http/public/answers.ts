/** How /openapi.json describes what every route answers with: the failures of the table by status, and the headers. Sections 7 and 8. */
import { failures } from '../../errors.ts'
import type { FailureCode } from '../../errors.ts'
import { Type } from '../edge/schema.ts'

type Described = { description: string; headers: object; content: object }

/** A request id, in examples. */
export const exampleId = '0193a6e2-5d4c-7b1a-9f3e-2c8d7a6b5e41'
// `bad_request` is the only code with several: what the HTTP parser refuses (rulings, Additions to the error table).
const badRequestStatuses = [400, 408, 417, 431]

export const rateLimitHeaders = {
  'X-RateLimit-Limit': Type.Integer({ description: 'Requests allowed per window.' }),
  'X-RateLimit-Remaining': Type.Integer({ description: 'Requests left in the current window.' }),
  'X-RateLimit-Reset': Type.Integer({ description: 'Unix time in seconds when the window resets.' }),
}

const retryAfter = { 'Retry-After': Type.Integer({ description: 'Seconds to wait before the same request is sent again.' }) }

// RFC 9110, 11.6.1.
const challenge = { 'WWW-Authenticate': Type.String({ description: 'The scheme that is asked for: `Bearer`.' }) }

export const describeHeaders = () => ({ 'X-Request-ID': Type.String({ format: 'uuid', description: 'On every response.' }) })

/** The responses of a route that may fail with these codes, by status. */
export function describeFailures(...codes: FailureCode[]): Record<number, Described> {
  const byStatus = new Map<number, FailureCode[]>()
  for (const code of codes) {
    for (const status of code === 'bad_request' ? badRequestStatuses : [failures[code].status]) {
      byStatus.set(status, [...(byStatus.get(status) ?? []), code])
    }
  }
  return Object.fromEntries([...byStatus].map(([status, alike]) => [status, describe(alike)]))
}

function describe(codes: FailureCode[]): Described {
  const limited = codes.includes('rate_limit_exceeded')
  const returns = limited || codes.some((code) => 'retryAfterSeconds' in failures[code])
  return {
    description: codes.map((code) => `\`${code}\`: ${failures[code].message}`).join('\n\n'),
    headers: {
      ...describeHeaders(),
      ...(limited ? rateLimitHeaders : {}),
      ...(returns ? retryAfter : {}),
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
      code: Type.Enum(codes, { description: 'Stable, for programs.' }),
      message: Type.String({ description: 'For people; may change.' }),
      request_id: Type.String({ format: 'uuid', description: 'The same as in `X-Request-ID`.' }),
    }),
  })

const exampleOf = (code: FailureCode) => ({ value: { error: { code, message: failures[code].message, request_id: exampleId } } })
