/** One delivery: how its attempts went, and the body that each of them sends. */
import { Alert, Anchor, Button, Drawer, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { call, segment } from '../../api/client.ts'
import { useMay } from '../../api/session.ts'
import type { SentDelivery } from '../../api/types.ts'
import { Allowed } from '../../show/allowed.tsx'
import { CodeBlock } from '../../show/code-block.tsx'
import { FailureNote } from '../../show/failure-note.tsx'
import { Figure, Figures } from '../../show/figure.tsx'
import { IdText } from '../../show/id-text.tsx'
import { Moment } from '../../show/moment.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { DeliveryBadge, useRetry } from './facts.tsx'

export function DeliveryDetails({ webhookId, id, onClose }: { webhookId: string; id: string; onClose: () => void }) {
  const path = `/webhooks/${segment(webhookId)}/deliveries/${segment(id)}`
  const delivery = useQuery({
    queryKey: ['deliveries', webhookId, 'one', id],
    queryFn: ({ signal }) => call<SentDelivery>(path, { signal }),
    refetchInterval: ({ state }) => (state.data?.status === 'pending' ? 2_000 : false),
  })
  const retry = useRetry(webhookId)
  return (
    <Drawer opened onClose={onClose} position="right" size="lg" title="Delivery" closeButtonProps={{ 'aria-label': 'Close' }}>
      <Waiting for={delivery} what="the delivery">
        {(found) => (
          <Stack>
            <Group gap="xs">
              <Text fw={600}>{found.type}</Text>
              <DeliveryBadge delivery={found} />
            </Group>
            <div>
              <Text size="xs" c="dimmed">
                webhook-id of every attempt
              </Text>
              <IdText id={found.id} />
            </div>
            <Figures>
              <Figure label="Attempts">{found.attempts}</Figure>
              <Figure label="Last status" note={found.last_error ?? undefined}>
                {found.last_status ?? '–'}
              </Figure>
              <Figure label={found.next_attempt_at === null ? 'Ended' : 'Next attempt'}>
                <Text span display="block" size="sm" lh={1.45} fw={500}>
                  <Moment at={found.next_attempt_at ?? found.ended_at} />
                </Text>
              </Figure>
            </Figures>
            <Group gap="sm">
              <Allowed permission="webhooks">
                <Button variant="default" size="xs" loading={retry.isPending} onClick={() => retry.mutate(id)}>
                  Send now
                </Button>
              </Allowed>
              <TraceLink body={found.body} />
            </Group>
            <FailureNote error={retry.error} title="Could not retry the delivery" />
            {found.body === null ? (
              <Alert color="gray" variant="light" title="Nothing is sent any more">
                What the event is about was deleted.
              </Alert>
            ) : (
              <CodeBlock text={JSON.stringify(found.body, null, 2)} label="body" />
            )}
          </Stack>
        )}
      </Waiting>
    </Drawer>
  )
}

function TraceLink({ body }: { body: SentDelivery['body'] }) {
  const data = (body as { data?: { request_id?: unknown } } | null)?.data
  const may = useMay('conversations')
  if (!may || typeof data?.request_id !== 'string') return null
  return (
    <Anchor component={Link} href={`/turns/${segment(data.request_id)}`} size="sm" underline="always">
      Open trace
    </Anchor>
  )
}
