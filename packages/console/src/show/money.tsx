/** An amount as people read it. The hint and the text for screen readers have all 8 places. */
import { Text, Tooltip } from '@mantine/core'
import type { TextProps } from '@mantine/core'
import { isNegative, shortMoney } from './short-money.ts'

export { shortMoney }

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
