/** The documents of a knowledge base: progress, reason of a failure, and actions. */
import { Anchor, Button, Group, Progress, Stack, Table, Text } from '@mantine/core'
import { useState } from 'react'
import { Link } from 'wouter'
import { segment } from '../../api/client.ts'
import type { List } from '../../api/lists.ts'
import type { Document } from '../../api/types.ts'
import { Empty } from '../../show/empty.tsx'
import { FailureNote } from '../../show/failure-note.tsx'
import { writeCount, writeBytes } from '../../show/measures.ts'
import { Moment } from '../../show/moment.tsx'
import { MoreButton } from '../../show/more-button.tsx'
import { StateBadge } from '../../show/state-badge.tsx'
import { DeleteDocument } from './delete-document.tsx'
import { isBusy } from './documents.ts'
import { ReplaceDocument } from './replace-document.tsx'
import { ListTable } from '../../show/list-table.tsx'
import { Allowed } from '../../show/allowed.tsx'

export function DocumentList({ list }: { list: List<Document> }) {
  const [replacing, setReplacing] = useState<Document | null>(null)
  const [deleting, setDeleting] = useState<Document | null>(null)
  const { items, query } = list
  if (query.isSuccess && items.length === 0)
    return <Empty title="No documents yet">Drop files above, or add text or a URL. The agent uses a document as soon as it is ready.</Empty>
  return (
    <Stack gap="sm">
      <FailureNote
        error={query.isRefetchError ? query.error : null}
        title="Could not load documents"
        onRetry={() => void query.refetch()}
      />
      <Text size="sm" aria-live="polite">
        {summary(items)}
      </Text>
      <ListTable minWidth={760} aria-label="Documents" verticalSpacing="sm">
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">Document</Table.Th>
            <Table.Th scope="col">Status</Table.Th>
            <Table.Th scope="col" ta="right">
              Chunks
            </Table.Th>
            <Table.Th scope="col" ta="right">
              Size
            </Table.Th>
            <Table.Th scope="col">Updated</Table.Th>
            <Table.Th scope="col">
              <span className="for-readers-only">Actions</span>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {items.map((document) => (
            <Row key={document.id} document={document} onReplace={() => setReplacing(document)} onDelete={() => setDeleting(document)} />
          ))}
        </Table.Tbody>
      </ListTable>
      <MoreButton list={list} />
      <ReplaceDocument document={replacing} onClose={() => setReplacing(null)} />
      <DeleteDocument document={deleting} onClose={() => setDeleting(null)} />
    </Stack>
  )
}

function Row({ document, onReplace, onDelete }: { document: Document; onReplace(): void; onDelete(): void }) {
  const { title, source, file_name: fileName, url, status, reason, progress, chunks } = document
  const from = source === 'file' ? fileName : source === 'url' ? url : 'Text'
  return (
    <Table.Tr>
      <Table.Td miw={160} maw={320}>
        <Anchor
          component={Link}
          href={`/knowledge/${segment(document.agent_id)}/${segment(document.id)}`}
          size="sm"
          fw={600}
          className="as-written"
        >
          {title}
        </Anchor>
        {from === title ? null : (
          <Text size="xs" c="dimmed" className="as-written">
            {from}
          </Text>
        )}
      </Table.Td>
      <Table.Td miw={130} maw={280}>
        <StateBadge state={status} />
        {status === 'indexing' ? <Progress mt={4} value={progress ?? 0} aria-label={`Indexing ${title}`} /> : null}
        {reason === null ? null : (
          <Text size="sm" mt={4} className="as-written">
            {reason}
          </Text>
        )}
        {status !== 'ready' && chunks > 0 ? (
          <Text size="xs" mt={4}>
            The previous content is still searchable.
          </Text>
        ) : null}
      </Table.Td>
      <Table.Td ta="right" className="figures">
        {writeCount(chunks)}
      </Table.Td>
      <Table.Td ta="right" className="figures">
        {writeBytes(document.bytes)}
      </Table.Td>
      <Table.Td>
        <Moment at={document.updated_at} />
      </Table.Td>
      <Table.Td>
        <Allowed permission="agents">
          <Group gap="xs" wrap="nowrap" justify="flex-end">
            <Button size="compact-sm" variant="default" onClick={onReplace} aria-label={`Replace ${title}`}>
              Replace
            </Button>
            <Button size="compact-sm" variant="default" onClick={onDelete} aria-label={`Delete ${title}`}>
              Delete
            </Button>
          </Group>
        </Allowed>
      </Table.Td>
    </Table.Tr>
  )
}

function summary(items: Document[]): string {
  const count = (wanted: (document: Document) => boolean): number => items.filter(wanted).length
  const busy = count(isBusy)
  const failed = count(({ status }) => status === 'failed')
  const parts = [`${count(({ status }) => status === 'ready')} ready`]
  if (busy > 0) parts.push(`${busy} indexing`)
  if (failed > 0) parts.push(`${failed} failed`)
  return parts.join(', ')
}
