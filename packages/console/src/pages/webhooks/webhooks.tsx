/** The webhooks, newest first, with how their endpoints answer, or one of them. */
import { Anchor, Button, Stack, Table, Text } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { Suspense, lazy, useState } from 'react'
import { Link } from 'wouter'
import { segment } from '../../api/client.ts'
import { useList } from '../../api/lists.ts'
import type { Webhook } from '../../api/types.ts'
import { Allowed } from '../../show/allowed.tsx'
import { Empty } from '../../show/empty.tsx'
import { ListTable } from '../../show/list-table.tsx'
import { Moment } from '../../show/moment.tsx'
import { MoreButton } from '../../show/more-button.tsx'
import { Page } from '../../show/page.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { EnabledState, HealthText, writeEvents } from './facts.tsx'
import { WebhookPage } from './webhook.tsx'

const WebhookForm = lazy(() => import('./webhook-form.tsx').then(({ WebhookForm: form }) => ({ default: form })))

export const Webhooks = ({ id }: { id: string | undefined }) => (id === undefined ? <AllWebhooks /> : <WebhookPage id={id} />)

function AllWebhooks() {
  const list = useList<Webhook>(['webhooks'], '/webhooks')
  const [creating, setCreating] = useState(false)
  const create = (
    <Allowed permission="webhooks">
      <Button leftSection={<IconPlus size={16} stroke={1.8} aria-hidden="true" />} onClick={() => setCreating(true)}>
        Create webhook
      </Button>
    </Allowed>
  )
  return (
    <Page
      title="Webhooks"
      lead="Webhooks notify your own servers of turns, feedback, balances and documents."
      actions={list.items.length > 0 ? create : null}
    >
      <Waiting for={list.query} what="webhooks">
        {() =>
          list.items.length > 0 ? (
            <Stack>
              <WebhookTable webhooks={list.items} />
              <MoreButton list={list} />
            </Stack>
          ) : (
            <Empty title="No webhooks yet" action={create}>
              A webhook is an address of yours that gets each event once it is stored, signed, and again until it answers. For example: tell
              your support team when a turn fails.
            </Empty>
          )
        }
      </Waiting>
      {creating ? (
        <Suspense>
          <WebhookForm onClose={() => setCreating(false)} />
        </Suspense>
      ) : null}
    </Page>
  )
}

function WebhookTable({ webhooks }: { webhooks: Webhook[] }) {
  return (
    <ListTable minWidth={760} verticalSpacing="xs" aria-label="Webhooks, newest first">
      <Table.Thead>
        <Table.Tr>
          {['URL', 'Events', 'State', 'Deliveries', 'Created'].map((name) => (
            <Table.Th key={name} scope="col">
              {name}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {webhooks.map((webhook) => (
          <Table.Tr key={webhook.id}>
            <Table.Th scope="row" maw={320}>
              <Anchor component={Link} href={`/webhooks/${segment(webhook.id)}`} underline="always" inherit className="as-written">
                {webhook.url}
              </Anchor>
              {webhook.description ? (
                <Text size="xs" c="dimmed" className="as-written">
                  {webhook.description}
                </Text>
              ) : null}
            </Table.Th>
            <Table.Td maw={260}>
              <Text size="xs">{writeEvents(webhook.events)}</Text>
            </Table.Td>
            <Table.Td>
              <EnabledState webhook={webhook} />
            </Table.Td>
            <Table.Td>
              <HealthText id={webhook.id} />
            </Table.Td>
            <Table.Td>
              <Moment at={webhook.created_at} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </ListTable>
  )
}
