/** What an end user thought of a turn: the rating as an icon and a word, and the whole feedback with its comment and tags. */
import { Badge, Group, Stack, Text, Title, Tooltip } from '@mantine/core'
import { IconThumbDown, IconThumbUp } from '@tabler/icons-react'
import type { TurnWithSteps } from '../api/types.ts'
import { Moment } from './moment.tsx'

type Feedback = NonNullable<TurnWithSteps['feedback']>

const ratings = {
  up: { word: 'Up', icon: IconThumbUp, color: 'teal', ink: 'var(--tk-good)' },
  down: { word: 'Down', icon: IconThumbDown, color: 'red', ink: 'var(--tk-bad)' },
} as const

export function RatingBadge({ rating }: { rating: Feedback['rating'] }) {
  const { word, icon: Icon, color } = ratings[rating]
  return (
    <Badge variant="light" color={color} leftSection={<Icon size={12} stroke={2} aria-hidden="true" />}>
      {word}
    </Badge>
  )
}

/** For a row of a list: the icon alone, with a word for screen readers and as a hint. */
export function RatingIcon({ rating }: { rating: Feedback['rating'] }) {
  const { word, icon: Icon, ink } = ratings[rating]
  return (
    <Tooltip label={`Feedback: ${word}`}>
      <span role="img" aria-label={`Feedback: ${word}`} style={{ flex: 'none', color: ink, lineHeight: 0, paddingTop: 2 }}>
        <Icon size={16} stroke={1.8} aria-hidden="true" />
      </span>
    </Tooltip>
  )
}

export function TagList({ tags }: { tags: string[] }) {
  return tags.map((tag) => (
    <Badge
      key={tag}
      variant="outline"
      color="gray"
      radius="sm"
      h="auto"
      miw={0}
      className="as-written"
      styles={{ label: { whiteSpace: 'normal', overflow: 'visible' } }}
    >
      {tag}
    </Badge>
  ))
}

/** Nothing is shown without feedback. */
export function FeedbackOfTurn({ feedback }: { feedback: Feedback | null }) {
  if (feedback === null) return null
  return (
    <Stack gap={4}>
      <Title order={3} size="h5">
        Feedback
      </Title>
      <Group gap="xs">
        <RatingBadge rating={feedback.rating} />
        <TagList tags={feedback.tags} />
        <Text size="xs" span>
          <Moment at={feedback.updated_at} />
        </Text>
      </Group>
      {feedback.comment === null ? null : (
        <Text size="sm" className="as-written">
          {feedback.comment}
        </Text>
      )}
    </Stack>
  )
}
