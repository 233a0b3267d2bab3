/** One document: its state, and the chunks that searches can find. */
import { Badge, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call, segment } from '../../api/client.ts'
import { useAgent, useList } from '../../api/lists.ts'
import type { Chunk, Document } from '../../api/types.ts'
import { Empty } from '../../show/empty.tsx'
import { Figure, Figures } from '../../show/figure.tsx'
import { IdText } from '../../show/id-text.tsx'
import { writeBytes, writeCount } from '../../show/measures.ts'
import { Moment } from '../../show/moment.tsx'
import { MoreButton } from '../../show/more-button.tsx'
import { Page } from '../../show/page.tsx'
import { StateBadge } from '../../show/state-badge.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { isBusy, whileBusyMs } from './documents.ts'

type DocumentPageProps = { agentId: string; documentId: string }

export function DocumentPage({ agentId, documentId }: DocumentPageProps) {
  const path = `/agents/${segment(agentId)}/documents/${segment(documentId)}`
  const document = useQuery({
    queryKey: ['documents', agentId, documentId],
    queryFn: ({ signal }) => call<Document>(path, { signal }),
    refetchInterval: ({ state }) => (state.data && isBusy(state.data) ? whileBusyMs : false),
  })
  const agent = useAgent(agentId)
  return (
    <Page
      title={document.data?.title ?? 'Document'}
      trail={[
        { href: '/knowledge', label: 'Knowledge' },
        { href: `/knowledge/${segment(agentId)}`, label: agent.data?.name ?? 'Agent' },
      ]}
      lead={<IdText id={documentId} />}
    >
      <Waiting for={document} what="the document">
        {(found) => (
          <Stack gap="xl">
            <Facts document={found} />
            {/* Another content has another list. */}
            <Chunks key={found.indexed_at} path={path} document={found} />
          </Stack>
        )}
      </Waiting>
    </Page>
  )
}

function Facts({ document }: { document: Document }) {
  const { status, reason, source, file_name: fileName, url, chunks, bytes, updated_at: updatedAt } = document
  return (
    <Stack gap="sm">
      <Figures>
        <Figure label="Status">
          <StateBadge state={status} />
        </Figure>
        <Figure label="Chunks" note="found by searches">
          {writeCount(chunks)}
        </Figure>
        <Figure label="Size">{writeBytes(bytes)}</Figure>
        <Figure label="Updated">
          <Moment at={updatedAt} />
        </Figure>
      </Figures>
      <Text size="sm" className="as-written">
        Source: {source === 'file' ? fileName : source === 'url' ? url : 'text'}
      </Text>
      {reason === null ? null : (
        <Text size="sm" className="as-written">
          {reason}
        </Text>
      )}
    </Stack>
  )
}

function Chunks({ path, document }: { path: string; document: Document }) {
  const list = useList<Chunk>(['documents', document.agent_id, document.id, 'chunks', document.indexed_at], `${path}/chunks`)
  return (
    <Stack component="section" aria-label="Chunks" gap="xs">
      <Title order={2} size="h4">
        Chunks
      </Title>
      <Waiting for={list.query} what="the chunks">
        {() =>
          list.items.length === 0 ? (
            <Empty title="No chunks yet">Searches find this document when its status is ready.</Empty>
          ) : (
            <Stack gap="sm">
              {list.items.map(({ position, section, text }) => (
                <Paper key={position} withBorder p="sm">
                  <Group gap="xs" mb="xs">
                    <Badge variant="outline" color="gray">
                      {position + 1}
                    </Badge>
                    {section === undefined ? null : (
                      <Text size="sm" fw={600} className="as-written">
                        {section}
                      </Text>
                    )}
                  </Group>
                  <Text size="sm" className="as-written">
                    {text}
                  </Text>
                </Paper>
              ))}
              <MoreButton list={list} />
            </Stack>
          )
        }
      </Waiting>
    </Stack>
  )
}
