/** A titled part of a page on its own surface. `aside` is beside the title. */
import './panel.css'
import { Box, Group, Text, Title } from '@mantine/core'
import { useId } from 'react'
import type { ReactNode } from 'react'

type PanelProps = { title: string; note?: ReactNode; aside?: ReactNode; children: ReactNode }

export function Panel({ title, note, aside, children }: PanelProps) {
  const titleId = useId()
  return (
    <Box component="section" className="panel" aria-labelledby={titleId}>
      <Group justify="space-between" gap="xs" className="panel-head">
        <Group gap="xs" align="baseline">
          <Title order={2} size="h4" id={titleId}>
            {title}
          </Title>
          {note ? (
            <Text span size="xs" c="dimmed">
              {note}
            </Text>
          ) : null}
        </Group>
        {aside}
      </Group>
      {children}
    </Box>
  )
}
