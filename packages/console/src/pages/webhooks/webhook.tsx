/** One webhook: its settings, a test, its signing secret, and its deliveries, which can be sent again. */
import { Alert, Button, Group, Stack, Table, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, segment } from '../../api/client.ts'
import { useList } from '../../api/lists.ts'
import type { Delivery, Webhook as Stored, WebhookTest } from '../../api/types.ts'
import { Empty } from '../../show/empty.tsx'
import { FailureNote } from '../../show/failure-note.tsx'
import { IdText } from '../../show/id-text.tsx'
import { MoreButton } from '../../show/more-button.tsx'
import { Moment } from '../../show/moment.tsx'
import { Page } from '../../show/page.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { EnabledState, writeEvents } from './facts.tsx'
import { RotateSecret } from './rotate-secret.tsx'
import { ListTable } from '../../show/list-table.tsx'
import { Allowed } from '../../show/allowed.tsx'

export function WebhookPage({ id }: { id: string }) {
  const path = `/webhooks/${segment(id)}`
  const [rotating, setRotating] = useState(false)
  const webhook = useQuery({ queryKey: ['webhooks', id], queryFn: ({ signal }) => call<Stored>(path, { signal }) })
  const test = useMutation({ mutationFn: () => call<WebhookTest>(`${path}/test`, { method: 'POST', body: {} }) })
  return (
    <Page
      title="Webhook"
      trail={[{ href: '/webhooks', label: 'Webhooks' }]}
      lead={<IdText id={id} />}
      actions={
        <Allowed permission="webhooks">
          <Group gap="xs">
            <Button variant="default" onClick={() => setRotating(true)}>
              Rotate secret
            </Button>
            <Button variant="default" loading={test.isPending} onClick={() => test.mutate()}>
              Send test event
            </Button>
          </Group>
        </Allowed>
      }
    >
      <Waiting for={webhook} what="the webhook">
        {(found) => (
          <Stack>
            <Text className="as-written">{found.url}</Text>
            <Group gap="sm">
              <EnabledState enabled={found.enabled} />
              <Text size="sm">{writeEvents(found.events)}</Text>
              <Text size="sm">{found.include_messages ? 'With messages' : 'Without messages'}</Text>
            </Group>
            {found.disabled_reason ? (
              <Alert color="red" title="The service disabled this webhook">
                {found.disabled_reason}
              </Alert>
            ) : null}
            <div aria-live="polite">{test.data ? <TestResult test={test.data} /> : null}</div>
            <FailureNote error={test.error} title="Could not send the test event" />
            {rotating ? <RotateSecret id={id} onClose={() => setRotating(false)} /> : null}
            <Deliveries path={path} id={id} />
          </Stack>
        )}
      </Waiting>
    </Page>
  )
}

function TestResult({ test: { ok, status, error } }: { test: WebhookTest }) {
  return (
    <Alert color={ok ? 'teal' : 'red'} title={ok ? `The endpoint answered ${status}` : 'The test failed'}>
      {ok ? 'The test event was delivered.' : error}
    </Alert>
  )
}

function Deliveries({ path, id }: { path: string; id: string }) {
  const list = useList<Delivery>(['deliveries', id], `${path}/deliveries`)
  const queries = useQueryClient()
  const retry = useMutation({
    meta: { done: 'Retry scheduled' },
    mutationFn: (delivery: string) => call<Delivery>(`${path}/deliveries/${segment(delivery)}/retry`, { method: 'POST', body: {} }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['deliveries'] }),
  })
  return (
    <Waiting for={list.query} what="deliveries">
      {() =>
        list.items.length === 0 ? (
          <Empty title="No deliveries yet">Events that occur from now on are listed here for 30 days.</Empty>
        ) : (
          <Stack>
            <FailureNote error={retry.error} title="Could not retry the delivery" />
            <DeliveryTable deliveries={list.items} onRetry={(delivery) => retry.mutate(delivery)} />
            <MoreButton list={list} />
          </Stack>
        )
      }
    </Waiting>
  )
}

function DeliveryTable({ deliveries, onRetry }: { deliveries: Delivery[]; onRetry: (id: string) => void }) {
  return (
    <ListTable minWidth={760} verticalSpacing="xs" aria-label="Deliveries, newest first">
      <Table.Thead>
        <Table.Tr>
          {['Event', 'Status', 'Attempts', 'Last error', 'Created'].map((title) => (
            <Table.Th key={title} scope="col">
              {title}
            </Table.Th>
          ))}
          <Table.Th scope="col">
            <span className="for-readers-only">Actions</span>
          </Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {deliveries.map(({ id, type, status, attempts, last_error: error, created_at: createdAt }) => (
          <Table.Tr key={id}>
            <Table.Th scope="row">{type}</Table.Th>
            <Table.Td>{status}</Table.Td>
            <Table.Td>{attempts}</Table.Td>
            <Table.Td className="as-written">{error ?? '–'}</Table.Td>
            <Table.Td>
              <Moment at={createdAt} />
            </Table.Td>
            <Table.Td>
              <Allowed permission="webhooks">
                <Button size="xs" variant="default" aria-label={`Retry ${id}`} onClick={() => onRetry(id)}>
                  Retry
                </Button>
              </Allowed>
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </ListTable>
  )
}
