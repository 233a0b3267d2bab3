/** An amount as people read it; all its 8 places stand in the hint, and are what a screen reader says. */
import { Text, Tooltip } from '@mantine/core'
import type { TextProps } from '@mantine/core'

/** `amount` is the decimal text of the API, in US dollars. Nothing is computed with it here but its sign and its places. */
export function Money({ amount, ...props }: { amount: string } & TextProps) {
  const exact = `${amount} USD`
  return (
    <Tooltip label={exact}>
      <Text
        span
        inherit
        className="figures"
        tabIndex={0}
        aria-label={exact}
        {...(isNegative(amount) ? { c: 'var(--mantine-color-error)' } : {})}
        {...props}
      >
        {shortMoney(amount)}
      </Text>
    </Tooltip>
  )
}

const isNegative = (amount: string): boolean => amount.startsWith('-')

/** Two places; below ten cents so many that two digits are seen. Cut, never rounded up: a balance is not shown larger than it is. */
export function shortMoney(amount: string): string {
  const sign = isNegative(amount) ? '−' : ''
  const [whole = '0', decimals = ''] = amount.replace(/^-/, '').split('.')
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',')
  const firstDigit = decimals.search(/[1-9]/)
  const places = whole === '0' && firstDigit >= 1 ? firstDigit + 2 : 2
  return `${sign}$${grouped}.${decimals.padEnd(2, '0').slice(0, places)}`
}
