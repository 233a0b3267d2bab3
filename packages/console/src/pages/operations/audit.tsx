/** The audit log, newest first: who changed what, and who read messages. */
import { Anchor, Stack, Table } from '@mantine/core'
import { Link, useSearchParams } from 'wouter'
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
import { AuditChanges } from './audit-changes.tsx'
import { AuditCsv } from './audit-csv.tsx'
import { authorOf } from '../../show/author-of.ts'
import { isFiltered, queryOf, readAsked, writeAsked } from './audit-asked.ts'
import { AuditFilters } from './audit-filters.tsx'

/** More are loaded on request. */
const shownFirst = 25

export function AuditLog() {
  const [params, setParams] = useSearchParams()
  const asked = readAsked(params)
  const query = queryOf(asked)
  const list = useList<AuditEntry>(['audit'], '/audit', query, { limit: shownFirst })
  return (
    <Page
      title="Audit log"
      lead="Every change made through the admin API, the console, or by Turnkeep itself, and every reading of messages. Secrets and end users are not shown."
    >
      <Stack gap="sm" mb="sm">
        <AuditFilters asked={asked} onChange={(next) => setParams(writeAsked(next, params), { replace: true })} />
        <AuditCsv query={query} />
      </Stack>
      <Waiting for={list.query} what="the audit log">
        {() =>
          list.items.length === 0 && isFiltered(asked) ? (
            <Empty title="No matching entries">Change or clear the filters.</Empty>
          ) : list.items.length === 0 ? (
            <Empty title="No changes yet">The first entry appears when you create an owner, an agent, or an API key.</Empty>
          ) : (
            <Stack gap="xs">
              <ListTable minWidth={760} aria-label="Audit log, newest first">
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th scope="col">Time</Table.Th>
                    <Table.Th scope="col">Author</Table.Th>
                    <Table.Th scope="col">Action</Table.Th>
                    <Table.Th scope="col">Object</Table.Th>
                    <Table.Th scope="col">Changes</Table.Th>
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
      <Table.Td>{authorOf(entry)}</Table.Td>
      <Table.Td>
        {entry.verb} {entry.noun.replaceAll('_', ' ')}
      </Table.Td>
      <Table.Td>
        <Subject noun={entry.noun} id={entry.subject_id} />
      </Table.Td>
      <Table.Td maw={420}>
        <AuditChanges entry={entry} />
      </Table.Td>
    </Table.Tr>
  )
}

/** The pages that show one thing by its ID. */
const pages: Record<string, string> = {
  agent: '/agents',
  owner: '/money',
  conversation: '/conversations',
  turn: '/turns',
  operator: '/operators',
  webhook: '/webhooks',
}

function Subject({ noun, id }: { noun: string; id: string }) {
  const page = pages[noun]
  if (page === undefined) return <IdText id={id} />
  return (
    <Anchor component={Link} href={`${page}/${segment(id)}`} size="xs" ff="monospace">
      {id}
    </Anchor>
  )
}
