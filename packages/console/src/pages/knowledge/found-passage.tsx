/** A passage found by a search: its position, its score, and its text with the query's words highlighted. */
import { Badge, Group, Mark, Paper, Text } from '@mantine/core'
import type { Passages } from '../../api/types.ts'
import { highlight } from './highlight.ts'

type FoundPassageProps = {
  passage: Passages['data'][number]
  /** From 1. */
  place: number
  query: string
  /** Whether the agent would receive it. */
  seen: boolean
}

export function FoundPassage({ passage: { title, section, text, score }, place, query, seen }: FoundPassageProps) {
  // The text of a passage does not change, so its pieces keep their positions.
  const pieces = highlight(text, query).map((piece, index) => ({ ...piece, index }))
  return (
    <Paper withBorder p="sm">
      <Group justify="space-between" gap="xs" mb="xs">
        <Text size="sm" fw={600} className="as-written">
          {place}. {section ? `${title} › ${section}` : title}
        </Text>
        <Group gap="xs">
          <Badge color={seen ? 'teal' : 'gray'}>{seen ? 'Sent to the model' : 'Over the limit'}</Badge>
          <Text size="xs" className="figures">
            Score {score.toPrecision(3)}
          </Text>
        </Group>
      </Group>
      <Text size="sm" className="as-written">
        {pieces.map(({ text: piece, marked, index }) => (marked ? <Mark key={index}>{piece}</Mark> : piece))}
      </Text>
    </Paper>
  )
}
