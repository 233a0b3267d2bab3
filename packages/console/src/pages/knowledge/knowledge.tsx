/** The knowledge base of an agent: what is put in, what became of it, and what a question brings up. */
import { Anchor, Stack, Title } from '@mantine/core'
import { Link, useLocation } from 'wouter'
import { segment } from '../../api/client.ts'
import { useAgent, useAgents } from '../../api/lists.ts'
import { AgentSelect } from '../../show/agent-select.tsx'
import { Empty } from '../../show/empty.tsx'
import { Page } from '../../show/page.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { AddDocument } from './add-document.tsx'
import { DocumentList } from './document-list.tsx'
import { useDocuments } from './documents.ts'
import { RetrievalTest } from './retrieval-test.tsx'

export function Knowledge({ agentId }: { agentId: string | undefined }) {
  const [, navigate] = useLocation()
  const agents = useAgents()
  return (
    <Page
      title="Knowledge"
      lead="The documents an agent answers from. Each message brings up their best passages, and replies can lean on them."
    >
      <AgentSelect value={agentId ?? null} onChange={(id) => navigate(id === null ? '/knowledge' : `/knowledge/${segment(id)}`)} />
      {agentId === undefined ? (
        agents.data?.length === 0 ? (
          <Empty title="No agent yet">
            <Anchor component={Link} href="/agents/new" underline="always">
              Create an agent
            </Anchor>
            , then put its documents in here.
          </Empty>
        ) : (
          <Empty title="Choose an agent">Every agent has a knowledge base of its own.</Empty>
        )
      ) : (
        <KnowledgeBase key={agentId} agentId={agentId} />
      )}
    </Page>
  )
}

function KnowledgeBase({ agentId }: { agentId: string }) {
  const agent = useAgent(agentId)
  const documents = useDocuments(agentId)
  return (
    <Waiting for={agent} what="the agent">
      {(read) => (
        <Stack gap="xl">
          <Stack component="section" aria-label="Put documents in">
            <Title order={2} size="h4">
              Put documents in
            </Title>
            <AddDocument agentId={agentId} />
          </Stack>
          <Stack component="section" aria-label="Documents" gap="xs">
            <Title order={2} size="h4">
              Documents
            </Title>
            <Waiting for={documents.query} what="the documents">
              {() => <DocumentList list={documents} />}
            </Waiting>
          </Stack>
          <RetrievalTest agent={read} />
        </Stack>
      )}
    </Waiting>
  )
}
