/** A command or text with a copy button. */
import { Box, Code, Group } from '@mantine/core'
import { CopyButton } from './copy-button.tsx'

export function CodeBlock({ text, label }: { text: string; label: string }) {
  return (
    <Box>
      <Group justify="flex-end" mb={4}>
        <CopyButton text={text} label={`Copy ${label}`} />
      </Group>
      <Code block tabIndex={0} role="region" aria-label={label}>
        {text}
      </Code>
    </Box>
  )
}
