/** The documents of an owner that wait to be indexed, and the CPU time of this hour. Nothing is shown while no document was read or waits. */
import { Text } from '@mantine/core'
import type { OwnerWithHolds } from '../../api/types.ts'
import { Figure, Figures } from '../../show/figure.tsx'
import { writeCount, writeSpan } from '../../show/measures.ts'
import { Moment } from '../../show/moment.tsx'
import { Panel } from '../../show/panel.tsx'

export function OwnerDocuments({ indexing }: { indexing: OwnerWithHolds['indexing'] }) {
  const { queued_documents: queued, cpu_seconds: spent, waits_until: until } = indexing
  if (queued === 0 && spent === 0) return null
  return (
    <Panel title="Documents">
      <Figures>
        <Figure label="Queued documents" note={`limit ${writeCount(indexing.max_queued_documents)}`}>
          {writeCount(queued)}
        </Figure>
        <Figure label="CPU time of this hour" note={`limit ${writeSpan(indexing.max_cpu_seconds * 1000)}`}>
          {writeSpan(spent * 1000)}
        </Figure>
      </Figures>
      {until === null ? null : (
        <Text size="sm" c="dimmed" mt="sm">
          The documents of this owner have used up their CPU time. They are indexed again at <Moment at={until} />.
        </Text>
      )}
    </Panel>
  )
}
