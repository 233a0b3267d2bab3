/** The audit log, newest first: names of things and fields, never a value. */
import { Anchor, Stack, Table, Text } from '@mantine/core'
import { Link } from 'wouter'
import { segment } from '../../api/client.ts'
import { useList } from '../../api/lists.ts'
import type { AuditEntry } from '../../api/types.ts'
import { Empty } from '../../show/empty.tsx'
import { IdText } from '../../show/id-text.tsx'
import { Moment } from '../../show/moment.tsx'
import { MoreButton } from '../../show/more-button.tsx'
import { Page } from '../../show/page.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { ListTable } from '../../show/list-table.tsx'

const who: Record<AuditEntry['who'], string> = {
  admin_token: 'Admin token',
  operator: 'Operator',
  token: 'Token',
  server: 'Turnkeep',
}
/** More are loaded on request. */
const shownFirst = 50

export function AuditLog() {
  const list = useList<AuditEntry>(['audit'], '/audit', {}, { limit: shownFirst })
  return (
    <Page
      title="Audit log"
      lead="Every change made through the admin API, the console, or by Turnkeep itself. Field values are not logged."
    >
      <Waiting for={list.query} what="the audit log">
        {() =>
          list.items.length === 0 ? (
            <Empty title="No changes yet">The first entry appears when you create an owner, an agent, or an API key.</Empty>
          ) : (
            <Stack gap="xs">
              <ListTable minWidth={760} aria-label="Audit log, newest first">
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th scope="col">Time</Table.Th>
                    <Table.Th scope="col">Actor</Table.Th>
                    <Table.Th scope="col">Action</Table.Th>
                    <Table.Th scope="col">Object</Table.Th>
                    <Table.Th scope="col">Fields</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {list.items.map((entry) => (
                    <Entry key={entry.id} entry={entry} />
                  ))}
                </Table.Tbody>
              </ListTable>
              <MoreButton list={list} />
            </Stack>
          )
        }
      </Waiting>
    </Page>
  )
}

function Entry({ entry }: { entry: AuditEntry }) {
  return (
    <Table.Tr>
      <Table.Td>
        <Moment at={entry.created_at} exact />
      </Table.Td>
      <Table.Td>{entry.author_name ?? who[entry.who]}</Table.Td>
      <Table.Td>
        {entry.verb} {entry.noun.replaceAll('_', ' ')}
      </Table.Td>
      <Table.Td>
        <Subject noun={entry.noun} id={entry.subject_id} />
      </Table.Td>
      <Table.Td maw={280}>
        <Text size="sm" className="as-written">
          {entry.fields.length === 0 ? '–' : entry.fields.join(', ')}
        </Text>
      </Table.Td>
    </Table.Tr>
  )
}

/** The pages that show one thing by its ID. */
const pages: Record<string, string> = { agent: '/agents', owner: '/money', conversation: '/conversations' }

function Subject({ noun, id }: { noun: string; id: string }) {
  const page = pages[noun]
  if (page === undefined) return <IdText id={id} />
  return (
    <Anchor component={Link} href={`${page}/${segment(id)}`} size="xs" ff="monospace">
      {id}
    </Anchor>
  )
}
