/**
 * The frame of every page: its heading, its actions, and one sentence that explains the heading. After a navigation the heading has the
 * focus.
 */
import { Box, Group, Stack, Text, Title } from '@mantine/core'
import { createContext, useContext, useEffect, useRef } from 'react'
import type { ReactNode } from 'react'

/** Receives the heading of each new page, to focus it. */
export const Arrival = createContext<((heading: HTMLElement) => void) | null>(null)

export function Page({ title, lead, actions, children }: { title: string; lead?: ReactNode; actions?: ReactNode; children: ReactNode }) {
  const heading = useRef<HTMLHeadingElement>(null)
  const arrive = useContext(Arrival)
  useEffect(() => {
    document.title = `${title} · Turnkeep`
  }, [title])
  // Once for each new page, not for changes of its address such as a tab or a filter.
  useEffect(() => {
    if (heading.current) arrive?.(heading.current)
  }, [arrive])
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="flex-start" gap="sm">
        <Box>
          <Title order={1} size="h2" className="as-written" tabIndex={-1} ref={heading}>
            {title}
          </Title>
          {lead ? (
            <Text c="dimmed" size="sm" maw={720} mt={4} component="div">
              {lead}
            </Text>
          ) : null}
        </Box>
        {actions ? <Group gap="xs">{actions}</Group> : null}
      </Group>
      {children}
    </Stack>
  )
}
