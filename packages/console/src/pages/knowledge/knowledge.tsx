/** The knowledge base of an agent: add documents, see their status, and test a search. */
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
import { Allowed } from '../../show/allowed.tsx'

export function Knowledge({ agentId }: { agentId: string | undefined }) {
  const [, navigate] = useLocation()
  const agents = useAgents()
  return (
    <Page
      title="Knowledge"
      lead="The documents that an agent answers from. The best-matching passages are added to the prompt of each message."
    >
      <AgentSelect value={agentId ?? null} onChange={(id) => navigate(id === null ? '/knowledge' : `/knowledge/${segment(id)}`)} />
      {agentId === undefined ? (
        agents.data?.length === 0 ? (
          <Empty title="No agents yet">
            <Anchor component={Link} href="/agents/new" underline="always">
              Create an agent
            </Anchor>
            , then add its documents here.
          </Empty>
        ) : (
          <Empty title="Choose an agent">Each agent has its own knowledge base.</Empty>
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
          <Allowed permission="agents">
            <Stack component="section" aria-label="Add documents">
              <Title order={2} size="h4">
                Add documents
              </Title>
              <AddDocument agentId={agentId} />
            </Stack>
          </Allowed>
          <Stack component="section" aria-label="Documents" gap="xs">
            <Title order={2} size="h4">
              Documents
            </Title>
            <Waiting for={documents.query} what="documents">
              {() => <DocumentList list={documents} />}
            </Waiting>
          </Stack>
          <RetrievalTest agent={read} />
        </Stack>
      )}
    </Waiting>
  )
}
