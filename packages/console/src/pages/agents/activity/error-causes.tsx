/** Why runs of turns ended without a reply, the most frequent cause first. */
import { Anchor, Group, Paper, Progress, Stack, Text, Title } from '@mantine/core'
import { Link } from 'wouter'
import type { Usage } from '../../../api/types.ts'
import { causesOf } from '../../../show/error-figure.tsx'
import { writeCount } from '../../../show/measures.ts'

export function ErrorCauses({ byCause, id }: { byCause: Usage['totals']['errors_by_cause']; id: string }) {
  const causes = causesOf(byCause)
  const most = causes[0]?.[1] ?? 0
  return (
    <Paper withBorder p="md" component="section" aria-label="Errors by cause" miw={0}>
      <Stack gap="sm">
        <Group justify="space-between" align="baseline">
          <Title order={3} size="h5">
            Errors by cause
          </Title>
          {causes.length > 0 ? (
            <Group gap="sm">
              <Anchor component={Link} href={`/turns?agent_id=${id}&status=failed`} size="xs">
                Failed turns
              </Anchor>
              <Anchor component={Link} href={`/turns?agent_id=${id}&status=released`} size="xs">
                Released turns
              </Anchor>
            </Group>
          ) : null}
        </Group>
        {causes.length === 0 ? (
          <Text size="sm" c="dimmed" py="lg">
            No errors. Every run ended with a reply or was cancelled.
          </Text>
        ) : (
          causes.map(([cause, count]) => (
            <div key={cause}>
              <Group justify="space-between" gap="xs">
                <Text size="sm">{cause.replaceAll('_', ' ')}</Text>
                <Text size="sm" className="figures">
                  {writeCount(count)}
                </Text>
              </Group>
              <Progress value={(100 * count) / most} color="red" size="sm" aria-hidden="true" />
            </div>
          ))
        )}
      </Stack>
    </Paper>
  )
}
