/**
 * Reads the columns of a row in the same way on every backend: integers may be bigint, number or digits. Throws if a column has another
 * type.
 */
import type { Row } from '../sql.ts'

export function text(row: Row, column: string): string {
  const value = row[column]
  if (typeof value !== 'string') throw unexpected(column, value)
  return value
}

export function textOrNull(row: Row, column: string): string | null {
  return row[column] === null ? null : text(row, column)
}

/** An integer that may exceed 2⁵³: amounts. */
export function bigInteger(row: Row, column: string): bigint {
  const value = row[column]
  if (typeof value !== 'bigint' && typeof value !== 'number' && typeof value !== 'string') throw unexpected(column, value)
  return BigInt(value)
}

export function integer(row: Row, column: string): number {
  return Number(bigInteger(row, column))
}

export function integerOrNull(row: Row, column: string): number | null {
  return row[column] === null ? null : integer(row, column)
}

export function bytes(row: Row, column: string): Uint8Array {
  const value = row[column]
  if (!(value instanceof Uint8Array)) throw unexpected(column, value)
  return value
}

const unexpected = (column: string, value: unknown): Error =>
  new Error(`column ${column} holds a ${value === null ? 'null' : typeof value}`)
