/** How searches find a document, or what to do about one that they do not find. */
import { Text } from '@mantine/core'
import type { Agent, Document } from '../../api/types.ts'
import { DocumentWarnings } from './document-warnings.tsx'

export function IndexedWith({ document, agent }: { document: Document; agent: Agent }) {
  const { status, reason, chunks } = document
  const { embedding_model: model } = agent.knowledge
  if (status === 'ready')
    return (
      <>
        <Text span display="block" size="xs" c="dimmed" className="as-written">
          {model === null ? 'Keyword search only' : `Embedded with ${model}`}
        </Text>
        <DocumentWarnings document={document} />
      </>
    )
  return (
    <>
      {reason === null ? null : (
        <Text span display="block" size="sm" className="as-written">
          {reason}
        </Text>
      )}
      {status === 'failed' ? (
        <Text span display="block" size="xs" c="dimmed">
          {adviceFor(reason ?? '')}
        </Text>
      ) : null}
      {chunks > 0 ? (
        <Text span display="block" size="xs">
          The previous content is still searchable.
        </Text>
      ) : null}
    </>
  )
}

function adviceFor(reason: string): string {
  if (/embed/i.test(reason))
    return 'Check the embedding model in the settings and its provider, then replace the document with the same file.'
  return 'Then replace the document with the corrected source.'
}
