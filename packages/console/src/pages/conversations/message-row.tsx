/** One message: a user's text as it was sent, a reply as Markdown, with what it cost and what was thought of it. */
import { useTurn } from '../../api/turns.ts'
import { Anchor, Button, Group, Text } from '@mantine/core'
import { IconListTree } from '@tabler/icons-react'
import { memo } from 'react'
import { Link } from 'wouter'
import type { Message } from '../../api/types.ts'
import { Citations } from '../../show/citations.tsx'
import { RatingBadge, TagList } from '../../show/feedback.tsx'
import { Markdown } from '../../show/markdown.tsx'
import { writeCount, writeMs } from '../../show/measures.ts'
import { Money } from '../../show/money.tsx'
import { endOfReply, ReplyEndBadge } from '../../show/state-badge.tsx'
import style from './chat.module.css'
import { ClockTime } from './clock-time.tsx'
import { Folds } from './folds.tsx'
import type { Fold } from './folds.tsx'
import { ToolCalls } from './tool-calls.tsx'

type MessageRowProps = {
  message: Message
  tookMs: number | null
  agentId: string | undefined
  isOpen: boolean
  onOpen: (requestId: string) => void
}

/** Memoized by message, so that scrolling renders only rows that become visible. */
export const MessageRow = memo(function MessageRow({ message, tookMs, agentId, isOpen, onOpen }: MessageRowProps) {
  if (message.role === 'user') return <UserText text={message.content} at={message.created_at} />
  return (
    <div className={style['reply']} {...(isOpen ? { 'data-open': true } : {})}>
      <Markdown text={message.content} />
      {endOfReply(message.turn) ? (
        <Group mt={6}>
          <ReplyEndBadge of={message.turn} />
        </Group>
      ) : null}
      <ReplyFoot message={message} tookMs={tookMs} agentId={agentId} isOpen={isOpen} onOpen={onOpen} />
      {message.turn.rating === null ? null : <FeedbackLine requestId={message.request_id} rating={message.turn.rating} />}
    </div>
  )
})

export const UserText = ({ text, at }: { text: string; at: string }) => (
  <>
    <div className={`${style['user']} as-written`}>{text}</div>
    <Group justify="flex-end" mt={4}>
      <ClockTime at={at} />
    </Group>
  </>
)

function ReplyFoot({ message, tookMs, agentId, isOpen, onOpen }: MessageRowProps) {
  const { citations, tool_calls: calls, request_id: requestId, turn } = message
  const folds: Fold[] = [
    ...(citations.length > 0
      ? [{ name: 'citations', label: counted(citations.length, 'passage'), content: <Citations citations={citations} /> }]
      : []),
    ...(calls.length > 0 ? [{ name: 'calls', label: counted(calls.length, 'tool call'), content: <ToolCalls calls={calls} /> }] : []),
  ]
  return (
    <Folds
      of={message.id}
      folds={folds}
      before={
        <Text size="xs" span c="dimmed" className="as-written">
          <ClockTime at={message.created_at} />
          {turn.usage ? (
            <>
              {' · '}
              <Money amount={turn.usage.charged_usd} />
            </>
          ) : null}
          {tookMs === null ? '' : ` · ${writeMs(tookMs)}`}
          {turn.usage
            ? ` · ${writeCount(turn.usage.prompt_tokens)} tokens in, ${writeCount(turn.usage.completion_tokens)} out${turn.usage.estimated ? ' (estimated)' : ''}`
            : ''}
          {' · '}
          {agentId === undefined ? (
            `version ${turn.agent_version}`
          ) : (
            <Anchor component={Link} href={`/agents/${agentId}/versions`} inherit c="dimmed" underline="always">
              version {turn.agent_version}
            </Anchor>
          )}
        </Text>
      }
    >
      <TraceButton requestId={requestId} isOpen={isOpen} onOpen={onOpen} />
    </Folds>
  )
}

type TraceButtonProps = { requestId: string; isOpen: boolean; onOpen: (requestId: string) => void }

export const TraceButton = ({ requestId, isOpen, onOpen }: TraceButtonProps) => (
  <Button
    size="compact-xs"
    variant={isOpen ? 'light' : 'default'}
    aria-expanded={isOpen}
    leftSection={<IconListTree size={13} stroke={1.8} aria-hidden="true" />}
    onClick={() => onOpen(requestId)}
  >
    Trace
  </Button>
)

/** The comment and the tags are loaded with the row, so only for rows in view. */
function FeedbackLine({ requestId, rating }: { requestId: string; rating: 'up' | 'down' }) {
  const feedback = useTurn(requestId).data?.feedback
  return (
    <Group gap="xs" mt={8} role="group" aria-label="Feedback">
      <RatingBadge rating={rating} />
      {feedback ? <TagList tags={feedback.tags} /> : null}
      {feedback?.comment ? (
        <Text size="sm" className={`${style['comment']} as-written`}>
          {feedback.comment}
        </Text>
      ) : null}
    </Group>
  )
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`
