/** How end users rated the newest replies, with the newest comments. */
import { Anchor, Group, Stack, Text } from '@mantine/core'
import { Link } from 'wouter'
import { segment } from '../../../api/client.ts'
import { maxPage, useList } from '../../../api/lists.ts'
import type { Feedback } from '../../../api/types.ts'
import { RatingBadge } from '../../../show/feedback.tsx'
import { Figure, Figures } from '../../../show/figure.tsx'
import { writeCount } from '../../../show/measures.ts'
import { Moment } from '../../../show/moment.tsx'
import { Waiting } from '../../../show/waiting.tsx'

const maxComments = 3

export function FeedbackCounts({ agentId }: { agentId: string }) {
  const list = useList<Feedback>(['feedback', 'recent'], '/feedback', { agent_id: agentId }, { limit: maxPage })
  return (
    <Waiting for={list.query} what="feedback">
      {() =>
        list.items.length === 0 ? (
          <Text size="sm" c="dimmed">
            No feedback yet. Your program sends what its users think of a reply.
          </Text>
        ) : (
          <Counted feedback={list.items} isPart={list.more} />
        )
      }
    </Waiting>
  )
}

function Counted({ feedback, isPart }: { feedback: Feedback[]; isPart: boolean }) {
  const count = (wanted: Feedback['rating']): string => writeCount(feedback.filter(({ rating }) => rating === wanted).length)
  const note = isPart ? `of the last ${feedback.length}` : `of ${writeCount(feedback.length)}`
  return (
    <Stack gap="sm">
      <Figures>
        <Figure label="Thumbs up" note={note}>
          {count('up')}
        </Figure>
        <Figure label="Thumbs down" note={note}>
          {count('down')}
        </Figure>
      </Figures>
      {feedback
        .filter(({ comment }) => comment !== null)
        .slice(0, maxComments)
        .map(({ request_id: requestId, rating, comment, updated_at: at }) => (
          <Group key={requestId} gap="xs" wrap="nowrap" align="flex-start">
            <RatingBadge rating={rating} />
            <Text size="sm" className="as-written" lineClamp={2} flex={1}>
              {comment}
            </Text>
            <Text size="xs" c="dimmed" component="div">
              <Moment at={at} />
            </Text>
            <Anchor component={Link} href={`/turns/${segment(requestId)}`} size="xs" aria-label={`Open trace of request ${requestId}`}>
              Trace
            </Anchor>
          </Group>
        ))}
    </Stack>
  )
}
