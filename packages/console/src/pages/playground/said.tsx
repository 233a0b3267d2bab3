/** One text of a conversation: a message of the end user, or a reply with what belongs to it. */
import { Box, Group, Text } from '@mantine/core'
import { memo } from 'react'
import type { ReactNode } from 'react'
import { Markdown } from '../../show/markdown.tsx'
import { Moment } from '../../show/moment.tsx'
import { ReplyEndBadge } from '../../show/state-badge.tsx'
import type { ReplyEnd } from '../../show/state-badge.tsx'
import classes from './playground.module.css'

type SaidProps = { who: string; at: string | null; text: string; end?: ReplyEnd | undefined; badge?: ReactNode; children?: ReactNode }

// Memoized, so that a new piece does not render every other reply again.
const Read = memo(Markdown)

export const Asked = ({ who, text }: { who: string; text: string }) => (
  <article aria-label={`Message from ${who}`} className={`${classes['own']} as-written`}>
    {text}
  </article>
)

export const Said = ({ who, at, text, end, badge, children }: SaidProps) => (
  <Box component="article" aria-label={`Message from ${who}`} miw={0}>
    <Group gap="xs" mb={4}>
      <Text size="sm" fw={600} className="as-written">
        {who}
      </Text>
      {at === null ? null : (
        <Text size="xs" component="span" c="dimmed">
          <Moment at={at} />
        </Text>
      )}
      {badge}
      {end ? <ReplyEndBadge of={end} /> : null}
    </Group>
    {text === '' ? null : <Read text={text} />}
    {children}
  </Box>
)
