/** What an external user thought of a turn: the rating as an icon and a word, and the whole feedback with its comment and tags. */
import { Badge, Group, Stack, Text, Title } from '@mantine/core'
import type { TurnWithSteps } from '../api/types.ts'
import { Moment } from './moment.tsx'

type Feedback = NonNullable<TurnWithSteps['feedback']>

const ratings = { up: { word: 'Up', mark: '▲', color: 'teal' }, down: { word: 'Down', mark: '▼', color: 'red' } } as const

export function RatingBadge({ rating }: { rating: Feedback['rating'] }) {
  const { word, mark, color } = ratings[rating]
  return (
    <Badge variant="light" color={color} leftSection={<span aria-hidden="true">{mark}</span>}>
      {word}
    </Badge>
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
