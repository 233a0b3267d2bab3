/** The documents of a knowledge base, by status: progress, reason of a failure, and actions on one or several. */
import { Button, Group, Select, Stack, Text, Title } from '@mantine/core'
import { useCallback, useState } from 'react'
import { useSearchParams } from 'wouter'
import { useMay } from '../../api/session.ts'
import type { Agent, Document } from '../../api/types.ts'
import { Empty } from '../../show/empty.tsx'
import { FailureNote } from '../../show/failure-note.tsx'
import { MoreButton } from '../../show/more-button.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { DeleteDocuments } from './delete-documents.tsx'
import { DocumentTable } from './document-table.tsx'
import { isBusy, useDocuments } from './documents.ts'
import { ReplaceDocument } from './replace-document.tsx'

const statuses: { value: Document['status']; label: string }[] = [
  { value: 'ready', label: 'Ready' },
  { value: 'indexing', label: 'Indexing' },
  { value: 'queued', label: 'Queued' },
  { value: 'failed', label: 'Failed' },
]

export function DocumentList({ agent }: { agent: Agent }) {
  const [params, setParams] = useSearchParams()
  const status = statuses.find(({ value }) => value === params.get('status'))?.value ?? null
  const list = useDocuments(agent.id, status)
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [replacing, setReplacing] = useState<Document | null>(null)
  const [deleting, setDeleting] = useState<Document[]>([])
  const mayChange = useMay('agents')
  const { items, query } = list
  const chosen = items.filter(({ id }) => selected.has(id))
  const select = useCallback(
    (ids: readonly string[], isSelected: boolean): void =>
      setSelected((before) => {
        const changed = new Set(ids)
        return isSelected ? before.union(changed) : before.difference(changed)
      }),
    [],
  )
  const deleteOne = useCallback((document: Document): void => setDeleting([document]), [])
  const filter = (next: string | null): void => {
    setSelected(new Set())
    setParams(next === null ? {} : { status: next }, { replace: true })
  }
  return (
    <Stack component="section" aria-label="Documents" gap="sm">
      <Group justify="space-between" align="flex-end" gap="sm">
        <div>
          <Title order={2} size="h4">
            Documents
          </Title>
          <Text size="sm" c="dimmed" aria-live="polite">
            {query.isSuccess ? summary(items) : ' '}
          </Text>
        </div>
        <Group gap="sm" align="flex-end">
          {chosen.length > 0 ? (
            <Button color="red" variant="outline" onClick={() => setDeleting(chosen)}>
              Delete {chosen.length} selected
            </Button>
          ) : null}
          <Select
            aria-label="Status"
            placeholder="All statuses"
            data={statuses}
            value={status}
            onChange={filter}
            clearable
            clearButtonProps={{ 'aria-label': 'Clear status', 'aria-hidden': false, tabIndex: 0 }}
            w={160}
          />
        </Group>
      </Group>
      <FailureNote
        error={query.isRefetchError ? query.error : null}
        title="Could not load documents"
        onRetry={() => void query.refetch()}
      />
      <Waiting for={query} what="documents">
        {() =>
          items.length === 0 ? (
            <Nothing isFiltered={status !== null} />
          ) : (
            <>
              <DocumentTable
                documents={items}
                agent={agent}
                selected={mayChange ? selected : null}
                onSelect={select}
                onReplace={setReplacing}
                onDelete={deleteOne}
              />
              <MoreButton list={list} />
            </>
          )
        }
      </Waiting>
      <ReplaceDocument document={replacing} onClose={() => setReplacing(null)} />
      <DeleteDocuments
        documents={deleting}
        onClose={() => setDeleting([])}
        onDeleted={(ids) => {
          select(ids, false)
          setDeleting([])
        }}
      />
    </Stack>
  )
}

function Nothing({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) return <Empty title="No documents with this status">Choose another status, or clear the filter.</Empty>
  return (
    <Empty title="No documents yet">
      Drop files or a folder above, or add text or a URL. The agent answers from a document as soon as it is ready, and cites it.
    </Empty>
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
