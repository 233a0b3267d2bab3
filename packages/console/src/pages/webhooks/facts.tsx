/** What the list and the page of a webhook show of it: its events, its state, and whether its endpoint answers. */
import { Badge, Group, Skeleton, Text, Tooltip } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { call, segment } from '../../api/client.ts'
import type { Delivery, Page, Webhook } from '../../api/types.ts'
import { Moment } from '../../show/moment.tsx'

export const eventMeanings: Record<string, string> = {
  'turn.completed': 'A turn has its reply',
  'turn.failed': 'A turn ended without a reply',
  'turn.released': 'A run ended without a reply; a retry runs the turn again',
  'turn.cancelled': 'A turn was cancelled before it had text',
  'feedback.created': 'A turn has its first feedback',
  'balance.low': 'An owner’s balance fell below its threshold',
  'balance.exhausted': 'An owner’s balance does not cover another turn',
  'spend_limit.reached': '50, 80, or 100 percent of a limit are used',
  'document.ready': 'A document is indexed',
  'document.failed': 'A document could not be indexed',
}

export const writeEvents = (events: string[]): string => (events.includes('*') ? 'All events' : events.join(', '))

export const EnabledState = ({ webhook: { enabled, disabled_reason: reason } }: { webhook: Webhook }) => {
  const badge = (
    <Badge variant="outline" color={enabled ? 'teal' : reason ? 'red' : 'gray'}>
      {enabled ? 'Enabled' : 'Disabled'}
    </Badge>
  )
  return reason ? <Tooltip label={reason}>{badge}</Tooltip> : badge
}

// As many as say whether the endpoint answers now.
const looksAt = 10

/** The newest deliveries that were attempted: the last one that failed, and the last one that did not. */
function useHealth(id: string) {
  return useQuery({
    queryKey: ['deliveries', id, 'health'],
    queryFn: async ({ signal }) =>
      healthOf((await call<Page<Delivery>>(`/webhooks/${segment(id)}/deliveries`, { query: { limit: looksAt }, signal })).data),
    refetchInterval: 10_000,
  })
}

type Health = { kind: 'unused' } | { kind: 'working'; at: string } | { kind: 'failing'; error: string; count: number; at: string }

/** Newest first. A delivery that is attempted again, or has failed for good, shows how its endpoint answers. */
function healthOf(deliveries: Delivery[]): Health {
  const attempted = deliveries.filter(({ attempts }) => attempts > 0)
  const [newest] = attempted
  if (newest === undefined) return { kind: 'unused' }
  if (newest.status === 'delivered') return { kind: 'working', at: newest.ended_at ?? newest.created_at }
  const failing = attempted.filter(({ status }) => status !== 'delivered')
  return { kind: 'failing', error: newest.last_error ?? 'no response', count: failing.length, at: newest.created_at }
}

export function HealthText({ id }: { id: string }) {
  const health = useHealth(id)
  if (health.isPending) return <Skeleton h={18} w={140} />
  // The page of the webhook shows the failure of its list.
  if (health.error) return <Text size="sm">–</Text>
  const { data } = health
  switch (data.kind) {
    case 'unused':
      return (
        <Text size="sm" c="dimmed">
          No deliveries yet
        </Text>
      )
    case 'working':
      return (
        <Group gap={6} wrap="nowrap">
          <Badge color="teal">Delivering</Badge>
          <Text size="xs" c="dimmed">
            <Moment at={data.at} />
          </Text>
        </Group>
      )
    case 'failing':
      return (
        <div>
          <Badge color="red">Failing</Badge>
          <Text size="xs" c="red" className="as-written">
            {data.error} · {data.count === looksAt ? `${looksAt} or more` : data.count} waiting or failed
          </Text>
        </div>
      )
  }
}

export const deliveryStatuses: Record<Delivery['status'], { word: string; color: string }> = {
  delivered: { word: 'Delivered', color: 'teal' },
  pending: { word: 'Pending', color: 'blue' },
  failed: { word: 'Failed', color: 'red' },
}

/** A pending delivery whose last attempt failed is retried. */
export function DeliveryBadge({ delivery: { status, last_error: error } }: { delivery: Delivery }) {
  const isRetried = status === 'pending' && error !== null
  const { word, color } = deliveryStatuses[status]
  return <Badge color={isRetried ? 'yellow' : color}>{isRetried ? 'Retrying' : word}</Badge>
}

export function useRetry(webhookId: string) {
  const queries = useQueryClient()
  return useMutation({
    meta: { done: 'Retry scheduled' },
    mutationFn: (id: string) =>
      call<Delivery>(`/webhooks/${segment(webhookId)}/deliveries/${segment(id)}/retry`, { method: 'POST', body: {} }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['deliveries'] }),
  })
}
