/** A table of documents. A row is drawn again only if its document has changed, so that a thousand of them stay fast. */
import { ActionIcon, Anchor, Checkbox, Group, Progress, Table, Text, Tooltip } from '@mantine/core'
import { IconRefresh, IconTrash } from '@tabler/icons-react'
import { memo, useDeferredValue } from 'react'
import { Link } from 'wouter'
import { segment } from '../../api/client.ts'
import type { Agent, Document } from '../../api/types.ts'
import { Allowed } from '../../show/allowed.tsx'
import { ListTable } from '../../show/list-table.tsx'
import { writeBytes, writeCount } from '../../show/measures.ts'
import { Moment } from '../../show/moment.tsx'
import { StateBadge } from '../../show/state-badge.tsx'
import { IndexedWith } from './indexed-with.tsx'
import { WaitsUntil } from './waits-until.tsx'

type Acts = {
  onSelect(ids: readonly string[], isSelected: boolean): void
  onReplace(document: Document): void
  onDelete(document: Document): void
}
/** `selected` null: nothing can be selected. */
type TableProps = Acts & { documents: Document[]; agent: Agent; selected: ReadonlySet<string> | null }

export function DocumentTable({ documents: loaded, agent, selected, ...acts }: TableProps) {
  // Piece by piece, as in other lists, but a checkbox changes at once.
  const documents = useDeferredValue(loaded)
  const count = documents.filter(({ id }) => selected?.has(id)).length
  const isAll = count === documents.length
  return (
    <ListTable minWidth={760} aria-label="Documents" verticalSpacing="sm" hasInputs>
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">
            <Group gap="sm" wrap="nowrap">
              {selected ? (
                <Checkbox
                  size="xs"
                  aria-label="Select all listed documents"
                  checked={isAll}
                  indeterminate={count > 0 && !isAll}
                  onChange={() =>
                    acts.onSelect(
                      documents.map(({ id }) => id),
                      !isAll,
                    )
                  }
                />
              ) : null}
              Document
            </Group>
          </Table.Th>
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
        {documents.map((document) => (
          <Row key={document.id} document={document} agent={agent} isSelected={selected?.has(document.id) ?? null} {...acts} />
        ))}
      </Table.Tbody>
    </ListTable>
  )
}

type RowProps = Acts & { document: Document; agent: Agent; isSelected: boolean | null }

const Row = memo(function Row({ document, agent, isSelected, onSelect, onReplace, onDelete }: RowProps) {
  const { id, title, source, file_name: fileName, url, status, progress, chunks } = document
  const from = source === 'file' ? fileName : source === 'url' ? url : 'Text'
  return (
    <Table.Tr {...(isSelected ? { bg: 'var(--tk-hover)' } : {})}>
      <Table.Td miw={200} maw={360}>
        <Group gap="sm" wrap="nowrap" align="flex-start">
          {isSelected === null ? null : (
            <Checkbox
              size="xs"
              mt={2}
              aria-label={`Select ${title}`}
              checked={isSelected}
              onChange={(event) => onSelect([id], event.currentTarget.checked)}
            />
          )}
          <div>
            <Anchor component={Link} href={`/knowledge/${segment(agent.id)}/${segment(id)}`} size="sm" fw={600} className="as-written">
              {title}
            </Anchor>
            {from === title ? null : (
              <Text size="xs" c="dimmed" className="as-written">
                {from}
              </Text>
            )}
          </div>
        </Group>
      </Table.Td>
      <Table.Td miw={150} maw={300}>
        <StateBadge state={status} />
        {status === 'indexing' ? <Progress mt={4} value={progress ?? 0} aria-label={`Indexing ${title}`} /> : null}
        <WaitsUntil document={document} />
        <IndexedWith document={document} agent={agent} />
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
          <Group gap={4} wrap="nowrap" justify="flex-end">
            <Tooltip label="Replace">
              <ActionIcon onClick={() => onReplace(document)} aria-label={`Replace ${title}`}>
                <IconRefresh size={16} aria-hidden="true" />
              </ActionIcon>
            </Tooltip>
            <Tooltip label="Delete">
              <ActionIcon onClick={() => onDelete(document)} aria-label={`Delete ${title}`}>
                <IconTrash size={16} aria-hidden="true" />
              </ActionIcon>
            </Tooltip>
          </Group>
        </Allowed>
      </Table.Td>
    </Table.Tr>
  )
})
