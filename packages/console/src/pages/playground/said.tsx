/** One text of a conversation: its author, its time, and what belongs to it. */
import { Box, Group, Paper, Text } from '@mantine/core'
import { memo } from 'react'
import type { ReactNode } from 'react'
import { Markdown } from '../../show/markdown.tsx'
import { Moment } from '../../show/moment.tsx'
import { IncompleteBadge } from '../../show/state-badge.tsx'

type SaidProps = { who: string; at: string | null; text: string; markdown?: boolean; incomplete?: boolean; children?: ReactNode }

// Memoized, so that a new piece does not render every other reply again.
const Read = memo(Markdown)

export function Said({ who, at, text, markdown = false, incomplete = false, children }: SaidProps) {
  return (
    <Box component="article" aria-label={`Message from ${who}`}>
      <Group gap="xs" mb={4}>
        <Text size="sm" fw={600} className="as-written">
          {who}
        </Text>
        {at === null ? null : (
          <Text size="xs" component="span">
            <Moment at={at} />
          </Text>
        )}
        {incomplete ? <IncompleteBadge /> : null}
      </Group>
      {text === '' ? null : markdown ? (
        <Read text={text} />
      ) : (
        <Paper withBorder px="sm" py="xs" className="as-written">
          {text}
        </Paper>
      )}
      {children}
    </Box>
  )
}
