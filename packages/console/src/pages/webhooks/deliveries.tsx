/** The deliveries of a webhook by status. Each opens with what is sent and how the endpoint answered, and can be sent again. */
import { Button, Group, SegmentedControl, Stack, Table, Text, UnstyledButton } from '@mantine/core'
import { Suspense, lazy } from 'react'
import { useSearchParams } from 'wouter'
import { segment } from '../../api/client.ts'
import { useList } from '../../api/lists.ts'
import type { Delivery } from '../../api/types.ts'
import { Allowed } from '../../show/allowed.tsx'
import { Empty } from '../../show/empty.tsx'
import { FailureNote } from '../../show/failure-note.tsx'
import { ListTable } from '../../show/list-table.tsx'
import { Moment } from '../../show/moment.tsx'
import { MoreButton } from '../../show/more-button.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { DeliveryBadge, deliveryStatuses, useRetry } from './facts.tsx'

const DeliveryDetails = lazy(() => import('./delivery.tsx').then(({ DeliveryDetails: details }) => ({ default: details })))

export function Deliveries({ id }: { id: string }) {
  const [params, setParams] = useSearchParams()
  const status = params.get('status')
  const opened = params.get('delivery')
  const change = (name: string, value: string | null): void =>
    setParams((before) => {
      const next = new URLSearchParams(before)
      if (value === null) next.delete(name)
      else next.set(name, value)
      return next
    })
  const list = useList<Delivery>(['deliveries', id], `/webhooks/${segment(id)}/deliveries`, { status }, { refetchMs: 10_000 })
  const retry = useRetry(id)
  return (
    <Stack component="section" gap="sm" aria-label="Deliveries">
      <SegmentedControl
        size="xs"
        aria-label="Delivery status"
        value={status ?? 'all'}
        onChange={(value) => change('status', value === 'all' ? null : value)}
        data={[{ value: 'all', label: 'All' }, ...Object.entries(deliveryStatuses).map(([value, { word }]) => ({ value, label: word }))]}
        style={{ alignSelf: 'flex-start' }}
      />
      <Waiting for={list.query} what="deliveries">
        {() =>
          list.items.length === 0 ? (
            <Empty title={status === null ? 'No deliveries yet' : 'No deliveries with this status'}>
              Events that occur from now on are listed here for 30 days. Send a test event to see whether the endpoint answers.
            </Empty>
          ) : (
            <Stack>
              <FailureNote error={retry.error} title="Could not retry the delivery" />
              <DeliveryTable deliveries={list.items} onOpen={(one) => change('delivery', one)} onRetry={(one) => retry.mutate(one)} />
              <MoreButton list={list} />
            </Stack>
          )
        }
      </Waiting>
      {opened === null ? null : (
        <Suspense>
          <DeliveryDetails webhookId={id} id={opened} onClose={() => change('delivery', null)} />
        </Suspense>
      )}
    </Stack>
  )
}

type TableProps = { deliveries: Delivery[]; onOpen: (id: string) => void; onRetry: (id: string) => void }

function DeliveryTable({ deliveries, onOpen, onRetry }: TableProps) {
  return (
    <ListTable minWidth={760} verticalSpacing="xs" aria-label="Deliveries, newest first" highlightOnHover>
      <Table.Thead>
        <Table.Tr>
          {['Event', 'Status', 'Attempts', 'Last response', 'Created', 'Actions'].map((title) => (
            <Table.Th key={title} scope="col">
              {title}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {deliveries.map((delivery) => (
          <Table.Tr key={delivery.id}>
            <Table.Th scope="row">
              <UnstyledButton
                className="text-button"
                aria-label={`Open ${delivery.type}, ${delivery.id}`}
                onClick={() => onOpen(delivery.id)}
              >
                {delivery.type}
              </UnstyledButton>
            </Table.Th>
            <Table.Td>
              <DeliveryBadge delivery={delivery} />
            </Table.Td>
            <Table.Td>
              {delivery.attempts}
              {delivery.next_attempt_at !== null && delivery.attempts > 0 ? (
                <Text size="xs" c="dimmed">
                  next <Moment at={delivery.next_attempt_at} />
                </Text>
              ) : null}
            </Table.Td>
            <Table.Td maw={300}>
              <Text size="sm" {...(delivery.last_error === null ? {} : { c: 'red' })} className="as-written">
                {delivery.last_error ?? delivery.last_status ?? '–'}
              </Text>
            </Table.Td>
            <Table.Td>
              <Moment at={delivery.created_at} />
            </Table.Td>
            <Table.Td>
              <Allowed permission="webhooks">
                <Group gap="xs">
                  <Button size="compact-xs" variant="default" aria-label={`Retry ${delivery.id}`} onClick={() => onRetry(delivery.id)}>
                    {delivery.status === 'delivered' ? 'Send again' : 'Retry'}
                  </Button>
                </Group>
              </Allowed>
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </ListTable>
  )
}
