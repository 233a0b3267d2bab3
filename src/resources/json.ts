/** A value of a field in JSON, as the API and the audit log show it. */
import { formatUsd } from '../ledger/ledger.ts'
import type { Kind } from './field.ts'

/** Any JSON that a field can have. */
export type Json = string | number | boolean | null | Json[]

/** `value` is one of this kind, as inside the service. */
export function toJson(kind: Kind, value: unknown): Json {
  switch (kind.of) {
    case 'null':
      return value === null ? null : toJson(kind.or, value)
    case 'time':
      return new Date(value as number).toISOString()
    case 'usd':
      return formatUsd(value as bigint)
    default:
      return value as Json
  }
}
