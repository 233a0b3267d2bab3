/** An ID in small monospace, with a copy button. */
import { ActionIcon, Group, Text, Tooltip } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'
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
          {reported === 'copied' ? <IconCheck size={14} aria-hidden="true" /> : <IconCopy size={14} aria-hidden="true" />}
        </ActionIcon>
      </Tooltip>
      <span aria-live="polite" className="for-readers-only">
        {reported ? shown[reported] : ''}
      </span>
    </Group>
  )
}
