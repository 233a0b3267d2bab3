/** One message: a user's text as it was sent, a reply as Markdown, with its turn below it. */
import { Anchor, Box, Group, Paper, Text } from '@mantine/core'
import { memo } from 'react'
import { Link } from 'wouter'
import type { Message } from '../../api/types.ts'
import { Citations } from '../../show/citations.tsx'
import { RatingBadge } from '../../show/feedback.tsx'
import { Markdown } from '../../show/markdown.tsx'
import { writeCount } from '../../show/measures.ts'
import { Moment } from '../../show/moment.tsx'
import { Money } from '../../show/money.tsx'
import { IncompleteBadge } from '../../show/state-badge.tsx'
import { Folds } from './folds.tsx'
import type { Fold } from './folds.tsx'
import { ToolCalls } from './tool-calls.tsx'
import { TurnDetails } from '../../show/turn-details.tsx'
import { TurnTrace } from '../../show/turn-trace.tsx'

type MessageRowProps = { message: Message; user: string; agentId: string | undefined }

/** Memoized by message, so that scrolling renders only rows that become visible. */
export const MessageRow = memo(function MessageRow({ message, user, agentId }: MessageRowProps) {
  const isUser = message.role === 'user'
  return (
    <Box ml={isUser ? { base: 'md', sm: '15%' } : 0}>
      <Group gap="xs" mb={4} justify={isUser ? 'flex-end' : 'flex-start'}>
        <Text size="sm" fw={600} className="as-written">
          {isUser ? user : 'Reply'}
        </Text>
        <Text size="xs" span>
          <Moment at={message.created_at} />
        </Text>
        {!isUser && message.turn.incomplete ? <IncompleteBadge /> : null}
        {!isUser && message.turn.rating !== null ? <RatingBadge rating={message.turn.rating} /> : null}
      </Group>
      {isUser ? (
        <Paper withBorder px="md" py="xs" bg="var(--mantine-color-default-hover)" className="as-written">
          {message.content}
        </Paper>
      ) : (
        <Paper withBorder px="md" py="xs">
          <Markdown text={message.content} />
          <ReplyFoot message={message} agentId={agentId} />
        </Paper>
      )}
    </Box>
  )
})

function ReplyFoot({ message, agentId }: { message: Message; agentId: string | undefined }) {
  const { citations, tool_calls: calls, request_id: requestId, turn } = message
  const folds: Fold[] = [
    ...(citations.length > 0
      ? [{ name: 'citations', label: counted(citations.length, 'passage'), content: <Citations citations={citations} /> }]
      : []),
    ...(calls.length > 0 ? [{ name: 'calls', label: counted(calls.length, 'tool call'), content: <ToolCalls calls={calls} /> }] : []),
    { name: 'turn', label: 'Turn details', content: <TurnDetails requestId={requestId} /> },
    { name: 'trace', label: 'Trace', content: <TurnTrace requestId={requestId} /> },
  ]
  return (
    <Folds of={message.id} folds={folds}>
      <Text size="xs" span className="as-written">
        {turn.usage ? (
          <>
            <Money amount={turn.usage.charged_usd} /> · {writeCount(turn.usage.prompt_tokens)} tokens in,{' '}
            {writeCount(turn.usage.completion_tokens)} out
            {turn.usage.estimated ? ' (estimated)' : ''} ·{' '}
          </>
        ) : null}
        {agentId === undefined ? (
          `version ${turn.agent_version}`
        ) : (
          <Anchor component={Link} href={`/agents/${agentId}/versions`} inherit underline="always">
            version {turn.agent_version}
          </Anchor>
        )}
      </Text>
    </Folds>
  )
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`
