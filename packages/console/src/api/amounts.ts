/** Amounts as integers of 10⁻⁸ USD, for input and for sums: exact, as in the ledger. */

const unitsPerUsd = 100_000_000n
/** The server's own limit, one billion. */
const maxAmount = 1_000_000_000n * unitsPerUsd

export const oneDollar = unitsPerUsd

/** Parses decimal text with at most 8 places and an optional sign. Returns undefined for anything else. */
export function readAmount(text: string): bigint | undefined {
  const match = /^([-+−]?)(\d{1,10})(?:\.(\d{1,8}))?$/u.exec(text.trim())
  if (!match) return undefined
  const [, sign, whole = '0', places = ''] = match
  const amount = BigInt(whole) * unitsPerUsd + BigInt(places.padEnd(8, '0'))
  if (amount > maxAmount) return undefined
  return sign === '-' || sign === '−' ? -amount : amount
}

/** The form in the API: exactly 8 places. */
export function writeAmount(amount: bigint): string {
  const absolute = amount < 0n ? -amount : amount
  const places = (absolute % unitsPerUsd).toString().padStart(8, '0')
  return `${amount < 0n ? '-' : ''}${absolute / unitsPerUsd}.${places}`
}

/** The message for a text that is not an amount. */
export const amountHint = 'Enter an amount in dollars with up to 8 decimal places, such as 10.50.'
