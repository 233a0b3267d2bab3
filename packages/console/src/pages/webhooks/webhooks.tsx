/** The webhooks, newest first, or one of them. They are created with the command line or the admin API, which show the secret once. */
import { Anchor, Stack, Table, Text } from '@mantine/core'
import { Link } from 'wouter'
import { segment } from '../../api/client.ts'
import { useList } from '../../api/lists.ts'
import type { Webhook } from '../../api/types.ts'
import { Empty } from '../../show/empty.tsx'
import { MoreButton } from '../../show/more-button.tsx'
import { Moment } from '../../show/moment.tsx'
import { Page } from '../../show/page.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { EnabledState, writeEvents } from './facts.tsx'
import { WebhookPage } from './webhook.tsx'
import { ListTable } from '../../show/list-table.tsx'

export const Webhooks = ({ id }: { id: string | undefined }) => (id === undefined ? <AllWebhooks /> : <WebhookPage id={id} />)

function AllWebhooks() {
  const list = useList<Webhook>(['webhooks'], '/webhooks')
  return (
    <Page title="Webhooks" lead="Webhooks notify your own servers of turns, feedback, balances and documents.">
      <Waiting for={list.query} what="webhooks">
        {() =>
          list.items.length > 0 ? (
            <Stack>
              <WebhookTable webhooks={list.items} />
              <MoreButton list={list} />
            </Stack>
          ) : (
            <Empty title="No webhooks yet">
              To create one, run npx turnkeep webhook create https://… or call the admin API. Both show the signing secret once.
            </Empty>
          )
        }
      </Waiting>
    </Page>
  )
}

function WebhookTable({ webhooks }: { webhooks: Webhook[] }) {
  return (
    <ListTable minWidth={640} verticalSpacing="xs" aria-label="Webhooks, newest first">
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">URL</Table.Th>
          <Table.Th scope="col">Events</Table.Th>
          <Table.Th scope="col">State</Table.Th>
          <Table.Th scope="col">Created</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {webhooks.map(({ id, url, description, events, enabled, created_at: createdAt }) => (
          <Table.Tr key={id}>
            <Table.Th scope="row">
              <Anchor component={Link} href={`/webhooks/${segment(id)}`} underline="always" inherit className="as-written">
                {url}
              </Anchor>
              {description ? (
                <Text size="xs" c="dimmed" className="as-written">
                  {description}
                </Text>
              ) : null}
            </Table.Th>
            <Table.Td>{writeEvents(events)}</Table.Td>
            <Table.Td>
              <EnabledState enabled={enabled} />
            </Table.Td>
            <Table.Td>
              <Moment at={createdAt} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </ListTable>
  )
}
