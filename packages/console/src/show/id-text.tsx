/** An ID in small monospace, with a copy button. */
import { ActionIcon, Group, Text, Tooltip } from '@mantine/core'
import { CheckIcon, CopyIcon } from './icons.tsx'
import { useCopy } from './use-copy.ts'

const shown = { copied: 'Copied', refused: 'Select the ID and press Ctrl+C' }

export function IdText({ id }: { id: string }) {
  const { reported, copy } = useCopy()
  const label = `Copy ID ${id}`
  return (
    <Group gap={4} wrap="nowrap" component="span" display="inline-flex" maw="100%" pos="relative">
      <Text span size="xs" ff="monospace" className="id-text">
        {id}
      </Text>
      <Tooltip label={reported ? shown[reported] : label} opened={reported === null ? undefined : true}>
        <ActionIcon variant="subtle" color="gray" size="sm" aria-label={label} onClick={() => copy(id)}>
          {reported === 'copied' ? <CheckIcon /> : <CopyIcon />}
        </ActionIcon>
      </Tooltip>
      <span aria-live="polite" className="for-readers-only">
        {reported ? shown[reported] : ''}
      </span>
    </Group>
  )
}
