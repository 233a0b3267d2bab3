/**
 * Reads the columns of a row in the same way on every backend: integers may be bigint, number or digits. Throws if a column has another
 * type.
 */
import type { ReplyFinishReason } from '../../finish-reason.ts'
import type { Amount, Price } from '../../ledger/ledger.ts'
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

function bigIntegerOrNull(row: Row, column: string): bigint | null {
  return row[column] === null ? null : bigInteger(row, column)
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

/** The price of a version or a turn. */
export const readPrice = (row: Row): Price => ({
  promptPerMillion: bigInteger(row, 'prompt_price'),
  completionPerMillion: bigInteger(row, 'completion_price'),
  cachedPromptPerMillion: bigIntegerOrNull(row, 'cached_prompt_price'),
  cacheWritePerMillion: bigIntegerOrNull(row, 'cache_write_price'),
})

/** What a turn used besides its totals. `toolCalls`: the price of its finished tool calls. */
export type UsageDetails = { cachedPromptTokens: number; cacheWriteTokens: number; reasoningTokens: number; toolCalls: Amount }

/** A cancelled turn stores no tokens. */
export const readDetails = (row: Row): UsageDetails => ({
  cachedPromptTokens: integerOrNull(row, 'cached_prompt_tokens') ?? 0,
  cacheWriteTokens: integerOrNull(row, 'cache_write_tokens') ?? 0,
  reasoningTokens: integerOrNull(row, 'reasoning_tokens') ?? 0,
  toolCalls: bigInteger(row, 'tool_calls'),
})

/** `turn.finish-reason`: as the settlement wrote it. */
export const readFinishReason = (row: Row): ReplyFinishReason | null => textOrNull(row, 'finish_reason') as ReplyFinishReason | null

const unexpected = (column: string, value: unknown): Error =>
  new Error(`column ${column} holds a ${value === null ? 'null' : typeof value}`)

/** The parameters of a list of values, from `$first` on. */
export const listOf = (values: unknown[], first: number): string => values.map((_, index) => `$${first + index}`).join(', ')

/** Finds what a row says by the value of its column `digest`. */
export function byDigest<Value>(rows: Row[], read: (row: Row) => Value): (digest: Uint8Array) => Value | undefined {
  const keyOf = (digest: unknown): string => Buffer.from(digest as Uint8Array).toString('base64')
  const found = new Map(rows.map((row) => [keyOf(row['digest']), read(row)]))
  return (digest) => found.get(keyOf(digest))
}
