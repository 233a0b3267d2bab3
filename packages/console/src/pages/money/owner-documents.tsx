/** The documents of an owner that wait to be indexed, and the CPU time of this hour. Nothing is shown while no document was read or waits. */
import { Stack, Text } from '@mantine/core'
import type { OwnerWithHolds } from '../../api/types.ts'
import { writeCount, writeSpan } from '../../show/measures.ts'
import { Moment } from '../../show/moment.tsx'
import { Panel } from '../../show/panel.tsx'

export function OwnerDocuments({ indexing }: { indexing: OwnerWithHolds['indexing'] }) {
  const { queued_documents: queued, cpu_seconds: spent, waits_until: until } = indexing
  if (queued === 0 && spent === 0) return null
  return (
    <Panel title="Documents">
      <Stack gap="xs" px="md" py="sm">
        <Text size="sm">
          {writeCount(queued)} of at most {writeCount(indexing.max_queued_documents)} wait to be indexed.
        </Text>
        <Text size="sm">
          Reading them took {writeSpan(spent * 1000)} of at most {writeSpan(indexing.max_cpu_seconds * 1000)} of CPU time in this hour.
        </Text>
        {until === null ? null : (
          <Text size="sm" c="dimmed">
            The CPU time is used up. They are indexed again <Moment at={until} />.
          </Text>
        )}
      </Stack>
    </Panel>
  )
}
