/** A section of the page with its heading. */
import { Box, Group, Text, Title } from '@mantine/core'
import { useId } from 'react'
import type { ReactNode } from 'react'

type PartProps = { title: string; lead?: ReactNode; actions?: ReactNode; children: ReactNode }

export function Part({ title, lead, actions, children }: PartProps) {
  const titleId = useId()
  return (
    <Box component="section" aria-labelledby={titleId}>
      <Group justify="space-between" align="flex-start" mb="xs">
        <Box>
          <Title order={2} size="h4" id={titleId}>
            {title}
          </Title>
          {lead ? (
            <Text size="sm" c="dimmed" maw={720} component="div">
              {lead}
            </Text>
          ) : null}
        </Box>
        {actions}
      </Group>
      {children}
    </Box>
  )
}
