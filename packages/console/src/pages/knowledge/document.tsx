/** One document: its state, and the chunks that searches can find. */
import { Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call, segment } from '../../api/client.ts'
import { useAgent } from '../../api/lists.ts'
import type { Agent, Document } from '../../api/types.ts'
import { Figure, Figures } from '../../show/figure.tsx'
import { IdText } from '../../show/id-text.tsx'
import { writeBytes, writeCount } from '../../show/measures.ts'
import { Moment } from '../../show/moment.tsx'
import { Page } from '../../show/page.tsx'
import { StateBadge } from '../../show/state-badge.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { ChunkList } from './chunk-list.tsx'
import { isBusy, whileBusyMs } from './documents.ts'
import { IndexedWith } from './indexed-with.tsx'
import { WaitsUntil } from './waits-until.tsx'

type DocumentPageProps = { agentId: string; documentId: string }

export function DocumentPage({ agentId, documentId }: DocumentPageProps) {
  const path = `/agents/${segment(agentId)}/documents/${segment(documentId)}`
  const document = useQuery({
    queryKey: ['documents', agentId, documentId],
    queryFn: ({ signal }) => call<Document>(path, { signal }),
    refetchInterval: ({ state }) => (state.data && isBusy(state.data) ? whileBusyMs : false),
  })
  const agent = useAgent(agentId)
  const hub = `/agents/${segment(agentId)}`
  return (
    <Page
      title={document.data?.title ?? 'Document'}
      trail={[
        { href: '/agents', label: 'Agents' },
        { href: hub, label: agent.data?.name ?? 'Agent' },
        { href: `${hub}/knowledge`, label: 'Knowledge' },
      ]}
      lead={
        <Group gap="xs">
          {document.data ? (
            <Text span inherit className="as-written">
              Source: {sourceOf(document.data)}
            </Text>
          ) : null}
          <IdText id={documentId} />
        </Group>
      }
    >
      <Waiting for={document} what="the document">
        {(found) => (
          <Stack gap="xl">
            <Facts document={found} agent={agent.data} />
            {/* Another content has another list. */}
            <ChunkList key={found.indexed_at} path={path} document={found} />
          </Stack>
        )}
      </Waiting>
    </Page>
  )
}

const sourceOf = ({ source, file_name: fileName, url }: Document): string =>
  (source === 'file' ? fileName : source === 'url' ? url : null) ?? 'text'

function Facts({ document, agent }: { document: Document; agent: Agent | undefined }) {
  const { status, chunks, bytes, updated_at: updatedAt } = document
  return (
    <Figures>
      <Figure label="Status" note={agent ? <IndexedWith document={document} agent={agent} /> : null}>
        <StateBadge state={status} />
        <WaitsUntil document={document} />
      </Figure>
      <Figure label="Chunks" note="found by searches">
        {writeCount(chunks)}
      </Figure>
      <Figure label="Size">{writeBytes(bytes)}</Figure>
      <Figure label="Updated">
        <Moment at={updatedAt} />
      </Figure>
    </Figures>
  )
}
