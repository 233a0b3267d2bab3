/** Copies a text and confirms it. If the browser has no clipboard (plain HTTP on another machine), it says what to do instead. */
import { Button } from '@mantine/core'
import type { ButtonProps } from '@mantine/core'
import { useCopy } from './use-copy.ts'

const shown = { copied: 'Copied', refused: 'Select the text and press Ctrl+C' }

export function CopyButton({ text, label = 'Copy', ...props }: { text: string; label?: string } & ButtonProps) {
  const { reported, copy } = useCopy()
  return (
    <Button size="xs" variant="default" {...props} onClick={() => copy(text)}>
      <span aria-live="polite">{reported ? shown[reported] : label}</span>
    </Button>
  )
}
