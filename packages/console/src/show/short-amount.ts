/** An amount of the API without trailing zeros, with at least two places. Pure. */
export function shortAmount(amount: string): string {
  const [whole = '', places = ''] = amount.split('.')
  return whole === '' ? amount : `${whole}.${places.replace(/0+$/, '').padEnd(2, '0')}`
}
