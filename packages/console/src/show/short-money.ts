/** Amounts as people read them. Pure. */

export const isNegative = (amount: string): boolean => amount.startsWith('-')

/**
 * Two places; below ten cents enough places for two significant digits. Cut, never rounded up, so that a balance is not shown larger than
 * it is.
 */
export function shortMoney(amount: string): string {
  const sign = isNegative(amount) ? '−' : ''
  const [whole = '0', decimals = ''] = amount.replace(/^-/, '').split('.')
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',')
  const firstDigit = decimals.search(/[1-9]/)
  const places = whole === '0' && firstDigit >= 1 ? firstDigit + 2 : 2
  return `${sign}$${grouped}.${decimals.padEnd(2, '0').slice(0, places)}`
}
