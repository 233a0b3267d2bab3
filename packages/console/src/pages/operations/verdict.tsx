/** Good or not, by a mark and a word; the colour only repeats it. */
import { Text } from '@mantine/core'

export function Verdict({ good, word }: { good: boolean; word: string }) {
  return (
    <Text span inherit className="figures" {...(good ? {} : { c: 'var(--mantine-color-error)' })}>
      <span aria-hidden="true">{good ? '✓' : '✕'}</span> {word}
    </Text>
  )
}
