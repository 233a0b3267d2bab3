/** Amounts as integers of 10⁻⁸ USD, for what a person writes and for sums: exact, as the ledger is. */

const unitsPerUsd = 100_000_000n
/** The server's own bound, a billion. */
const maxAmount = 1_000_000_000n * unitsPerUsd

export const oneDollar = unitsPerUsd

/** Decimal text with at most 8 places, and a sign or none; undefined when it is anything else. */
export function readAmount(text: string): bigint | undefined {
  const match = /^([-+−]?)(\d{1,10})(?:\.(\d{1,8}))?$/u.exec(text.trim())
  if (!match) return undefined
  const [, sign, whole = '0', places = ''] = match
  const amount = BigInt(whole) * unitsPerUsd + BigInt(places.padEnd(8, '0'))
  if (amount > maxAmount) return undefined
  return sign === '-' || sign === '−' ? -amount : amount
}

/** The wire's form: exactly 8 places. */
export function writeAmount(amount: bigint): string {
  const absolute = amount < 0n ? -amount : amount
  const places = (absolute % unitsPerUsd).toString().padStart(8, '0')
  return `${amount < 0n ? '-' : ''}${absolute / unitsPerUsd}.${places}`
}

/** What to say of a text that is no amount. */
export const amountHint = 'Enter an amount in dollars with up to 8 decimal places, such as 10.50.'
