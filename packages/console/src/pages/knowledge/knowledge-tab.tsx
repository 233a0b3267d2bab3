/** The knowledge base of an agent: add documents, see their status, and test a search. */
import { Stack } from '@mantine/core'
import type { Agent } from '../../api/types.ts'
import { Allowed } from '../../show/allowed.tsx'
import { AddDocument } from './add-document.tsx'
import { DocumentList } from './document-list.tsx'
import { RetrievalTest } from './retrieval-test.tsx'

export function KnowledgeTab({ agent }: { agent: Agent }) {
  return (
    <Stack gap="xl">
      <Allowed permission="agents">
        <AddDocument agentId={agent.id} />
      </Allowed>
      <DocumentList agent={agent} />
      <RetrievalTest agent={agent} />
    </Stack>
  )
}
