/** An empty list that says what belongs there and how to add it. */
import { Box, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'

export function Empty({ title, children, action }: { title: string; children: ReactNode; action?: ReactNode }) {
  return (
    <Stack align="center" gap="xs" py="xl" px="md" className="empty">
      <Title order={2} size="h4" ta="center">
        {title}
      </Title>
      <Text c="dimmed" ta="center" maw={480} component="div">
        {children}
      </Text>
      {action ? <Box mt={4}>{action}</Box> : null}
    </Stack>
  )
}
