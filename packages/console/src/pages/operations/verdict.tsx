/** A result as an icon and a word. The color only repeats it. */
import { Text } from '@mantine/core'

export function Verdict({ good, word }: { good: boolean; word: string }) {
  return (
    <Text span inherit className="figures" {...(good ? {} : { c: 'var(--mantine-color-error)' })}>
      <span aria-hidden="true">{good ? '✓' : '✕'}</span> {word}
    </Text>
  )
}
