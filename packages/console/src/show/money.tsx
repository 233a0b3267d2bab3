/** An amount as people read it. The hint and the text for screen readers have all 8 places. */
import { Text, Tooltip } from '@mantine/core'
import type { TextProps } from '@mantine/core'

/** `amount` is the decimal text of the API in US dollars. Only its sign and places are handled here. */
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
