/** Says why a queued document is not indexed yet, if its owner's documents have used up their CPU time. */
import { Text } from '@mantine/core'
import type { Document } from '../../api/types.ts'
import { Moment } from '../../show/moment.tsx'

export function WaitsUntil({ document: { waits_until: at } }: { document: Document }) {
  if (at === null) return null
  return (
    <Text size="xs" c="dimmed">
      The documents of this owner have used up their CPU time of an hour. This one is indexed <Moment at={at} />.
    </Text>
  )
}
